"""CuPy's own signatures, recorded for machines without CuPy, and calls checked against them.

``python -m tests.engine.device.cupy_signatures`` writes the record of the version of CuPy that is installed,
which needs no GPU; ``make test-cuda`` does that with both and fails if a record has changed.
"""

from __future__ import annotations

import ast
import ctypes
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

VERSIONS = (13, 14)
RECORDS = Path(__file__).parent / "cupy"
# What `arrows.engine.cuda.device` uses beside the array module and arrays.
CUDA = [
    "RawKernel.kernel",
    "RawModule",
    "RawModule.get_function",
    "asnumpy",
    "cuda.Device",
    "cuda.Device.use",
    "cuda.MemoryPointer",
    "cuda.MemoryPointer.ptr",
    "cuda.MemoryPool.free_all_blocks",
    "cuda.PinnedMemoryPool.free_all_blocks",
    "cuda.Stream.null.ptr",
    "cuda.Stream.null.synchronize",
    "cuda.UnownedMemory",
    "cuda.alloc_pinned_memory",
    "cuda.cublas.CUBLAS_OP_N",
    "cuda.cublas.CUBLAS_OP_T",
    "cuda.cublas.gemmEx",
    "cuda.device.get_cublas_handle",
    "cuda.driver.launchKernel",
    "cuda.function.Function.ptr",
    "cuda.get_current_stream",
    "cuda.runtime.CUDARuntimeError",
    "cuda.runtime.CUDA_R_32F",
    "cuda.runtime.CUDA_R_64F",
    "cuda.runtime.getDeviceCount",
    "from_dlpack",
    "get_default_memory_pool",
    "get_default_pinned_memory_pool",
    "ndarray",
    "ndarray.__dlpack__",
    "ndarray.__dlpack_device__",
    "ndarray.data",
    "ndarray.device",
    "ndarray.fill",
]


def array_names() -> list[str]:
    """The attributes of an array that arrows uses, as recorded; a new one is added to each record."""
    recorded = (name.removeprefix("ndarray.") for name in record(VERSIONS[-1]) if name.startswith("ndarray."))
    return sorted(name for name in recorded if f"ndarray.{name}" not in CUDA)


def module_names() -> list[str]:
    """The functions of an array module that arrows calls, as recorded; a new one is added to each record."""
    return sorted(name for name in record(VERSIONS[-1]) if "." not in name and name not in CUDA)


def names() -> list[str]:
    """Everything of CuPy that arrows uses, by its path in the module `cupy`."""
    return sorted({*CUDA, *module_names(), *(f"ndarray.{name}" for name in array_names())})


# ------------------------------------------------------------------------------------------- recording


def preload_libraries() -> None:
    """Loads what the package nvidia-cublas-cu12 has: CuPy 13 looks elsewhere."""
    try:
        import nvidia
    except ImportError:
        return
    for folder in map(Path, nvidia.__path__):
        for name in ("cublas/lib/libcublasLt", "cublas/lib/libcublas"):
            for library in sorted(folder.glob(f"{name}.so*")):
                ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)


def installed() -> dict[str, str | None]:
    """The signature of each name in the CuPy that is installed, as text; None where it is no function."""
    preload_libraries()
    import cupy

    return {name: _signature(cupy, name) for name in names()}


def installed_version() -> int | None:
    """The first number of the version of the CuPy that is installed; None where there is none."""
    return int(metadata.version("cupy-cuda12x").partition(".")[0]) if find_spec("cupy") else None


def _signature(module: object, path: str) -> str | None:
    target = module
    for name in path.split("."):
        target = getattr(target, name)
    if not callable(target) or isinstance(target, (int, str)):
        return None
    first = (target.__doc__ or "").lstrip().splitlines()[:1]
    if isinstance(target, type) and issubclass(target, BaseException):
        return None
    # Cython writes the signature of a function into the first line of its docstring, as NumPy's ufuncs do.
    line = first[0].replace("\\*", "*") if first else ""
    if re.match(r"[\w.]+\(", line):
        text = _canonical(line[line.index("(") :])
        return text.replace("(self, ", "(") if isinstance(target, type) else text
    return _canonical(str(inspect.signature(target)))


def _parts(text: str) -> Iterator[str]:
    """The parameters between the first parenthesis of a text and the one that closes it."""
    depth, part = 0, ""
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if depth == 0 or (depth == 1 and character == ","):
            yield part.strip()
            if depth == 0:
                return
            part = ""
        elif not (depth == 1 and character == "("):
            part += character


def _canonical(text: str) -> str:
    """Parameters without types, and with ``=...`` for a default: ``(a, axis=..., *, out=...)``."""
    parameters = []
    for part in filter(None, _parts(text)):
        declared, equals, _ = part.partition("=")
        declared = declared.partition(":")[0].strip()
        parameters.append(declared.split()[-1] + ("=..." if equals else ""))
    return f"({', '.join(parameters)})"


# ------------------------------------------------------------------------------------------- checking


@cache
def record(version: int) -> dict[str, str | None]:
    """What was recorded of a version of CuPy."""
    result: dict[str, str | None] = json.loads((RECORDS / f"{version}.json").read_text(encoding="utf-8"))
    return result


@cache
def signature(version: int, name: str) -> inspect.Signature:
    """The recorded signature of a function.

    Raises:
        KeyError: it was not recorded.
    """
    text = record(version)[name]
    assert text is not None, f"{name} is no function"
    scope: dict[str, Any] = {}
    exec(f"def function{text}: pass", scope)
    return inspect.signature(scope["function"])


def check_call(name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    """Refuses a call that a version of CuPy would refuse.

    Raises:
        TypeError: the arguments do not fit.
        KeyError: the function was not recorded.
    """
    for version in VERSIONS:
        try:
            signature(version, name).bind(*arguments, **keywords)
        except TypeError as error:
            raise TypeError(f"cupy.{name}{record(version)[name]} of version {version}: {error}") from None


def checked(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose every call is checked against the signatures that were recorded under a name."""

    for version in VERSIONS:
        signature(version, name)

    def call(*arguments: Any, **keywords: Any) -> Any:
        check_call(name, arguments, keywords)
        return function(*arguments, **keywords)

    return call


def module_calls(tree: ast.AST) -> Iterator[tuple[int, str, tuple[None, ...], dict[str, None]]]:
    """Calls of an array module in source: ``xp.name(...)``, with the line and what stands for arguments.

    Calls with ``*arguments`` or ``**keywords`` are left out.
    """
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner = ast.unparse(node.func.value)
        if owner != "xp" and not owner.endswith(".xp"):
            continue
        keywords = [keyword.arg for keyword in node.keywords]
        if None in keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            continue
        yield node.lineno, node.func.attr, (None,) * len(node.args), {str(name): None for name in keywords}


def main() -> None:
    path = RECORDS / f"{installed_version()}.json"
    path.write_text(json.dumps(installed(), indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
