"""Files that are written whole or not at all.

A new file is written beside the old one, flushed to the disk and renamed, so that at every moment the path is
either the old file or the whole new one. A process holds a lock on its temporary file while it writes.  A
temporary file without a lock is therefore the leftover of a process that was killed, and is removed.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from arrows.typesys import ArrowTypeError, ArrowValueError

if sys.platform != "win32":
    import fcntl

_TRIES = 100
_LONGEST = 200  # bytes of a name that its temporary file takes up; file systems allow 255 in all


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
    if not os.fspath(path) or "\0" in str(path):
        raise ArrowValueError(f"{argument} names no file: {os.fspath(path)!r}")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:  # half of a surrogate pair
        raise ArrowValueError(f"{argument} names no file: {os.fspath(path)!r}") from None
    return Path(path)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A context that gives a file to write to, which stands at `path` once the context has ended well.

    A link is written through. The new file has the mode of the one that it replaces; without one, that which
    the umask leaves. Leftovers of dead processes that wrote the same file are removed.

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
    with naming(path):
        file, temporary = _temporary(target, 0o666 if mode is None else mode)
    try:
        with naming(path), file:
            if mode is not None:  # the umask has cut it; a file system without modes may refuse
                with contextlib.suppress(OSError):
                    os.chmod(temporary, mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
            if os.name == "posix":  # while the lock is held; Windows renames closed files alone
                os.replace(temporary, target)
        if os.name != "posix":
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _flush_folder(target.parent)
    _remove_leftovers(target)


def require_replaceable(path: Path) -> None:
    """Refuses a path that `replacing` could not write to: better known now than after an hour's work.

    It makes the temporary file and removes it again, with the leftovers of dead processes.

    Raises:
        OSError: as `replacing`.

    >>> require_replaceable(Path("/nowhere/file"))
    Traceback (most recent call last):
    ...
    FileNotFoundError: [Errno 2] no such folder: '/nowhere'
    """
    target, _ = _target(path)
    with naming(path):
        file, temporary = _temporary(target, 0o666)
        file.close()
        temporary.unlink(missing_ok=True)  # without its lock, another process may take it for a leftover
    _remove_leftovers(target)


def previous(path: Path, number: int) -> Path:
    """Where `keep_previous` keeps a file that has been replaced `number` times since.

    >>> previous(Path("run.state"), 2).name
    'run.state.2'
    """
    target = Path(os.path.realpath(path))
    return target.with_name(f"{target.name}.{number}")


def keep_previous(path: Path, count: int) -> None:
    """Keeps a file that is about to be replaced as `PATH.1`, the one before it as `PATH.2`, and so on.

    At every moment the file is still at `path`, and each one that is kept is whole.  Replace it by
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
        with contextlib.suppress(FileNotFoundError):
            os.replace(previous(path, number), previous(path, number + 1))
    copy = target.with_name(f".{_stem(target)}.{secrets.token_hex(4)}.tmp")
    try:
        try:
            os.link(target, copy)  # costs nothing: the new file will be another one
        except OSError:  # a file system without links
            shutil.copy2(target, copy)
        os.replace(copy, previous(path, 1))
    except BaseException:
        with contextlib.suppress(OSError):
            copy.unlink()
        raise


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


def _temporary(target: Path, mode: int) -> tuple[BinaryIO, Path]:
    """A new file beside the target, locked."""
    for _ in range(_TRIES):
        temporary = target.with_name(f".{_stem(target)}.{secrets.token_hex(4)}.tmp")
        try:
            descriptor = os.open(
                temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode
            )
        except FileExistsError:
            continue
        file = os.fdopen(descriptor, "wb")
        # Whoever removes leftovers may have seen the file before it was locked, and taken it away.
        if _locked(descriptor) is not False and os.fstat(descriptor).st_nlink:
            return file, temporary
        file.close()
    raise FileExistsError(errno.EEXIST, "no name is free for a temporary file", str(target.parent))


def _remove_leftovers(target: Path) -> None:
    """Removes the temporary files of processes that were killed while they wrote `target`."""
    pattern = re.compile(re.escape(f".{_stem(target)}.") + r"[0-9a-f]{8}\.tmp")
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        for leftover in [entry.path for entry in entries if pattern.fullmatch(entry.name)]:
            with contextlib.suppress(OSError):  # it has gone meanwhile, or belongs to someone else
                _remove_if_dead(leftover)


def _remove_if_dead(leftover: str) -> None:
    if sys.platform == "win32":  # which removes no file that is open
        os.unlink(leftover)
        return
    descriptor = os.open(leftover, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if _locked(descriptor):
            os.unlink(leftover)
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool | None:
    """Locks a file: whether that went well; None where there are no locks."""
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _stem(target: Path) -> str:
    name = os.fsencode(target.name)
    return target.name if len(name) <= _LONGEST else hashlib.sha256(name).hexdigest()


def _flush_folder(folder: Path) -> None:
    """Brings the rename itself to the disk, where folders can be opened."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Errors of the system name the path that the user gave, not the temporary file or nothing."""
    try:
        yield
    except OSError as error:
        if error.errno is None or (error.filename is not None and not str(error.filename).endswith(".tmp")):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
