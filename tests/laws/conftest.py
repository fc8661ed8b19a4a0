"""The memory of the engine is poison here too."""

from tests.engine.conftest import poisoned

__all__ = ["poisoned"]
