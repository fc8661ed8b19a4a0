"""The version of the package, for the build, the command line and `arrows.__version__`."""

__version__ = "0.1.0"
