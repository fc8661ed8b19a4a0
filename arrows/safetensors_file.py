"""Arrays and texts in a safetensors file, with a checksum of both.

The format (https://huggingface.co/docs/safetensors): eight bytes with the length of the header; the header,
JSON with the name, element type, shape and place of each array and a table of texts; then the numbers.

The library of that name writes the files. This module reads them itself, because the library allocates as
much memory as a stranger's header asks for, and panics where the header lies. Everything in the header is
checked first, before memory is taken for it; after that, reading is only copying bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, TypeGuard

import numpy as np
import safetensors.numpy

from arrows.files import replacing
from arrows.ops.arrays import HostArray
from arrows.typesys import ArrowValueError
from arrows.typesys.quoting import escaped

LONGEST = 100_000_000  # bytes of a header, the limit of the library safetensors
MOST_AXES = 32
_BLOCK = 1 << 20  # bytes that are hashed at once
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
"""safetensors' element types -> NumPy's. Those that NumPy does not have, such as BF16, are missing."""
STORED = {name: stored for stored, name in DTYPES.items()}
BYTES = {name: np.dtype(name).itemsize for name in DTYPES.values()}
_OTHER_DTYPE = re.compile(r"[A-Z][A-Z0-9_]{0,15}")
OURS = "arrows."
"""The beginning of the keys that this package reserves for its own texts."""
# Keys of two checksums: one of the numbers, and one of all else, the first checksum included. A file that has
# only one of them is damaged: no flipped bit makes a file look like an older one, from before the checksums.
NUMBERS_CHECKSUM, HEADER_CHECKSUM = "arrows.numbers", "arrows.header"


def write_file(path: Path, arrays: Mapping[str, HostArray], texts: Mapping[str, str] | None = None) -> None:
    """Writes a file as `arrows.files.replacing` does, whole or not at all.

    Raises:
        ArrowValueError: texts that are not strings, or too long; an array whose element type safetensors does
            not have.
        OSError: the file cannot be written; a file that was at `path` is as it was.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_file(Path(folder) / "a", {"x": np.arange(2)}, {"by": "us"})
    ...     read_file(Path(folder) / "a")
    ({'x': array([0, 1])}, {'by': 'us'})
    """
    require_texts(texts or {})
    for name, array in arrays.items():
        if array.dtype.name not in BYTES:
            raise ArrowValueError(f"{name!r} is {array.dtype}, and a safetensors file has no such elements")
    host = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    sealed = dict(texts or {})
    sealed[NUMBERS_CHECKSUM] = _numbers_checksum(host)
    sealed[HEADER_CHECKSUM] = header_checksum(
        {name: (a.dtype.name, a.shape) for name, a in host.items()}, sealed
    )
    try:
        content = safetensors.numpy.save(host, sealed)
    except UnicodeEncodeError:
        raise ArrowValueError(
            "metadata contains half of a surrogate pair, which UTF-8 cannot encode"
        ) from None
    header = int.from_bytes(content[:8], "little")
    if header > LONGEST:
        raise ArrowValueError(
            f"names and metadata take {header:,} bytes, and a safetensors file has room for {LONGEST:,}"
        )
    with replacing(path) as file:
        file.write(content)


def require_texts(texts: Mapping[str, str]) -> None:
    """Refuses metadata that does not map text to text."""
    for key, value in texts.items():
        if not (isinstance(key, str) and isinstance(value, str)):
            raise ArrowValueError(f"metadata maps text to text; {key!r}: {value!r} is not")


class OpenFile:
    """A file that is open for reading, whose header has been checked.

    Attributes:
        path: the file.
        entries: what the header says of the arrays, by name.
        texts: the metadata, including the texts of this package, without the checksums.
    """

    def __init__(self, path: Path, file: BufferedReader, header: Header) -> None:
        self.path, self._file, self._header = path, file, header
        self.entries = header.entries
        checksums = {
            key: header.texts[key] for key in (NUMBERS_CHECKSUM, HEADER_CHECKSUM) if key in header.texts
        }
        self.texts = {key: text for key, text in header.texts.items() if key not in checksums}
        self._checksum = checksums.get(NUMBERS_CHECKSUM)
        if len(checksums) == 1:
            raise ArrowValueError(f"{path} is damaged: one of its two checksums is missing")
        kinds = {name: (entry.dtype, entry.shape) for name, entry in header.entries.items()}
        if checksums and header_checksum(kinds, header.texts) != checksums[HEADER_CHECKSUM]:
            raise ArrowValueError(f"{path} is damaged: the checksum of its header does not match")

    def arrays(self) -> dict[str, HostArray]:
        """All arrays, in the order of their names. Check `entries` before calling this: it reads everything.

        Raises:
            ArrowValueError: an element type that NumPy does not have, more numbers than fit in the machine's
                memory, or numbers that have changed since they were written.
            OSError: they cannot be read.
        """
        other = next((name for name, entry in self.entries.items() if entry.dtype not in BYTES), None)
        if other is not None:
            raise ArrowValueError(
                f"{self.path}: {quoted(other)} is {self.entries[other].dtype}, which NumPy does not have"
            )
        require_memory(self.path, sum(entry.stop - entry.start for entry in self.entries.values()))
        arrays = {name: self._array(self.entries[name]) for name in sorted(self.entries)}
        if self._checksum is not None and _numbers_checksum(arrays) != self._checksum:
            raise ArrowValueError(
                f"{self.path} is damaged: the checksum of its numbers does not match; "
                "write the file again, or use another copy"
            )
        return arrays

    def mapped(self, name: str) -> HostArray:
        """An array whose pages are read when they are looked at, and which cannot be written to.

        Raises:
            ArrowValueError: an element type that NumPy does not have, or elements across their boundaries.
        """
        entry = self.entries[name]
        offset = self._header.offset + entry.start
        if entry.dtype not in BYTES or offset % BYTES[entry.dtype]:
            raise ArrowValueError(f"{self.path}: {quoted(name)} cannot be mapped, by its type or its place")
        if entry.start == entry.stop:
            return np.zeros(entry.shape, entry.dtype)
        dtype = np.dtype(entry.dtype).newbyteorder("<")
        # A slice of a `memmap` would run Python code.
        return np.memmap(self._file, dtype, "r", offset, entry.shape).view(np.ndarray)

    def require_whole(self) -> None:
        """Reads all numbers, a little at a time, and compares their checksum.

        Raises:
            ArrowValueError: there is no checksum, or the numbers have changed since they were written.
        """
        checksum = hashlib.sha256()
        for name in sorted(self.entries):
            entry = self.entries[name]
            self._file.seek(self._header.offset + entry.start)
            left = entry.stop - entry.start
            while left and (block := self._file.read(min(left, _BLOCK))):
                checksum.update(block)
                left -= len(block)
        if self._checksum is None:
            raise ArrowValueError(f"{self.path} has no checksums")
        if f"sha256:{checksum.hexdigest()}" != self._checksum:
            raise ArrowValueError(f"{self.path} is damaged: the checksum of its numbers does not match")

    def _array(self, entry: Entry) -> HostArray:
        array = np.empty(entry.shape, np.dtype(entry.dtype).newbyteorder("<"))
        if array.size:
            self._file.seek(self._header.offset + entry.start)
            if self._file.readinto(_bytes(array)) != array.nbytes:
                raise ArrowValueError(f"{self.path} is not a whole safetensors file: it has become shorter")
        return array.astype(entry.dtype, copy=False)


@contextmanager
def open_file(path: Path) -> Iterator[OpenFile]:
    """Opens a file and checks its header; the numbers are not read yet.

    If another process replaces the file meanwhile, this one still reads the old file.

    Raises:
        ArrowValueError: the file is not a safetensors file, was cut off, or has a damaged header.
        OSError: the file cannot be read.
    """
    if path.exists() and not path.is_file():  # to open a pipe would wait for its writer
        raise OSError(f"this is not a file: {str(path)!r}")
    with open(path, "rb") as file:
        try:
            header = read_header(file, os.fstat(file.fileno()).st_size)
        except ArrowValueError as error:
            raise ArrowValueError(f"{path} is not a whole safetensors file: {error}") from None
        yield OpenFile(path, file, header)


def read_file(path: Path) -> tuple[dict[str, HostArray], dict[str, str]]:
    """Reads all arrays and texts of a file; see `open_file`."""
    with open_file(path) as file:
        return file.arrays(), file.texts


def require_memory(path: Path, needed: int) -> None:
    """Refuses a file whose numbers do not fit in the machine's memory."""
    if not hasattr(os, "sysconf"):
        return
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if 0 < memory < needed:
        raise ArrowValueError(
            f"{path} has {needed / 1e9:,.1f} GB of numbers, and this machine {memory / 1e9:,.1f} GB of memory"
        )


def _numbers_checksum(arrays: Mapping[str, HostArray]) -> str:
    checksum = hashlib.sha256()
    for name in sorted(arrays):
        checksum.update(_bytes(np.ascontiguousarray(arrays[name], arrays[name].dtype.newbyteorder("<"))))
    return f"sha256:{checksum.hexdigest()}"


def header_checksum(kinds: Mapping[str, tuple[str, tuple[int, ...]]], texts: Mapping[str, str]) -> str:
    """Covers names, element types, shapes and texts; other tools may change the order of the arrays."""
    shapes = [(name, kinds[name][0], list(kinds[name][1])) for name in sorted(kinds)]
    content = json.dumps(
        [shapes, sorted((key, text) for key, text in texts.items() if key != HEADER_CHECKSUM)]
    )
    return f"sha256:{hashlib.sha256(content.encode('ascii')).hexdigest()}"


def _bytes(array: HostArray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


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
    """Reads the header of a file of `size` bytes; refuses one that does not match the numbers after it."""
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


def is_whole(value: object, least: int = 0) -> TypeGuard[int]:
    """Whether a value from a file is an integer of at least `least` that fits in 64 bits."""
    return type(value) is int and least <= value < 2**63


def quoted(name: str) -> str:
    """Quotes a name from a file in a message: shortened, and with its control characters escaped."""
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
