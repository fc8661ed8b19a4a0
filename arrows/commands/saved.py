"""Sentiment models in files: what is written beside the parameters, and a model made from a file alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import arrows as ar
from arrows.models import sentiment
from arrows.training import load, read_metadata
from arrows.typesys.errors import ArrowValueError


def describe(vocabulary: Mapping[str, int], size: int, embedding: int | None = None) -> dict[str, str]:
    """The texts that `restore` needs, to be saved with the parameters of a sentiment model.

    >>> describe({"good": 1}, 64)
    {'model': 'sentiment', 'vocabulary': '{"good": 1}', 'size': '64', 'embedding': '64'}
    """
    return {
        "model": "sentiment",
        "vocabulary": json.dumps(vocabulary, ensure_ascii=False),
        "size": str(size),
        "embedding": str(size if embedding is None else embedding),
    }


def restore(path: str | Path) -> ar.Model:
    """A model that judges trees, made from a saved file alone.

    Raises:
        ArrowValueError: the file holds something else than a sentiment model.
        OSError: the file cannot be read.

    >>> restore("sentiment.safetensors")  # doctest: +SKIP
    """
    about = read_metadata(path)
    try:
        numbers: dict[str, Any] = json.loads(about["vocabulary"])
        size, embedding = int(about["size"]), int(about.get("embedding", about["size"]))
        blocks = sentiment(
            {str(word): int(number) for word, number in numbers.items()}, size=size, embedding=embedding
        )
    except (KeyError, ValueError, AttributeError, TypeError) as error:
        raise ArrowValueError(f"{path} holds no sentiment model") from error
    model = ar.compile(blocks.judge)
    load(model, path)
    return model
