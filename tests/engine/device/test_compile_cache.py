"""Machine code on disk: whatever befalls the folder, the numbers are right, and the next start is well."""

from __future__ import annotations

import os
import pickle
import random
import shutil
import stat
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arrows.engine.device import kernel

pytestmark = pytest.mark.skipif(not kernel.available(), reason="numba is not installed")
posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes")
not_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere"
)

SOURCE = "def chain(x, out):\n    for i in range(x.shape[0]):\n        out[i] = x[i] * F(3) - F(1)\n"
X = np.arange(4, dtype=np.float32)


@pytest.fixture(autouse=True)
def anew() -> Iterator[None]:
    """Each test warns anew; what other tests compile stays."""
    kernel._warn.cache_clear()
    yield
    kernel._warn.cache_clear()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder, named and not made yet."""
    where = tmp_path / "a cache" / "of chains"
    monkeypatch.setenv("ARROWS_CACHE", str(where))
    return where


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the code of `SOURCE`."""
    where = tmp_path_factory.mktemp("filled") / "chains"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARROWS_CACHE", str(where))
        assert start() == "compiled"
    return where


def start() -> str:
    """Does what a new process does: makes the function and calls it. Whether its code was there."""
    chain: Any = kernel.compiled.__wrapped__(SOURCE)
    out = np.empty_like(X)
    chain(X, out)
    assert out.tolist() == [-1, 2, 5, 8]
    hits, misses = (sum(count.values()) for count in (chain.stats.cache_hits, chain.stats.cache_misses))
    assert hits + misses == 1
    return "loaded" if hits else "compiled"


def only(where: Path) -> Path:
    (file,) = where.iterdir()
    return file


def test_a_folder_is_made_for_the_user_alone_and_code_is_found_again(place: Path) -> None:
    assert [start(), start()] == ["compiled", "loaded"]
    assert only(place).suffix == ".code"
    if os.name == "posix":
        assert stat.S_IMODE(place.stat().st_mode) == 0o700


def other_versions(content: bytes) -> bytes:
    return pickle.dumps("0.1") + pickle.dumps(("another numba", {}))


class Planted:
    """Runs when it is unpickled."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return warnings.warn, ("it was unpickled",)


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "another version": other_versions,
    "planted": lambda content: pickle.dumps(Planted()),
    "planted with a hash of its own": lambda content: (
        kernel._hash(b"", pickle.dumps(Planted())) + pickle.dumps(Planted())
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_not_used(damage: str, filled: Path, place: Path) -> None:
    """The cache is asked as numba asks it; a planted file would warn, and a warning is an error here."""
    ask = question(filled, place)
    file = only(place)
    content = file.read_bytes()
    assert ask() is not None
    file.write_bytes(DAMAGES[damage](content))
    assert ask() is None


def test_no_flipped_bit_and_no_lost_end_is_used(filled: Path, place: Path) -> None:
    ask = question(filled, place)
    file = only(place)
    content = file.read_bytes()
    places = random.Random(0)
    for _ in range(200):
        flipped = bytearray(content)
        flipped[places.randrange(len(content))] ^= 1 << places.randrange(8)
        file.write_bytes(flipped)
        assert ask() is None
        file.write_bytes(content[: places.randrange(len(content))])
        assert ask() is None
    file.write_bytes(content)
    assert ask() is not None


def test_code_of_another_function_is_not_used(filled: Path, place: Path) -> None:
    """A whole file under the name of another: its hash is of what it is for, too."""
    ask = question(filled, place)
    cache = kernel.CodeCache("another source")
    assert ask(cache) is None
    shutil.copytree(filled, place, dirs_exist_ok=True)
    signature, target = types()
    name = kernel._name(cache._key(signature, target.codegen()))
    shutil.copy(only(place), place / name)
    assert ask(cache) is None


def types() -> tuple[Any, Any]:
    """The types of the arguments of `SOURCE`, and numba's context of this processor."""
    import numba

    chain: Any = kernel.compiled.__wrapped__(SOURCE)
    return (numba.typeof(X), numba.typeof(X)), chain.targetctx


def question(filled: Path, place: Path) -> Callable[..., Any]:
    """A copy of the folder, and what asks it for the code as numba does."""
    shutil.copytree(filled, place)
    signature, target = types()
    chain: Any = kernel.compiled.__wrapped__(SOURCE)
    own = chain._cache
    return lambda cache=own: cache.load_overload(signature, target)


def refused(place: Path, words: str) -> None:
    """Two starts work without the cache, and the first warns once, of the folder."""
    with pytest.warns(RuntimeWarning, match="compiled code is not kept: ") as caught:
        assert [start(), start()] == ["compiled", "compiled"]
    (warning,) = caught
    assert str(place) in str(warning.message) and words in str(warning.message)


def test_a_full_disk(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left of what could not be written."""

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    refused(place, "No space left on device")
    assert not list(place.iterdir())


@posix
@not_root
@pytest.mark.parametrize("mode", [0o000, 0o500])
def test_a_folder_that_cannot_be_written(mode: int, place: Path) -> None:
    place.mkdir(parents=True)
    place.chmod(mode)
    try:
        refused(place, "Permission denied")
    finally:
        place.chmod(0o700)


@posix
@pytest.mark.parametrize("mode", [0o755, 0o720])
def test_a_folder_that_others_may_enter_is_not_used(mode: int, filled: Path, place: Path) -> None:
    shutil.copytree(filled, place)
    place.chmod(mode)
    refused(place, "others have access to the folder")
    assert stat.S_IMODE(place.stat().st_mode) == mode


@posix
def test_a_folder_of_another_user_is_not_used(
    filled: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(filled, place)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    refused(place, "another user's")


@posix
def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ARROWS_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def none() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", none)
    with pytest.warns(RuntimeWarning, match="compiled code is not kept: Could not determine home") as caught:
        assert [start(), start()] == ["compiled", "compiled"]
    assert len(caught) == 1
