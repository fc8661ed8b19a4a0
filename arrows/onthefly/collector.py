"""Makes Python's collector of reference cycles rare while batches record.

A batch makes very many objects that all stay alive until it is over.  The collector would walk through them
again and again, and through all that the program holds, and find nothing.
"""

from __future__ import annotations

import gc
from weakref import WeakKeyDictionary

_NEW_OBJECTS = 1_000_000  # between two collections
_paused: WeakKeyDictionary[object, tuple[int, int, int]] = WeakKeyDictionary()  # batch -> thresholds before


def pause_collector(batch: object) -> None:
    """Makes the collector rare until the batch, and all others that begin before its end, are over."""
    found = next(iter(_paused.values()), None) or gc.get_threshold()
    _paused[batch] = found
    if 0 < found[0] < _NEW_OBJECTS:
        gc.set_threshold(_NEW_OBJECTS, *found[1:])


def resume_collector(batch: object) -> None:
    """Restores the collector if no other batch is open; does nothing the second time."""
    if list(_paused) == [batch]:
        gc.set_threshold(*_paused[batch])
    _paused.pop(batch, None)
