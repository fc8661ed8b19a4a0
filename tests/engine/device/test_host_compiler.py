"""Libraries in C are compiled once, and again where what is kept of them cannot be used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from arrows.testing import host_kernels
from tests.marks import needs_compiler

pytestmark = needs_compiler
SOURCE = "void count(long long* a) { for (int i = 0; i < 4; ++i) a[i] = i * FACTOR; }"


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources that the compiler is called with; the folder is new."""
    sources: list[str] = []
    compile_now = host_kernels._compile

    def watched(compiler: str, source: str, flags: tuple[str, ...]) -> bytes:
        sources.append(source)
        return compile_now(compiler, source, flags)

    monkeypatch.setattr(host_kernels, "_compile", watched)
    monkeypatch.setenv("ARROWS_CACHE", str(tmp_path / "kernels"))
    return sources


def counted(factor: int) -> list[int]:
    numbers = np.zeros(4, np.int64)
    host_kernels.HostLibrary(SOURCE, [f"FACTOR={factor}"]).function("count")(numbers.ctypes.data)
    result: list[int] = numbers.tolist()
    return result


def test_a_source_is_compiled_once_for_each_set_of_flags(compiled: list[str]) -> None:
    assert counted(2) == counted(2) == [0, 2, 4, 6]
    assert len(compiled) == 1
    assert counted(3) == [0, 3, 6, 9]
    assert len(compiled) == 2


def test_a_spoilt_file_is_compiled_anew(compiled: list[str], tmp_path: Path) -> None:
    counted(2)
    [path] = (tmp_path / "kernels").iterdir()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert counted(2) == [0, 2, 4, 6]
    assert len(compiled) == 2
    assert counted(2) == [0, 2, 4, 6]
    assert len(compiled) == 2


def test_without_a_folder_all_works(
    compiled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a file").write_text("", encoding="utf-8")
    monkeypatch.setenv("ARROWS_CACHE", str(tmp_path / "a file"))
    assert counted(2) == counted(2) == [0, 2, 4, 6]
    assert len(compiled) == 2


def test_a_refused_source_is_not_kept(compiled: list[str], tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(RuntimeError, match="refuses the source"):
            host_kernels.HostLibrary("this is not C")
    assert len(compiled) == 2
    assert not list((tmp_path / "kernels").iterdir())


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_kernels, "host_compiler", lambda: None)
    with pytest.raises(RuntimeError, match="the host has no C compiler"):
        host_kernels.HostLibrary(SOURCE)
