"""The programs of the engine are verified here too, and chains are learnt from the first visit on."""

from collections.abc import Iterator

import pytest

from arrows.onthefly import chains
from tests.engine.conftest import verified

__all__ = ["eager", "verified"]


@pytest.fixture(autouse=True, scope="module")
def eager() -> Iterator[None]:
    """Programs of tests are short: few visits are enough for a chain."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(chains, "FEW", 0)
        yield
