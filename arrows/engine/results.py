"""Refuses results that an earlier version pickled: their classes were in this module."""

from __future__ import annotations

from arrows.typesys.runtime import refusal_of

__getattr__ = refusal_of(__name__, {"Ragged", "Labelled", "Named"}, "results", "compute them again")
