"""What `arrows` is measured against: the same models, batched by hand for one shape of data alone.

Each file is one system, written as an engineer would write it who needs this model and nothing else. All of
them start from the parameters of an `arrows` model, under its names, and tests hold them to its numbers.

>>> from benchmarks.baselines.forest import Forest
"""
