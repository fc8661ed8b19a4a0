"""Model files: the texts that are saved beside the parameters, and models built from a file alone.

A file may come from a stranger, so the sizes that it claims are checked before memory is allocated for them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import arrows as ar
from arrows.combinators import AnyBlock
from arrows.engine.planning import named_parameters
from arrows.models import Lexicon, sentiment, tagger
from arrows.safetensors_file import is_whole
from arrows.training import load
from arrows.training.saving import Entry, differences, open_file, require_memory
from arrows.typesys import ArrowValueError

LARGEST = 1_000_000  # the largest size that a file may ask for
TAGGER_SIZES = ("size", "embedding", "character_size", "character_embedding")
"""The sizes of a tagger, as its function and its files name them."""


def describe_sentiment(
    vocabulary: Mapping[str, int], size: int, embedding: int | None = None
) -> dict[str, str]:
    """The texts that `restore_sentiment` needs, to be saved with the parameters of a sentiment model."""
    return {
        "model": "sentiment",
        "vocabulary": json.dumps(vocabulary, ensure_ascii=False),
        "size": str(size),
        "embedding": str(size if embedding is None else embedding),
    }


def restore_sentiment(path: str | Path) -> ar.Model:
    """A model that classifies trees, built from a saved file alone; refuses one that holds no such model."""
    texts, entries = contents(path)
    try:
        size = size_in(texts, "size")
        embedding = size_in(texts, "embedding") if "embedding" in texts else size
        blocks = sentiment(numbers_in(texts, "vocabulary"), size=size, embedding=embedding)
    except ArrowValueError as error:
        raise ArrowValueError(f"{path} holds no sentiment model: {error}") from None
    return loaded(path, blocks.judge, entries)


def describe_tagger(lexicon: Lexicon, sizes: Mapping[str, int]) -> dict[str, str]:
    """The texts that `restore_tagger` needs, to be saved with the parameters of a tagger."""
    tables = {"words": lexicon.words, "characters": lexicon.characters, "sizes": sizes}
    texts = {name: json.dumps(table, ensure_ascii=False) for name, table in tables.items()}
    return {"model": "tagger", **texts}


def restore_tagger(path: str | Path) -> tuple[ar.Model, Lexicon]:
    """A model that tags sentences, built from a saved file alone, and its lexicon; refuses another file."""
    texts, entries = contents(path)
    try:
        lexicon = Lexicon(numbers_in(texts, "words"), numbers_in(texts, "characters"))
        table = _table_in(texts, "sizes")
        sizes = {name: size_in(table, name) for name in TAGGER_SIZES}
        blocks = tagger(
            lexicon,
            size=sizes["size"],
            embedding=sizes["embedding"],
            character_size=sizes["character_size"],
            character_embedding=sizes["character_embedding"],
        )
    except ArrowValueError as error:
        raise ArrowValueError(f"{path} holds no tagger: {error}") from None
    return loaded(path, blocks.judge, entries), lexicon


def contents(path: str | Path) -> tuple[dict[str, str], Mapping[str, Entry]]:
    """The texts of a file, and the entries of its arrays in the header."""
    with open_file(Path(path)) as file:
        return file.texts, file.entries


def loaded(path: str | Path, block: AnyBlock, entries: Mapping[str, Entry]) -> ar.Model:
    """Compiles a block and loads the parameters of a file, after a check that they fit."""
    problems = differences(entries, named_parameters(ar.infer(block)))
    if problems:
        more = f"; and {len(problems) - 1} more" if len(problems) > 1 else ""
        raise ArrowValueError(f"{path} does not fit the model that it describes: {problems[0]}{more}")
    require_memory(Path(path), sum(entry.stop - entry.start for entry in entries.values()))
    model = ar.compile(block)
    load(model, path)
    return model


def numbers_in(texts: Mapping[str, str], name: str) -> dict[str, int]:
    """Reads the table `name`, which numbers words; refuses numbers that are not from 1 to their count."""
    table = _table_in(texts, name)
    numbers = {
        word: number for word, number in table.items() if is_whole(number, least=1) and number <= len(table)
    }
    if len(numbers) < len(table):
        raise ArrowValueError(f"its {name} are not numbered from 1 to {len(table)}")
    return numbers


def size_in(values: Mapping[str, object], name: str) -> int:
    """A size that a file asks for; refuses one that is missing or out of range."""
    size = values.get(name)
    if isinstance(size, str) and size.isascii() and size.isdigit() and len(size) <= len(str(LARGEST)):
        size = int(size)
    if not (is_whole(size, least=1) and size <= LARGEST):
        raise ArrowValueError(f"its {name} is not a number from 1 to {LARGEST:,}")
    return size


def _table_in(texts: Mapping[str, str], name: str) -> dict[str, object]:
    if name not in texts:
        raise ArrowValueError(f"it has no entry {name!r}")
    try:
        table = json.loads(texts[name])
    except (ValueError, RecursionError):
        raise ArrowValueError(f"its {name} are not JSON") from None
    if not isinstance(table, dict):
        raise ArrowValueError(f"its {name} are not a table")
    return table
