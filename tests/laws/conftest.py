"""The memory of the engine is poison here too, and programs are verified."""

from tests.engine.conftest import poisoned, verified

__all__ = ["poisoned", "verified"]
