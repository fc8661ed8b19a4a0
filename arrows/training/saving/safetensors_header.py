"""What stands at the beginning of a safetensors file: names, element types, shapes and texts.

A file may come from a stranger, and a header may say anything. So everything in it is checked before it is
believed, and before memory is taken for it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from arrows.training.arguments import escaped, is_whole
from arrows.typesys.errors import ArrowValueError

LONGEST = 100_000_000  # bytes of a header, as safetensors has it
MOST_AXES = 32
DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U64": "uint64",
    "U32": "uint32",
    "U16": "uint16",
    "U8": "uint8",
    "BOOL": "bool",
}
"""The element types that NumPy has too: safetensors' name -> NumPy's. There are others, such as BF16."""
BYTES = {name: np.dtype(name).itemsize for name in DTYPES.values()}
_OTHER_DTYPE = re.compile(r"[A-Z][A-Z0-9_]{0,15}")


@dataclass(frozen=True, slots=True)
class Entry:
    """An array of a file.

    Attributes:
        dtype: NumPy's name, or safetensors' own where NumPy has none.
        shape: sizes of the axes.
        start: where its bytes begin, counted from the end of the header.
        stop: where they end.
    """

    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Header:
    """What a file holds.

    Attributes:
        entries: the arrays by name.
        texts: the metadata.
        offset: where the numbers begin.
    """

    entries: Mapping[str, Entry]
    texts: Mapping[str, str]
    offset: int


def read_header(file: BinaryIO, size: int) -> Header:
    """Reads and checks the header of a file of `size` bytes.

    Raises:
        ArrowValueError: it is none of safetensors, or the numbers are not those that it tells of.

    >>> import io
    >>> read_header(io.BytesIO(b"no model"), 8)
    Traceback (most recent call last):
    ...
    arrows.typesys.errors.ArrowValueError: its first 8 bytes are not the length of a header
    """
    first = file.read(8)
    length = int.from_bytes(first, "little")
    if len(first) < 8 or length > min(LONGEST, size - 8):
        raise ArrowValueError("its first 8 bytes are not the length of a header")
    try:
        content = json.loads(file.read(length).decode("utf-8"))
    except (ValueError, RecursionError):  # nested too deep, or a number of thousands of digits
        raise ArrowValueError("its header is not JSON") from None
    if not isinstance(content, dict):
        raise ArrowValueError("its header is no JSON object")
    texts = content.pop("__metadata__", {})
    if not (isinstance(texts, dict) and all(isinstance(text, str) for text in texts.values())):
        raise ArrowValueError("its metadata does not map text to text")
    entries = {name: _entry(name, said) for name, said in content.items()}
    place = 0
    for name, entry in sorted(entries.items(), key=lambda item: (item[1].start, item[1].stop)):
        if entry.start != place:
            raise ArrowValueError(f"the numbers of {quoted(name)} do not begin where those before them end")
        place = entry.stop
    if 8 + length + place != size:
        there = size - 8 - length
        raise ArrowValueError(f"its header tells of {place:,} bytes of numbers, and {there:,} follow")
    return Header(entries, texts, 8 + length)


def quoted(name: str) -> str:
    """A name of a file in quotes, cut short, with nothing in it that could steer a terminal.

    >>> quoted("w\\x1b[31m")
    "'w\\\\x1b[31m'"
    """
    return f"'{escaped(name, 100)}'"


def _entry(name: str, said: Any) -> Entry:
    if not (isinstance(said, dict) and set(said) == {"dtype", "shape", "data_offsets"}):
        raise ArrowValueError(f"its header does not say dtype, shape and data_offsets of {quoted(name)}")
    dtype, shape, offsets = said["dtype"], said["shape"], said["data_offsets"]
    if not (isinstance(dtype, str) and _OTHER_DTYPE.fullmatch(dtype)):
        raise ArrowValueError(f"the element type of {quoted(name)} is none")
    if not (isinstance(shape, list) and len(shape) <= MOST_AXES and all(is_whole(n) for n in shape)):
        raise ArrowValueError(f"the shape of {quoted(name)} is none")
    if not (isinstance(offsets, list) and len(offsets) == 2 and all(is_whole(n) for n in offsets)):
        raise ArrowValueError(f"the place of the numbers of {quoted(name)} is none")
    start, stop = offsets
    numpy_s = DTYPES.get(dtype, dtype)
    if stop < start or (numpy_s in BYTES and math.prod(shape) * BYTES[numpy_s] != stop - start):
        raise ArrowValueError(f"the numbers of {quoted(name)} do not take as many bytes as its shape says")
    return Entry(numpy_s, tuple(shape), start, stop)
