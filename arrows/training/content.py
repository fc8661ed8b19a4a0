"""A hash of the examples that a run learns from, by which a resumed run knows that it has the same ones."""

from __future__ import annotations

import hashlib

import numpy as np

from arrows.arrays import HostArray
from arrows.engine import Model, Prepared

_AT_ONCE = 1024  # examples whose wirings are copied at a time


def content_of(model: object, prepared: object) -> str:
    """A hash of what a model reads from prepared examples, the same in every process; empty if that is not
    known.

    It covers every number that is read and which operation reads which, so a changed label, word or edge
    gives another hash.  A network on the fly computes with whatever an example is, so nothing is known there.

    Args:
        model: what reads the examples.
        prepared: the examples as the model reads them.

    >>> import arrows as ar
    >>> model = ar.compile(ar.Map(ar.Scalar()) >> ar.Sum())
    >>> one, same, other = (content_of(model, model.prepare([x])) for x in ([1, 2], [1, 2], [1, 3]))
    >>> one == same, one == other
    (True, False)
    """
    if not (isinstance(model, Model) and isinstance(prepared, Prepared)):
        return ""
    digest = hashlib.blake2b(digest_size=12)
    plan = model.batches.reader.plan
    constants = len(plan.lowered.constants)

    def add(values: HostArray, offsets: HostArray) -> None:
        digest.update(np.diff(offsets).astype(np.int64).tobytes())
        digest.update(np.ascontiguousarray(values).tobytes())

    for start in range(0, len(prepared), _AT_ONCE):
        wirings = prepared.wirings.select(np.arange(start, min(start + _AT_ONCE, len(prepared))))
        add(wirings.site.values, wirings.site.offsets)
        add(wirings.counts.values.astype(np.int64), wirings.counts.offsets)
        for column in wirings.raw:
            add(column.values, column.offsets)
        # Values are numbered through the set; a hash needs each example's own numbers.
        own = wirings.moved(wirings.sources, np.full(len(wirings), constants), plan)
        add(own.values.astype(np.int64), own.offsets)
    return digest.hexdigest()
