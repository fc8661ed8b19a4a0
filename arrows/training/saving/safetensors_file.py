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

import numpy as np
import safetensors.numpy

from arrows.files import replacing
from arrows.ops.arrays import HostArray
from arrows.training.saving.safetensors_header import BYTES, LONGEST, Entry, Header, quoted, read_header
from arrows.typesys import ArrowValueError

OURS = "arrows."
"""The beginning of the keys that this package reserves for its own texts."""
# Keys of two checksums: one of the numbers, and one of all else, the first checksum included. A file that has
# only one of them is damaged: no flipped bit makes a file look like an older one, from before the checksums.
_NUMBERS, _HEADER = "arrows.numbers", "arrows.header"


def write_file(path: Path, arrays: Mapping[str, HostArray], texts: Mapping[str, str] | None = None) -> None:
    """Writes a file as `arrows.files.replacing` does, whole or not at all.

    Raises:
        ArrowValueError: texts that are not strings, or too long; an array whose element type safetensors does
            not have.
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
    """A file that is open for reading, whose header has been checked.

    Attributes:
        path: the file.
        entries: what the header says of the arrays, by name.
        texts: the metadata, including the texts of this package, without the checksums.
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
        return self._arrays()

    def _arrays(self) -> dict[str, HostArray]:
        arrays = {name: self._array(self.entries[name]) for name in sorted(self.entries)}
        if self._checksum is not None and _numbers_checksum(arrays) != self._checksum:
            raise ArrowValueError(
                f"{self.path} is damaged: the checksum of its numbers does not match; "
                "write the file again, or use another copy"
            )
        return arrays

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

    >>> with open_file(Path("/nowhere")) as file:
    ...     file.texts
    Traceback (most recent call last):
    ...
    FileNotFoundError: [Errno 2] No such file or directory: '/nowhere'
    """
    if path.exists() and not path.is_file():  # to open a pipe would wait for its writer
        raise OSError(errno.EINVAL, "this is not a file", str(path))
    with open(path, "rb") as file:
        try:
            header = read_header(file, os.fstat(file.fileno()).st_size)
        except ArrowValueError as error:
            raise ArrowValueError(f"{path} is not a whole safetensors file: {error}") from None
        yield OpenFile(path, file, header)


def read_file(path: Path) -> tuple[dict[str, HostArray], dict[str, str]]:
    """Reads all arrays and texts of a file; see `open_file`.

    >>> read_file(Path("/nowhere"))
    Traceback (most recent call last):
    ...
    FileNotFoundError: [Errno 2] No such file or directory: '/nowhere'
    """
    with open_file(path) as file:
        return file.arrays(), file.texts


def require_memory(path: Path, needed: int) -> None:
    """Refuses a file whose numbers do not fit in the machine's memory.

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
    """Covers names, element types, shapes and texts; other tools may change the order of the arrays."""
    shapes = [(name, kinds[name][0], list(kinds[name][1])) for name in sorted(kinds)]
    content = json.dumps([shapes, sorted((key, text) for key, text in texts.items() if key != _HEADER)])
    return f"sha256:{hashlib.sha256(content.encode('ascii')).hexdigest()}"


def _bytes(array: HostArray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data
