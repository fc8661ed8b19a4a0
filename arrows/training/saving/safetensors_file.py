"""Arrays and texts in a safetensors file, with a checksum of both.

The format (https://huggingface.co/docs/safetensors): eight bytes with the length of the header; the header,
JSON with the name, element type, shape and place of each array and a table of texts; then the numbers.

The library of that name writes the files. This module reads them itself, because the library allocates as
much memory as a stranger's header asks for, and panics where the header lies. `safetensors_header.py` checks
the header first; after that, reading is only copying bytes.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from arrows.files import replacing
from arrows.training.saving.safetensors_header import BYTES, LONGEST, Entry, Header, quoted, read_header
from arrows.typesys.errors import ArrowValueError

HostArray = np.ndarray[Any, np.dtype[Any]]

OURS = "arrows."
"""What the keys of our own texts begin with."""
# The first is of the numbers, the second of all else, the first included. If one of them alone is there, the
# file is damaged: no flipped bit makes it look like a file of the time before there were checksums.
_NUMBERS, _HEADER = "arrows.numbers", "arrows.header"


def write_file(path: Path, arrays: Mapping[str, HostArray], texts: Mapping[str, str] | None = None) -> None:
    """Writes a file as `arrows.files.replacing` does, whole or not at all.

    Raises:
        ArrowValueError: texts that are not text, or too much of it; an array whose element type safetensors
            does not have.
        OSError: the file cannot be written; what stood at `path` is as it was.

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
    sealed[_NUMBERS] = _numbers_checksum(host)
    sealed[_HEADER] = _header_checksum({name: (a.dtype.name, a.shape) for name, a in host.items()}, sealed)
    try:
        content = safetensors.numpy.save(host, sealed)
    except UnicodeEncodeError:
        raise ArrowValueError("metadata holds half of a surrogate pair, which is no text in UTF-8") from None
    header = int.from_bytes(content[:8], "little")
    if header > LONGEST:
        raise ArrowValueError(
            f"names and metadata take {header:,} bytes, and a safetensors file has room for {LONGEST:,}"
        )
    with replacing(path) as file:
        file.write(content)


def require_texts(texts: Mapping[str, str]) -> None:
    """Refuses metadata that does not map text to text.

    >>> require_texts({"epoch": 3})
    Traceback (most recent call last):
    ...
    arrows.typesys.errors.ArrowValueError: metadata maps text to text; 'epoch': 3 is not
    """
    for key, value in texts.items():
        if not (isinstance(key, str) and isinstance(value, str)):
            raise ArrowValueError(f"metadata maps text to text; {key!r}: {value!r} is not")


class OpenFile:
    """A file that is open for reading.

    Attributes:
        path: the file.
        entries: what it says of its arrays, by name.
        texts: its metadata, ours included.
    """

    def __init__(self, path: Path, file: BufferedReader, header: Header) -> None:
        self.path, self._file, self._header = path, file, header
        self.entries = header.entries
        checksums = {key: header.texts[key] for key in (_NUMBERS, _HEADER) if key in header.texts}
        self.texts = {key: text for key, text in header.texts.items() if key not in checksums}
        self._checksum = checksums.get(_NUMBERS)
        if len(checksums) == 1:
            raise ArrowValueError(f"{path} is damaged: one of its two checksums is missing")
        kinds = {name: (entry.dtype, entry.shape) for name, entry in header.entries.items()}
        if checksums and _header_checksum(kinds, header.texts) != checksums[_HEADER]:
            raise ArrowValueError(f"{path} is damaged: the checksum of its header is another one")

    def arrays(self) -> dict[str, HostArray]:
        """All arrays, in the order of their names. Ask for them once `entries` are what they should be.

        Raises:
            ArrowValueError: an element type that NumPy does not have, more than the machine's memory holds,
                or numbers that have changed since they were written.
            OSError: they cannot be read.
        """
        other = next((name for name, entry in self.entries.items() if entry.dtype not in BYTES), None)
        if other is not None:
            raise ArrowValueError(
                f"{self.path}: {quoted(other)} is {self.entries[other].dtype}, which NumPy does not have"
            )
        require_memory(self.path, sum(entry.stop - entry.start for entry in self.entries.values()))
        return self._arrays()

    def _arrays(self) -> dict[str, HostArray]:
        arrays = {name: self._array(self.entries[name]) for name in sorted(self.entries)}
        if self._checksum is not None and _numbers_checksum(arrays) != self._checksum:
            raise ArrowValueError(
                f"{self.path} is damaged: the checksum of its numbers is another one; "
                "write the file anew, or take a copy from elsewhere"
            )
        return arrays

    def _array(self, entry: Entry) -> HostArray:
        array = np.empty(entry.shape, np.dtype(entry.dtype).newbyteorder("<"))
        if array.size:
            self._file.seek(self._header.offset + entry.start)
            if self._file.readinto(_bytes(array)) != array.nbytes:
                raise ArrowValueError(f"{self.path} is no whole safetensors file: it has become shorter")
        return array.astype(entry.dtype, copy=False)


@contextmanager
def open_file(path: Path) -> Iterator[OpenFile]:
    """Opens a file: its header is checked, and its numbers are not read yet.

    What another process puts in its place meanwhile does not matter.

    Raises:
        ArrowValueError: the file is no safetensors file, was cut off, or its header is damaged.
        OSError: the file cannot be read.

    >>> with open_file(Path("/nowhere")) as file:
    ...     file.texts
    Traceback (most recent call last):
    ...
    FileNotFoundError: [Errno 2] No such file or directory: '/nowhere'
    """
    if path.exists() and not path.is_file():  # a pipe would keep us waiting
        raise OSError(errno.EINVAL, "this is no file", str(path))
    with open(path, "rb") as file:
        try:
            header = read_header(file, os.fstat(file.fileno()).st_size)
        except ArrowValueError as error:
            raise ArrowValueError(f"{path} is not a whole safetensors file: {error}") from None
        yield OpenFile(path, file, header)


def read_file(path: Path) -> tuple[dict[str, HostArray], dict[str, str]]:
    """All arrays and texts of a file; see `open_file`.

    >>> read_file(Path("/nowhere"))
    Traceback (most recent call last):
    ...
    FileNotFoundError: [Errno 2] No such file or directory: '/nowhere'
    """
    with open_file(path) as file:
        return file.arrays(), file.texts


def require_memory(path: Path, needed: int) -> None:
    """Refuses a file whose numbers are more than the memory of the machine.

    >>> require_memory(Path("model.safetensors"), 1 << 60)
    Traceback (most recent call last):
    ...
    arrows.typesys.errors.ArrowValueError: model.safetensors has 1,152,921,504.6 GB of numbers, and ... memory
    """
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


def _header_checksum(kinds: Mapping[str, tuple[str, tuple[int, ...]]], texts: Mapping[str, str]) -> str:
    """Of names, element types, shapes and texts: not of places, which other tools may choose otherwise."""
    shapes = [(name, kinds[name][0], list(kinds[name][1])) for name in sorted(kinds)]
    said = json.dumps([shapes, sorted((key, text) for key, text in texts.items() if key != _HEADER)])
    return f"sha256:{hashlib.sha256(said.encode('ascii')).hexdigest()}"


def _bytes(array: HostArray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data
