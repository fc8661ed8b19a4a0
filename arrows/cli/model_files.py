"""Models in files: what is written beside the parameters, and a model made from a file alone.

The file may be a stranger's: what it says is checked against what it holds, before any of it takes memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import arrows as ar
from arrows.combinators import AnyBlock
from arrows.engine.planning import named_parameters
from arrows.models import sentiment
from arrows.training import load
from arrows.training.arguments import is_whole
from arrows.training.saving.parameter_files import differences
from arrows.training.saving.safetensors_file import open_file, require_memory
from arrows.training.saving.safetensors_header import Entry
from arrows.typesys.errors import ArrowValueError

LARGEST = 1_000_000  # of the sizes that a file may ask for


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
        ArrowValueError: the file is damaged, or holds something else than a sentiment model.
        OSError: the file cannot be read.

    >>> restore("sentiment.safetensors")  # doctest: +SKIP
    """
    about, entries = contents(path)
    try:
        size = size_in(about, "size")
        embedding = size_in(about, "embedding") if "embedding" in about else size
        blocks = sentiment(numbers_in(about, "vocabulary"), size=size, embedding=embedding)
    except ArrowValueError as error:
        raise ArrowValueError(f"{path} holds no sentiment model: {error}") from None
    return loaded(path, blocks.judge, entries)


def contents(path: str | Path) -> tuple[dict[str, Any], Mapping[str, Entry]]:
    """The texts of a file, and what its header says of its arrays.

    Raises:
        ArrowValueError: the file is no safetensors file, or is damaged.
        OSError: the file cannot be read.

    >>> contents("nowhere")
    Traceback (most recent call last):
    ...
    FileNotFoundError: [Errno 2] No such file or directory: 'nowhere'
    """
    with open_file(Path(path)) as file:
        return file.texts, file.entries


def loaded(path: str | Path, block: AnyBlock, entries: Mapping[str, Entry]) -> ar.Model:
    """A block with the parameters of a file, once these are known to fit.

    Raises:
        ArrowValueError: they do not, or they are damaged.
        OSError: the file cannot be read.

    >>> loaded("m.safetensors", ar.Vector(2) >> ar.FC(1, name="fc"), {})
    Traceback (most recent call last):
    ...
    arrows.typesys.errors.ArrowValueError: m.safetensors does not fit the model that it tells of: 'fc/weight':
    not in the file, float32[2, 1] in the model; and 1 more
    """
    problems = differences(entries, named_parameters(ar.infer(block)))
    if problems:
        more = f"; and {len(problems) - 1} more" if len(problems) > 1 else ""
        raise ArrowValueError(f"{path} does not fit the model that it tells of: {problems[0]}{more}")
    require_memory(Path(path), sum(entry.stop - entry.start for entry in entries.values()))
    model = ar.compile(block)
    load(model, path)
    return model


def numbers_in(about: Mapping[str, Any], name: str) -> dict[str, int]:
    """A text of a file that numbers words, from 1 to as many as there are.

    Raises:
        ArrowValueError: it does not.

    >>> numbers_in({"words": '{"good": 1, "bad": 2}'}, "words")
    {'good': 1, 'bad': 2}
    """
    table = _json(about, name)
    if not isinstance(table, dict):
        raise ArrowValueError(f"its {name} are no table")
    if not all(is_whole(number, least=1) and number <= len(table) for number in table.values()):
        raise ArrowValueError(f"its {name} are not numbered from 1 to {len(table)}")
    return table


def sizes_in(about: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A text of a file that is a table of sizes; `size_in` reads each.

    Raises:
        ArrowValueError: it is none.

    >>> sizes_in({"sizes": '{"size": 3}'}, "sizes")
    {'size': 3}
    """
    table = _json(about, name)
    if not isinstance(table, dict):
        raise ArrowValueError(f"its {name} are no table")
    return table


def size_in(about: Mapping[str, Any], name: str) -> int:
    """A size that a file asks for.

    Raises:
        ArrowValueError: it is missing, or none that can be.

    >>> size_in({"size": "64"}, "size")
    64
    """
    said: Any = about.get(name)
    if isinstance(said, str) and said.isascii() and said.isdigit() and len(said) <= len(str(LARGEST)):
        said = int(said)
    if not (is_whole(said, least=1) and said <= LARGEST):
        raise ArrowValueError(f"its {name} is no number from 1 to {LARGEST:,}")
    return int(said)


def _json(about: Mapping[str, Any], name: str) -> Any:
    if name not in about:
        raise ArrowValueError(f"it does not tell its {name}")
    try:
        return json.loads(about[name])
    except (ValueError, RecursionError):
        raise ArrowValueError(f"its {name} are not JSON") from None
