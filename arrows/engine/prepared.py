"""Refuses prepared sets that an earlier version pickled: their class was in this module."""

from __future__ import annotations

from arrows.typesys.runtime import refusal_of

__getattr__ = refusal_of(
    __name__, {"Prepared", "Batch"}, "a prepared set", "prepare the examples again: model.prepare(examples)"
)
