"""Files that are written whole or not at all: any content, arrays with texts, columns that are mapped.

What is new is written beside the old, flushed to the disk and renamed, so that at every moment the path is
either the old or the whole new one. Arrays and texts go to safetensors files (https://huggingface.co/docs/
safetensors) with a checksum, columns of any length to a folder of `.npy` files.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, Self

import numpy as np
import numpy.typing as npt
import safetensors.numpy
from safetensors import SafetensorError, safe_open

from arrows.ops.arrays import HostArray
from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.typesys.quoting import escaped

CHECKSUM = "arrows.checksum"
"""The key of the checksum among the texts of a file."""
_LONGEST_HEADER = 100_000_000  # bytes; the library writes longer ones, and does not read them
_ABANDONED = 3600  # seconds after which nobody writes to a temporary file any more
_INDEX = "index.json"


def require_path(argument: str, path: object) -> Path:
    """Converts a path or text to a `Path`; refuses an empty one, which would mean the current folder.

    Args:
        argument: what the path is called in messages.
        path: the path.

    Raises:
        ArrowTypeError: it is neither.
        ArrowValueError: no file can have that name.

    >>> require_path("save(model, path): path", "model.weights").name
    'model.weights'
    """
    if not isinstance(path, (str, os.PathLike)):
        shown = repr(path) if path is None or isinstance(path, (int, float)) else ""
        raise ArrowTypeError(
            f"{argument} must be a path, not {shown or f'a value of the type {type(path).__name__}'}"
        )
    try:
        possible = os.fspath(path) and b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:  # half of a surrogate pair
        possible = False
    if not possible:
        raise ArrowValueError(f"{argument} names no file: {os.fspath(path)!r}")
    return Path(path)


# ------------------------------------------------------------------------------------------ any content


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A context that gives a file to write to, which stands at `path` once the context has ended well.

    A link is written through. The new file has the mode of the one that it replaces; without one, that which
    the umask leaves. What processes left that were killed while they wrote the same file is removed.

    Raises:
        OSError: there is no such folder, the file cannot be written, or `path` is a folder, a device, a pipe
            or a socket; what stood at `path` is as it was.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "notes") as file:
    ...         _ = file.write(b"new")
    ...     (Path(folder) / "notes").read_bytes()
    b'new'
    """
    target, mode = _target(path)
    temporary = _beside(target)
    try:
        with _naming(path), open(temporary, "xb") as file:
            if mode is not None:
                with suppress(OSError):  # a file system without modes
                    os.chmod(temporary, mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
        with _naming(path):
            os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
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
    target, _ = _target(path)
    with _naming(path):
        temporary = _beside(target)
        temporary.touch(exist_ok=False)
        temporary.unlink()


def previous(path: Path, number: int) -> Path:
    """Where `keep_previous` keeps a file that has been replaced `number` times since.

    >>> previous(Path("run.state"), 2).name
    'run.state.2'
    """
    target = Path(os.path.realpath(path))
    return target.with_name(f"{target.name}.{number}")


def keep_previous(path: Path, count: int) -> None:
    """Keeps a file that is about to be replaced as `PATH.1`, the one before it as `PATH.2`, and so on.

    At every moment the file is still at `path`, and each one that is kept is whole. Replace it by
    `replacing`: what is kept may be the file itself under a second name, and writing would change both.

    Args:
        path: the file; nothing is done if it is not there.
        count: how many are kept; the oldest goes.

    Raises:
        OSError: the folder cannot be written, or the disk is full.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "notes")
    ...     for text in ("one", "two", "three"):
    ...         keep_previous(path, 1)
    ...         with replacing(path) as file:
    ...             _ = file.write(text.encode())
    ...     sorted(os.listdir(folder)), previous(path, 1).read_text()
    (['notes', 'notes.1'], 'two')
    """
    target = Path(os.path.realpath(path))
    if count < 1 or not target.is_file():
        return
    for number in range(count - 1, 0, -1):
        with suppress(FileNotFoundError):
            os.replace(previous(path, number), previous(path, number + 1))
    kept = previous(path, 1)
    kept.unlink(missing_ok=True)
    try:
        os.link(target, kept)  # costs nothing: the new file will be another one
    except OSError:  # a file system without links
        with replacing(kept) as file:
            file.write(target.read_bytes())


def _target(path: Path) -> tuple[Path, int | None]:
    """Where the file stands in truth, behind links, and its mode if it is there."""
    target = Path(os.path.realpath(path))
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        if not target.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "no such folder", str(target.parent)) from None
        return target, None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "this is a folder, and a file is wanted", str(path))
    if not stat.S_ISREG(status.st_mode):
        words = "this is a device, a pipe or a socket, and only a file can be replaced"
        raise OSError(f"{words}: {str(path)!r}")
    return target, stat.S_IMODE(status.st_mode)


def _stem(target: Path) -> str:
    return f".{target.name[:50]}."  # names of files are short; a character may take four bytes


def _beside(target: Path) -> Path:
    """A new name in the folder of the target."""
    return target.with_name(f"{_stem(target)}{secrets.token_hex(8)}.tmp")


def _settle(target: Path) -> None:
    """Brings a rename to the disk, and removes what killed processes left that wrote the same target."""
    with suppress(OSError):  # Windows opens no folders
        descriptor = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    pattern = re.compile(re.escape(_stem(target)) + r"[0-9a-f]{16}\.tmp")
    for name in filter(pattern.fullmatch, os.listdir(target.parent)):
        left = target.with_name(name)
        with suppress(OSError):  # it has gone meanwhile, or belongs to someone else
            if time.time() - max(each.stat().st_mtime for each in (left, *left.glob("*"))) > _ABANDONED:
                shutil.rmtree(left) if left.is_dir() else left.unlink()


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Errors of the system name the path that the user gave, not the temporary file or nothing."""
    try:
        yield
    except OSError as error:
        if error.errno is None or (error.filename is not None and not str(error.filename).endswith(".tmp")):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


# ------------------------------------------------------------------------------- arrays with texts


@dataclass(frozen=True, slots=True)
class Entry:
    """An array of a file: its element type by NumPy's name (safetensors' if NumPy has none), its shape."""

    dtype: str
    shape: tuple[int, ...]

    @classmethod
    def of(cls, part: Any) -> Entry:
        """What the library says of an array."""
        dtype: str = part.get_dtype()
        kind = {"F": "float", "I": "int", "U": "uint"}.get(dtype[0])
        numpy = f"{kind}{dtype[1:]}" if kind and dtype[1:].isdigit() else dtype
        return cls("bool" if dtype == "BOOL" else numpy, tuple(part.get_shape()))


class ArrayFile:
    """A safetensors file that is open for reading.

    Attributes:
        path: the file.
        entries: the arrays by name; none has been read.
        texts: the texts of whoever wrote it, without the checksum.
        checksum: None if another program wrote it.
    """

    def __init__(self, path: Path, file: Any) -> None:
        self.path, self._file = path, file
        self.texts: dict[str, str] = dict(file.metadata() or {})
        self.checksum = self.texts.pop(CHECKSUM, None)
        parts = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118  no mapping
        self.entries = {name: Entry.of(part) for name, part in parts.items()}

    def arrays(self) -> dict[str, HostArray]:
        """Reads all arrays.

        Raises:
            ArrowValueError: something has changed since the file was written.
            TypeError: NumPy has no such elements; see `entries`.
        """
        arrays = {name: self._file.get_tensor(name) for name in self.entries}
        if self.checksum not in (None, _checksum(arrays, self.texts)):
            raise ArrowValueError(
                f"{self.path} is damaged: its checksum does not match; "
                "write the file again, or use another copy"
            )
        return arrays


@contextmanager
def open_arrays(path: Path) -> Iterator[ArrayFile]:
    """Opens a safetensors file; its arrays are not read yet.

    If another process replaces the file meanwhile, this one still reads the old file.

    Raises:
        ArrowValueError: it is no safetensors file, or was cut off.
        OSError: the file cannot be read.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):  # to open a pipe would wait for its writer
        raise OSError(f"this is not a file: {str(path)!r}")
    open(path, "rb").close()  # errors of the system in the system's words
    try:
        file: Any = safe_open(path, "numpy")
    except SafetensorError as error:
        raise ArrowValueError(f"{path} is not a whole safetensors file: {escaped(str(error), 300)}") from None
    with file:
        yield ArrayFile(path, file)


def read_arrays(path: Path) -> tuple[dict[str, HostArray], dict[str, str]]:
    """Reads all arrays and texts of a file; see `open_arrays`."""
    with open_arrays(path) as file:
        return file.arrays(), file.texts


def write_arrays(path: Path, arrays: Mapping[str, HostArray], texts: Mapping[str, str]) -> None:
    """Writes a safetensors file with a checksum, whole or not at all.

    Raises:
        ArrowValueError: texts that are not strings, or too long; an array whose element type safetensors does
            not have.
        OSError: the file cannot be written; a file that was at `path` is as it was.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_arrays(Path(folder) / "a", {"x": np.arange(2)}, {"by": "us"})
    ...     read_arrays(Path(folder) / "a")
    ({'x': array([0, 1])}, {'by': 'us'})
    """
    for key, value in texts.items():
        if not (isinstance(key, str) and isinstance(value, str)):
            raise ArrowValueError(f"metadata maps text to text; {key!r}: {value!r} is not")
    dense = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    try:
        content = safetensors.numpy.save(dense, {**texts, CHECKSUM: _checksum(dense, texts)})
    except UnicodeEncodeError:
        raise ArrowValueError(
            "metadata contains half of a surrogate pair, which UTF-8 cannot encode"
        ) from None
    except SafetensorError as error:
        raise ArrowValueError(f"{path} cannot be written: {error}") from None
    if (length := int.from_bytes(content[:8], "little")) > _LONGEST_HEADER:
        raise ArrowValueError(
            f"names and metadata take {length:,} bytes, and a safetensors file has room for "
            f"{_LONGEST_HEADER:,}"
        )
    with replacing(path) as file:
        file.write(content)


def _checksum(arrays: Mapping[str, HostArray], texts: Mapping[str, str]) -> str:
    """Covers everything but the order of the arrays, which other programs may change."""
    kinds = [(name, arrays[name].dtype.name, arrays[name].shape) for name in sorted(arrays)]
    checksum = hashlib.sha256(json.dumps([kinds, sorted(texts.items())]).encode("ascii"))
    for name in sorted(arrays):
        array = arrays[name]
        checksum.update(
            np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(-1).view(np.uint8).data
        )
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
    ...     columns, texts = map_columns(Path(folder, "numbers"))
    ...     columns["x"].tolist(), texts
    ([0, 1, 2, 0, 1], {'by': 'us'})
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
        self._close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def begin(self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...] = ()) -> None:
        """Begins a column, of rows of a shape; without this, its first piece does."""
        with _naming(self.path):
            self._files[name] = open(self._folder / f"{name}.npy", "w+b")  # noqa: SIM115  closed by `_close`
        self._heads[name] = np.dtype(dtype).newbyteorder("<"), (0, *shape)
        self._write_head(name)

    def add(self, name: str, rows: HostArray) -> None:
        """Appends rows to a column, as elements of the column's type."""
        if name not in self._files:
            self.begin(name, rows.dtype, rows.shape[1:])
        dtype, (count, *shape) = self._heads[name]
        assert list(rows.shape[1:]) == shape, name
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
            self._close()
            index = json.dumps({"columns": digests, "texts": dict(texts)})
            with replacing(self._folder / _INDEX) as file:
                file.write(f"{hashlib.sha256(index.encode()).hexdigest()}\n{index}".encode())
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

    def _close(self) -> None:
        for file in self._files.values():
            with suppress(OSError):  # a full disk does not take what is left in the buffer
                file.close()
        self._files.clear()


def read_texts(path: Path) -> dict[str, str]:
    """The texts of a folder of columns, and nothing else.

    Raises:
        ArrowValueError: it is no such folder, or its texts are damaged.
        OSError: the folder cannot be read.
    """
    texts: dict[str, str] = _index(path)["texts"]
    return texts


def map_columns(path: Path) -> tuple[dict[str, HostArray], dict[str, str]]:
    """The columns of a folder, as arrays that cannot be written to, and its texts.

    All bytes are read once, to compare their checksums; memory holds the pages that are looked at.

    Raises:
        ArrowValueError: it is no folder of columns, or is damaged; it says how.
        OSError: the folder cannot be read.
    """
    index, columns = _index(path), {}
    for name, digest in index["columns"].items():
        part = path / f"{name}.npy"
        if not part.is_file():
            raise ArrowValueError(f"{part} is missing")
        with open(part, "rb") as file:
            if _digest(file) != digest:
                raise ArrowValueError(f"{part} is damaged: its checksum does not match")
        # A slice of a `memmap` would run Python code.
        columns[name] = np.load(part, mmap_mode="r", allow_pickle=False).view(np.ndarray)
    return columns, index["texts"]


def _index(path: Path) -> dict[str, Any]:
    if not (path / _INDEX).is_file():
        raise ArrowValueError(f"{path} is no folder of columns")
    digest, _, text = (path / _INDEX).read_bytes().partition(b"\n")
    if hashlib.sha256(text).hexdigest().encode() != digest:
        raise ArrowValueError(f"{path / _INDEX} is damaged: its checksum does not match")
    index: dict[str, Any] = json.loads(text)
    return index


def _digest(file: IO[bytes]) -> str:
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
