"""A model as a module of PyTorch."""
