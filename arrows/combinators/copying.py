"""Refuses old pickles of blocks, which name this module."""

from __future__ import annotations

from arrows.typesys.runtime import refusal_of

# Every pickle of a block from before the modules moved begins with one of these functions.
__getattr__ = refusal_of(__name__, {"assemble", "_bare"}, "a block", "build it again from its source")
