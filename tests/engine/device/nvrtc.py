"""Compiles kernels for GPUs by NVRTC of the package nvidia-cuda-nvrtc-cu12, which needs no GPU."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.util import find_spec
from pathlib import Path


@cache
def _library() -> ctypes.CDLL | None:
    try:
        package = find_spec("nvidia.cuda_nvrtc")
    except ModuleNotFoundError:
        return None
    folders = [] if package is None else package.submodule_search_locations or []
    found = [path for folder in folders for path in sorted(Path(folder).glob("lib/libnvrtc.so*"))]
    return ctypes.CDLL(str(found[0])) if found else None


def is_there() -> bool:
    """Whether NVRTC is installed."""
    return _library() is not None


def compile_kernels(text: str, architecture: str) -> bytes:
    """The machine code of a unit for an architecture, such as ``sm_90``.

    Raises:
        RuntimeError: NVRTC refuses the text; the message has what it says.
    """
    library = _library()
    assert library is not None
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None)
    # The last is CuPy's, which gives it to all that it compiles.
    flags = [f"--gpu-architecture={architecture}", "--std=c++17", "--disable-warnings", "-ftz=true"]
    options = (ctypes.c_char_p * len(flags))(*(flag.encode() for flag in flags))
    try:
        if library.nvrtcCompileProgram(program, len(flags), options):
            library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            library.nvrtcGetProgramLog(program, log)
            raise RuntimeError(f"NVRTC refuses the text: {log.value.decode()[:2000]}")
        library.nvrtcGetCUBINSize(program, ctypes.byref(size))
        code = ctypes.create_string_buffer(size.value)
        library.nvrtcGetCUBIN(program, code)
        return code.raw
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))
