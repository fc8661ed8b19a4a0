"""The header of a safetensors file: names, element types, shapes and texts.

A file may come from a stranger, and its header may say anything. So everything in it is checked before it is
used, and before memory is taken for it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from arrows.training.arguments import escaped, is_whole
from arrows.typesys import ArrowValueError

LONGEST = 100_000_000  # bytes of a header, the limit of the library safetensors
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
"""safetensors' element types -> NumPy's. Some, such as BF16, NumPy does not have."""
BYTES = {name: np.dtype(name).itemsize for name in DTYPES.values()}
_OTHER_DTYPE = re.compile(r"[A-Z][A-Z0-9_]{0,15}")


@dataclass(frozen=True, slots=True)
class Entry:
    """An array of a file.

    Attributes:
        dtype: NumPy's name of the element type, or safetensors' name if NumPy has none.
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
    """The content of a file, without its numbers.

    Attributes:
        entries: the arrays by name.
        texts: the metadata.
        offset: where the numbers begin in the file.
    """

    entries: Mapping[str, Entry]
    texts: Mapping[str, str]
    offset: int


def read_header(file: BinaryIO, size: int) -> Header:
    """Reads and checks the header of a file of `size` bytes.

    Raises:
        ArrowValueError: it is not a safetensors header, or does not match the numbers that follow.

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
    except (ValueError, RecursionError):  # RecursionError: nested too deep
        raise ArrowValueError("its header is not JSON") from None
    if not isinstance(content, dict):
        raise ArrowValueError("its header is not a JSON object")
    texts = content.pop("__metadata__", {})
    if not (isinstance(texts, dict) and all(isinstance(text, str) for text in texts.values())):
        raise ArrowValueError("its metadata does not map text to text")
    entries = {name: _entry(name, fields) for name, fields in content.items()}
    end = 0
    for name, entry in sorted(entries.items(), key=lambda item: (item[1].start, item[1].stop)):
        if entry.start != end:
            raise ArrowValueError(f"the numbers of {quoted(name)} do not begin where those before them end")
        end = entry.stop
    if 8 + length + end != size:
        rest = size - 8 - length
        raise ArrowValueError(f"its header describes {end:,} bytes of numbers, and {rest:,} follow")
    return Header(entries, texts, offset=8 + length)


def quoted(name: str) -> str:
    """A name in a file, fit for a message: in quotes, cut short, and with control characters spelt out.

    >>> quoted("w\\x1b[31m")
    "'w\\\\x1b[31m'"
    """
    return f"'{escaped(name, 100)}'"


def _entry(name: str, fields: object) -> Entry:
    if not (isinstance(fields, dict) and set(fields) == {"dtype", "shape", "data_offsets"}):
        raise ArrowValueError(f"its header does not give dtype, shape and data_offsets of {quoted(name)}")
    dtype, shape, offsets = fields["dtype"], fields["shape"], fields["data_offsets"]
    if not (isinstance(dtype, str) and _OTHER_DTYPE.fullmatch(dtype)):
        raise ArrowValueError(f"the element type of {quoted(name)} is not one of safetensors")
    if not (isinstance(shape, list) and len(shape) <= MOST_AXES and all(is_whole(n) for n in shape)):
        raise ArrowValueError(f"the shape of {quoted(name)} is not a list of sizes")
    if not (isinstance(offsets, list) and len(offsets) == 2 and all(is_whole(n) for n in offsets)):
        raise ArrowValueError(f"the data_offsets of {quoted(name)} are not two positions")
    start, stop = offsets
    element_type = DTYPES.get(dtype, dtype)
    size = math.prod(shape) * BYTES[element_type] if element_type in BYTES else stop - start
    if size != stop - start or size < 0:
        raise ArrowValueError(f"the numbers of {quoted(name)} do not take as many bytes as its shape says")
    return Entry(element_type, tuple(shape), start, stop)
