"""Machine code of fused chains and of kernels for the host, kept on disk, which never stops a program.

numba has a cache of its own, but trusts its files: a truncated file breaks every later run, and a flipped bit
of machine code is run. Here each file begins with a hash of its key and its content. A file that does not
match its hash is compiled anew and replaced. A file that cannot be written is skipped with one warning.

numba writes the content with pickle, and a pickle can run anything when it is loaded. So the folder is used
only if it belongs to the user alone, as `~/.ssh` does.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import stat
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

HASH = 32  # bytes of a SHA-256


def folder() -> Path:
    """Where compiled chains are kept: ``ARROWS_CACHE``, else ``arrows`` in the user's folder for caches.

    Raises:
        RuntimeError: the user has no home.
    """
    own = os.environ.get("ARROWS_CACHE")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "arrows"


class CodeCache:
    """Stores the machine code of one function; has the interface of `numba.core.caching`.

    Args:
        source: everything that the function is compiled from; each source has files of its own.
    """

    cache_path = ""  # which numba shows in its statistics

    def __init__(self, source: str) -> None:
        self.source = source

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Loads the function compiled for a signature; None if there is none that can be used."""
        target.refresh()
        code = load(self._key(signature, target.codegen()))
        if code is None:
            return None
        from numba.core import compiler

        result: Any = compiler.CompileResult
        try:
            return result._rebuild(target, *pickle.loads(code))
        except Exception:  # noqa: BLE001 - another build of numba may raise anything; recompile
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Writes a compiled function to disk; warns if the folder refuses it."""
        from numba.core import serialize

        pickling: Any = serialize
        if compiled.library.has_dynamic_globals:  # it holds addresses that only this process has
            return
        try:
            save(self._key(signature, compiled.codegen), pickling.dumps(compiled._reduce()))
        except (OSError, RuntimeError) as error:
            _warn(str(error))

    def _key(self, signature: Any, codegen: Any) -> bytes:
        """Everything that the machine code depends on: source, types, processor and versions."""
        import llvmlite
        import numba

        versions = (sys.version, numba.__version__, llvmlite.__version__)
        return repr((self.source, signature, codegen.magic_tuple(), versions)).encode()


def load(key: bytes) -> bytes | None:
    """The machine code that was kept under a key; None if there is none that can be used."""
    try:
        content = (_private_folder() / _name(key)).read_bytes()
    except (OSError, RuntimeError):  # there is no file; if the folder cannot be used, saving warns
        return None
    code = content[HASH:]
    return code if content[:HASH] == _hash(key, code) else None


def save(key: bytes, code: bytes) -> None:
    """Keeps machine code under a key, which says everything that it depends on.

    Raises:
        OSError: it cannot be written.
        RuntimeError: the user has no home.
    """
    _write(_private_folder() / _name(key), _hash(key, code) + code)


def _hash(key: bytes, payload: bytes) -> bytes:
    return hashlib.sha256(hashlib.sha256(key).digest() + payload).digest()


def _name(key: bytes) -> str:
    return f"{hashlib.sha256(key).hexdigest()[:32]}.code"


def _private_folder() -> Path:
    """Returns the folder and creates it if it is missing.

    Raises:
        OSError: it cannot be created, or others have access to it.
    """
    where = folder()
    where.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name != "posix":
        return where
    status = where.stat()
    if status.st_uid != os.geteuid():
        raise PermissionError(f"the folder {where} is another user's")
    if stat.S_IMODE(status.st_mode) & 0o077:
        # They may have put a file there, so that to close the folder now would not do.
        raise PermissionError(f"others have access to the folder {where}")
    return where


def _write(path: Path, content: bytes) -> None:
    """Writes a file whole or not at all, since other processes may read or write the same file.

    Raises:
        OSError: it cannot be written; no part of it remains.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with open(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)


@cache
def _warn(reason: str) -> None:
    """Warns, once a process for each reason."""
    warnings.warn(
        f"compiled code is not kept: {reason}. Every start compiles it anew; the environment "
        "variable ARROWS_CACHE names another folder.",
        RuntimeWarning,
        stacklevel=2,
    )
