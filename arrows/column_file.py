"""Columns of a safetensors file that are written piece by piece, and mapped into memory to be read.

A `ColumnWriter` collects the pieces of each column in a temporary file, so that what is written may be larger
than memory, and makes one file of all columns at the end. `map_columns` gives the columns of such a file as
arrays whose pages are read when somebody looks at them. The format is that of `safetensors_file`, with its
checksums.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Self

import numpy as np
import numpy.typing as npt

from arrows.files import naming, replacing
from arrows.ops.arrays import HostArray
from arrows.safetensors_file import (
    HEADER_CHECKSUM,
    LONGEST,
    NUMBERS_CHECKSUM,
    STORED,
    header_checksum,
    open_file,
)
from arrows.typesys import ArrowValueError

_BLOCK = 1 << 20  # bytes that are copied or hashed at once


class ColumnWriter:
    """Columns that grow piece by piece; used as a context, it leaves no temporary files.

    These have no names where the system allows that, so that a process that is killed leaves nothing either.

    Args:
        path: the finished file, in whose folder the temporary ones lie too; errors name it.

    >>> with tempfile.TemporaryDirectory() as folder, ColumnWriter(Path(folder, "numbers")) as writer:
    ...     writer.add("x", np.arange(3))
    ...     writer.add("x", np.arange(2))
    ...     writer.finish({"by": "us"})
    ...     columns, texts = map_columns(Path(folder, "numbers"))
    ...     columns["x"].tolist(), texts
    ([0, 1, 2, 0, 1], {'by': 'us'})
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files: dict[str, IO[bytes]] = {}
        self._kinds: dict[str, tuple[np.dtype[np.generic], tuple[int, ...]]] = {}
        self._rows: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            with suppress(OSError):  # a full disk does not take what is left in the buffer
                file.close()
        self._files.clear()

    def begin(self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...] = ()) -> None:
        """Begins a column, of rows of a shape; without this, its first piece does."""
        folder = self.path.resolve().parent
        self._files[name] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (closed by `__exit__`)
        self._kinds[name] = np.dtype(dtype), shape
        self._rows[name] = 0

    def add(self, name: str, rows: HostArray) -> None:
        """Appends rows to a column, as elements of the column's type."""
        if name not in self._files:
            self.begin(name, rows.dtype, rows.shape[1:])
        dtype, shape = self._kinds[name]
        assert rows.shape[1:] == shape, name
        stored = np.ascontiguousarray(rows, dtype.newbyteorder("<"))
        with naming(self.path):
            self._files[name].write(stored.reshape(-1).view(np.uint8).data)
        self._rows[name] += len(rows)

    def finish(self, texts: Mapping[str, str]) -> None:
        """Writes all columns and some texts to the file, whole or not at all.

        Raises:
            OSError: the file cannot be written; what stood there is as it was.
        """
        # Wide elements come first, so that each column begins at a multiple of its element's size.
        names = sorted(self._files, key=lambda name: (-self._kinds[name][0].itemsize, name))
        shapes = {name: (self._rows[name], *self._kinds[name][1]) for name in names}
        kinds = {name: (self._kinds[name][0].name, shapes[name]) for name in names}
        checksum = hashlib.sha256()
        for name in sorted(names):
            for block in self._blocks(name):
                checksum.update(block)
        sealed = {**texts, NUMBERS_CHECKSUM: f"sha256:{checksum.hexdigest()}"}
        sealed[HEADER_CHECKSUM] = header_checksum(kinds, sealed)
        header: dict[str, object] = {"__metadata__": sealed}
        end = 0
        for name in names:
            dtype = self._kinds[name][0]
            start, end = end, end + int(np.prod(shapes[name])) * dtype.itemsize
            header[name] = {
                "dtype": STORED[dtype.name],
                "shape": list(shapes[name]),
                "data_offsets": [start, end],
            }
        content = json.dumps(header).encode("ascii")
        content += b" " * (-len(content) % 64)
        if len(content) > LONGEST:
            raise ArrowValueError(
                f"{self.path}: its texts take {len(content):,} bytes, and {LONGEST:,} is the most"
            )
        with replacing(self.path) as file:
            file.write(len(content).to_bytes(8, "little"))
            file.write(content)
            for name in names:
                for block in self._blocks(name):
                    file.write(block)

    def _blocks(self, name: str) -> Iterator[bytes]:
        file = self._files[name]
        with naming(self.path):
            file.seek(0)
            while block := file.read(_BLOCK):
                yield block


def read_texts(path: Path) -> dict[str, str]:
    """The texts of a file, whose header is checked, and nothing else.

    Raises:
        ArrowValueError: it is no safetensors file, was cut off, or has a damaged header.
        OSError: the file cannot be read.
    """
    with open_file(path) as file:
        return file.texts


def map_columns(path: Path) -> tuple[dict[str, HostArray], dict[str, str]]:
    """The columns of a file, as arrays that cannot be written to, and its texts.

    All bytes are read once, to compare their checksum; memory holds the pages that are looked at.

    Raises:
        ArrowValueError: it is no whole file of columns, or is damaged; it says how.
        OSError: the file cannot be read.
    """
    with open_file(path) as file:
        file.require_whole()
        return {name: file.mapped(name) for name in file.entries}, file.texts
