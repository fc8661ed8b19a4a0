"""The programs of the engine are verified here too."""

from tests.engine.conftest import verified

__all__ = ["verified"]
