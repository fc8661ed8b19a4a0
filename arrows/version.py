"""The version of the package, for the build, the command line and `arrows.__version__`."""

__version__ = "1.0.0"
