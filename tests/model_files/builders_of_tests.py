"""Builders that the tests save models of, by name."""

from __future__ import annotations

import os as system  # a name that no file may reach  # noqa: F401
from typing import Any, NamedTuple

import arrows as ar


@ar.builder
def scorer(words: ar.Vocabulary, tags: list[str], size: int = 4, dropout: float = 0.0) -> ar.Block[Any, Any]:
    """Scores of tags for a list of words."""
    word = words.block() >> ar.Embedding(len(words), size, name="words")
    return ar.Map(word) >> ar.Mean() >> ar.Dropout(dropout) >> ar.FC(len(tags), ar.ops.tanh, name="tags")


class Pair(NamedTuple):
    learn: ar.Block[Any, Any]
    judge: ar.Block[Any, Any]


@ar.builder
def pair(size: int) -> Pair:
    """Two blocks of the same layer."""
    layer = ar.Vector(3) >> ar.FC(size, name="layer")
    return Pair(layer >> ar.Function(lambda y: (y * y).sum()), layer >> ar.Function(lambda y: y[:1]))


def plain(size: int) -> ar.Block[Any, Any]:
    """No marked function."""
    return ar.Vector(3) >> ar.FC(size, name="layer")


def no_builder(**arguments: object) -> ar.Block[Any, Any]:
    """No file may call it."""
    raise AssertionError


@ar.builder
def reader(factor: int) -> ar.Block[Any, Any]:
    """Its function on Python objects depends on the argument, its types do not."""
    return ar.InputTransform(lambda x: x * factor) >> ar.Scalar()


@ar.builder
def draws() -> ar.Block[Any, Any]:
    """Its predictions depend on seed and step."""
    return ar.Vector(2) >> ar.Function(lambda x: x + ar.ops.normal_like(x)) >> ar.FC(2, name="layer")
