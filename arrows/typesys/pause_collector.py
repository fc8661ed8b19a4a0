"""Python's garbage collector, asked to wait while much is made that stays."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pauses the collector of reference cycles; what nobody refers to is freed as always.

    The collector runs again and again while objects are made, and looks each time at what is there. Inference
    makes about forty objects a block, all of which live until it ends, so that looking found nothing and took
    as long as inference itself (`python -m benchmarks infer`). Whoever paused the collector starts it again.
    A collector that was off stays off. Two threads may do this at the same time: at worst the collector comes
    back early.

    Example:
        >>> import gc
        >>> with collector_paused():
        ...     print(gc.isenabled())
        False
        >>> gc.isenabled()
        True
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
