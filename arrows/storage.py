"""Files that are written whole or not at all: any content, arrays with texts, columns that are mapped.

What is new is written beside the old, flushed to the disk and renamed, so that at every moment the path is
either the old or the whole new one. Arrays and texts go to safetensors files (https://huggingface.co/docs/
safetensors) with a checksum, columns of any length to a folder of `.npy` files.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import json
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, Self

import numpy as np
import numpy.typing as npt
import safetensors.numpy
from safetensors import SafetensorError, safe_open

from arrows.arrays import HostArray
from arrows.typesys import ArrowTypeError, ArrowValueError, escaped

CHECKSUM = "arrows.checksum"
"""The key of the checksum among the texts of a file."""
_LONGEST_HEADER = 100_000_000  # bytes; the library writes longer ones, and does not read them
_ABANDONED = 3600  # seconds after which nobody writes to a temporary file any more
_INDEX, _DIGESTS = "index.safetensors", "arrows.columns"


def require_path(argument: str, path: object) -> Path:
    """Converts a path or text to a `Path`; refuses an empty one, which would mean the current folder.

    Args:
        argument: what the path is called in messages.
        path: the path.

    Raises:
        ArrowTypeError: it is neither.
        ArrowValueError: it is empty.

    >>> require_path("save(model, path): path", "model.weights").name
    'model.weights'
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ArrowTypeError(f"{argument} must be a path, not a value of the type {type(path).__name__}")
    if not os.fspath(path):
        raise ArrowValueError(f"{argument} names no file: it is empty")
    return Path(path)


# ------------------------------------------------------------------------------------------ any content


@contextmanager
def replacing(path: Path, keep: int = 0) -> Iterator[BinaryIO]:
    """A context that gives a file to write to, which stands at `path` once the context has ended well.

    A link is written through. The new file has the mode of the one that it replaces. What processes left that
    were killed while they wrote the same file is removed.

    Args:
        path: the file.
        keep: how many of the files before stay: the last one as `PATH.1`, the one before it as `PATH.2`.

    Raises:
        OSError: there is no such folder, the file cannot be written, or `path` is a folder, a device, a pipe
            or a socket; what stood at `path` is as it was.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for text in (b"one", b"two", b"three"):
    ...         with replacing(Path(folder, "notes"), keep=1) as file:
    ...             _ = file.write(text)
    ...     sorted(os.listdir(folder)), Path(folder, "notes.1").read_bytes()
    (['notes', 'notes.1'], b'two')
    """
    target = _target(path)
    temporary = _beside(target)
    try:
        with _naming(path), open(temporary, "xb") as file:
            with suppress(OSError):  # there is none, or a file system without modes
                shutil.copymode(target, temporary)
            yield file
            file.flush()
            os.fsync(file.fileno())
        with _naming(path):
            for number in range(keep, 0, -1):
                with suppress(FileNotFoundError):
                    os.replace(previous(target, number - 1), previous(target, number))
            os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _settle(target)


def require_replaceable(path: Path) -> None:
    """Refuses a path that `replacing` could not write to: better known now than after an hour's work.

    Raises:
        OSError: as `replacing`.

    >>> require_replaceable(Path("/nowhere/file"))
    Traceback (most recent call last):
    ...
    FileNotFoundError: [Errno 2] no such folder: '/nowhere'
    """
    temporary = _beside(_target(path))
    with _naming(path):
        temporary.touch(exist_ok=False)
    temporary.unlink()


def previous(path: Path, number: int) -> Path:
    """Where `replacing` keeps a file that has been replaced `number` times since.

    >>> previous(Path("run.state"), 2).name
    'run.state.2'
    """
    target = Path(os.path.realpath(path))
    return target.with_name(f"{target.name}.{number}") if number else target


def _target(path: Path) -> Path:
    """Where the file stands in truth, behind links."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(target.parent))
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(mode := os.stat(path).st_mode):
            kind = "a folder" if stat.S_ISDIR(mode) else "a device, a pipe or a socket"
            raise OSError(f"only a file can be replaced, and this is {kind}: {str(path)!r}")
    return target


def _beside(target: Path) -> Path:
    """A new name in the folder of the target; names are short, and a character may take four bytes."""
    return target.with_name(f".{target.name[:50]}.{secrets.token_hex(8)}.tmp")


def _settle(target: Path) -> None:
    """Brings a rename to the disk, and removes what killed processes left that wrote the same target."""
    with suppress(OSError):  # Windows opens no folders
        os.fsync(descriptor := os.open(target.parent, os.O_RDONLY))
        os.close(descriptor)
    for left in target.parent.glob(glob.escape(target.name[:50]).join((".", f".{'[0-9a-f]' * 16}.tmp"))):
        with suppress(OSError):  # it has gone meanwhile, or belongs to someone else
            if time.time() - max(each.stat().st_mtime for each in (left, *left.glob("*"))) > _ABANDONED:
                shutil.rmtree(left) if left.is_dir() else left.unlink()


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Errors of the system name the path that the user gave, not the temporary file or nothing."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and str(error.filename or ".tmp").endswith(".tmp"):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


# ------------------------------------------------------------------------------- arrays with texts


def read_texts(path: Path) -> dict[str, str]:
    """The texts of a safetensors file, or of a folder of columns, and nothing else; see `read_arrays`."""
    with _opened(path / _INDEX if path.is_dir() else path) as file:
        return dict(file.metadata() or {})


def read_arrays(path: Path) -> tuple[dict[str, HostArray], dict[str, str]]:
    """The arrays and texts of a safetensors file; `CHECKSUM` is among these if this package has written it.

    Raises:
        ArrowValueError: it is no safetensors file, was cut off, has changed since it was written, or holds
            elements that NumPy does not have.
        OSError: the file cannot be read.
    """
    with _opened(path) as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  no mapping
        texts = dict(file.metadata() or {})
    if CHECKSUM in texts and texts[CHECKSUM] != _checksum(arrays, texts):
        raise ArrowValueError(
            f"{path} is damaged: its checksum does not match; write the file again, or use another copy"
        )
    return arrays, texts


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    if not stat.S_ISREG(os.stat(path).st_mode):  # to open a pipe would wait for its writer
        raise OSError(f"this is not a file: {str(path)!r}")
    open(path, "rb").close()  # errors of the system in the system's words
    try:
        with safe_open(path, "numpy") as file:
            yield file
    except (SafetensorError, TypeError) as error:  # NumPy has no bfloat16
        raise ArrowValueError(f"{path} is no safetensors file to read: {escaped(str(error), 300)}") from None


def write_arrays(path: Path, arrays: Mapping[str, Any], texts: Mapping[str, str], keep: int = 0) -> None:
    """Writes a safetensors file with a checksum, whole or not at all.

    Args:
        path: the file.
        arrays: by name.
        texts: by name.
        keep: as of `replacing`.

    Raises:
        ArrowValueError: texts that are too long; an array whose element type safetensors does not have.
        OSError: the file cannot be written; a file that was at `path` is as it was.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_arrays(Path(folder, "a"), {"x": np.arange(2)}, {"by": "us"})
    ...     arrays, texts = read_arrays(Path(folder, "a"))
    ...     arrays, texts["by"]
    ({'x': array([0, 1])}, 'us')
    """
    dense = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    try:
        content = safetensors.numpy.save(dense, {**texts, CHECKSUM: _checksum(dense, texts)})
    except (SafetensorError, UnicodeEncodeError) as error:  # no such elements, half of a surrogate pair
        raise ArrowValueError(f"{path} cannot be written: {error}") from None
    if (length := int.from_bytes(content[:8], "little")) > _LONGEST_HEADER:
        raise ArrowValueError(
            f"{path} cannot be written: its names and texts take {length:,} bytes, and safetensors has room "
            f"for {_LONGEST_HEADER:,}"
        )
    with replacing(path, keep) as file:
        file.write(content)


def _checksum(arrays: Mapping[str, HostArray], texts: Mapping[str, str]) -> str:
    """Covers everything but itself and the order of the arrays, which other programs may change."""
    kinds = [(name, arrays[name].dtype.name, arrays[name].shape) for name in sorted(arrays)]
    covered = sorted((key, text) for key, text in texts.items() if key != CHECKSUM)
    checksum = hashlib.sha256(json.dumps([kinds, covered]).encode("ascii"))
    for name in sorted(arrays):
        checksum.update(arrays[name].reshape(-1).view(np.uint8).data)
    return f"sha256:{checksum.hexdigest()}"


# ------------------------------------------------------------------------------ columns that are mapped


class ColumnWriter:
    """Columns that grow piece by piece, so that what is written may be larger than memory.

    They are files of a folder beside the finished one, which is renamed in the end. Used as a context, it
    leaves nothing else.

    Args:
        path: the finished folder, which must not be there; errors name it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with ColumnWriter(Path(folder, "numbers")) as writer:
    ...         writer.add("x", np.arange(3))
    ...         writer.add("x", np.arange(2))
    ...         writer.finish({"by": "us"})
    ...     map_columns(Path(folder, "numbers"))["x"].tolist(), read_texts(Path(folder, "numbers"))["by"]
    ([0, 1, 2, 0, 1], 'us')
    """

    def __init__(self, path: Path) -> None:
        self.path, self._target = path, Path(os.path.realpath(path))
        self._folder = _beside(self._target)
        self._files: dict[str, IO[bytes]] = {}
        self._heads: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {}

    def __enter__(self) -> Self:
        with _naming(self.path):
            self._folder.mkdir()
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            with suppress(OSError):  # a full disk does not take what is left in the buffer
                file.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def begin(self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...] = ()) -> None:
        """Begins a column, of rows of a shape; without this, its first piece does."""
        self._heads[name] = np.dtype(dtype), (0, *shape)
        with _naming(self.path):
            self._files[name] = open(self._folder / f"{name}.npy", "w+b")  # noqa: SIM115  see `__exit__`
            self._write_head(name)

    def add(self, name: str, rows: HostArray) -> None:
        """Appends rows to a column, as elements of the column's type."""
        if name not in self._files:
            self.begin(name, rows.dtype, rows.shape[1:])
        dtype, (count, *shape) = self._heads[name]
        with _naming(self.path):
            self._files[name].write(np.ascontiguousarray(rows, dtype).reshape(-1).view(np.uint8).data)
        self._heads[name] = dtype, (count + len(rows), *shape)

    def finish(self, texts: Mapping[str, str]) -> None:
        """Makes the folder of all columns and some texts.

        If another process has finished the same folder meanwhile, that one stays.

        Raises:
            OSError: a file cannot be written.
        """
        digests = {}
        with _naming(self.path):
            for name, file in self._files.items():
                self._write_head(name)
                file.flush()
                os.fsync(file.fileno())
                digests[name] = _digest(file)
            write_arrays(self._folder / _INDEX, {}, {**texts, _DIGESTS: json.dumps(digests)})
            try:
                os.rename(self._folder, self._target)
            except OSError:
                if not (self._target / _INDEX).exists():
                    raise
        _settle(self._target)

    def _write_head(self, name: str) -> None:
        """NumPy leaves room in the header for any number of rows, so that it can be written again."""
        dtype, shape = self._heads[name]
        self._files[name].seek(0)
        head = {"descr": dtype.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self._files[name], head)


def map_columns(path: Path) -> dict[str, HostArray]:
    """The columns of a folder, as arrays that cannot be written to.

    All bytes are read once, to compare their checksums; memory holds the pages that are looked at.

    Raises:
        ArrowValueError: it is damaged; it says how.
        OSError: it is no folder of columns, or cannot be read.
    """
    columns = {}
    for name, digest in json.loads(read_arrays(path / _INDEX)[1][_DIGESTS]).items():
        part = path / f"{name}.npy"
        with open(part, "rb") as file:
            if _digest(file) != digest:
                raise ArrowValueError(f"{part} is damaged: its checksum does not match")
        # A slice of a `memmap` would run Python code.
        columns[name] = np.load(part, mmap_mode="r", allow_pickle=False).view(np.ndarray)
    return columns


def _digest(file: IO[bytes]) -> str:
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
