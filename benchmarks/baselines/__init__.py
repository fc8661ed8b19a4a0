"""What `arrows` is measured against: the same models, batched by hand for one shape of data alone.

Each file is one system, written as its engineer would write it, who knows the model and nothing else. All of
them start from the parameters of an `arrows` model, by its names, and are held to its numbers by tests.

>>> from benchmarks.baselines.forest import Forest
"""
