"""Files that are written whole or not at all, files of strangers and damaged ones, and mapped columns."""

from __future__ import annotations

import os
import resource
import stat
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from arrows import storage
from arrows.storage import (
    CHECKSUM,
    ColumnWriter,
    map_columns,
    previous,
    read_arrays,
    read_texts,
    replacing,
    require_replaceable,
    write_arrays,
)
from arrows.typesys import ArrowValueError

posix = pytest.mark.skipif(os.name != "posix", reason="modes, links and special files of POSIX")


def write(path: Path, content: bytes = b"new", keep: int = 0) -> None:
    with replacing(path, keep) as file:
        file.write(content)


def full(*_: object) -> None:
    raise OSError(28, "No space left on device")


# -------------------------------------------------------------------------------------------- any content


@posix
@pytest.mark.parametrize("before", [None, 0o600, 0o664, 0o444])
def test_a_file_has_the_mode_of_the_one_before_or_what_the_umask_leaves(before, tmp_path):
    mask = os.umask(0o027)
    try:
        if before is not None:
            (tmp_path / "m").write_bytes(b"old")
            (tmp_path / "m").chmod(before)
        write(tmp_path / "m")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "m").stat().st_mode) == (before or 0o640)
    assert (tmp_path / "m").read_bytes() == b"new"


@posix
def test_links_are_written_through(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "near").symlink_to("far/m")
    (tmp_path / "link").symlink_to(tmp_path / "near")
    for content in (b"first", b"second"):
        require_replaceable(tmp_path / "link")
        write(tmp_path / "link", content)
        assert (tmp_path / "link").is_symlink() and (tmp_path / "near").is_symlink()
        assert (tmp_path / "far" / "m").read_bytes() == content and os.listdir(tmp_path / "far") == ["m"]


def special(kind: str, folder: Path) -> Path:
    path = folder / kind
    if kind == "device":
        return Path("/dev/null")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link to nowhere":
        path.symlink_to(folder / "nowhere" / "m")
    elif kind == "folder":
        path.mkdir()
    return path


KINDS = {
    "device": "a device, a pipe or a socket",
    "pipe": "a device, a pipe or a socket",
    "link to nowhere": "no such folder",
    "folder": "this is a folder",
}


@posix
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_is_refused_and_stays(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = special(kind, tmp_path)
    before, listed = os.lstat(path), sorted(os.listdir(tmp_path))
    for use in (write, require_replaceable):
        with pytest.raises(OSError, match=KINDS[kind]):
            use(path)
    for read in (read_arrays, read_texts):
        with pytest.raises(OSError):  # without waiting for the writer of a pipe
            read(path)
    after = os.lstat(path)
    assert (after.st_mode, after.st_ino) == (before.st_mode, before.st_ino)
    assert sorted(os.listdir(tmp_path)) == listed


@pytest.mark.parametrize("broken", ["fsync", "replace", "the writer", "an interrupt"])
def test_a_write_that_fails_leaves_the_old_file(broken, tmp_path, monkeypatch):
    (tmp_path / "m").write_bytes(b"old")
    if broken in ("fsync", "replace"):
        monkeypatch.setattr(os, broken, full)

    def written() -> None:
        with replacing(tmp_path / "m") as file:
            file.write(b"half")
            if broken == "an interrupt":
                raise KeyboardInterrupt
            full()

    kind, words = (
        (KeyboardInterrupt, None) if broken == "an interrupt" else (OSError, r"No space left on dev.*/m'")
    )
    with pytest.raises(kind, match=words):
        written()
    assert (tmp_path / "m").read_bytes() == b"old" and os.listdir(tmp_path) == ["m"]


def test_so_many_files_before_are_kept_and_none_is_lost_where_a_write_fails(tmp_path, monkeypatch):
    (tmp_path / "far").mkdir()
    path = tmp_path / "link"
    path.symlink_to("far/m")
    for number in range(5):
        write(path, b"%d" % number, keep=2)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write(path, b"5", keep=2)
    assert path.is_symlink() and previous(path, 2) == tmp_path / "far" / "m.2"
    assert [file.read_bytes() for file in sorted((tmp_path / "far").iterdir())] == [b"4", b"3", b"2"]


def test_what_killed_processes_left_goes_when_nobody_can_be_writing_it(tmp_path):
    old, young = ".m.0123456789abcdef.tmp", ".m.fedcba9876543210.tmp"
    others = [".m.state.0123456789abcdef.tmp", ".m.tmp", ".n.0123456789abcdef.tmp", ".m.words.tmp"]
    for name in (old, young, *others):
        (tmp_path / name).write_bytes(b"half")
        os.utime(tmp_path / name, (0, time.time() - (60 if name == young else 7200)))
    for folder, age in ((".m.aaaaaaaaaaaaaaaa.tmp", 7200), (".m.bbbbbbbbbbbbbbbb.tmp", 60)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.npy").write_bytes(b"half")
        os.utime(tmp_path / folder / "x.npy", (0, time.time() - age))
        os.utime(tmp_path / folder, (0, 0))
    write(tmp_path / "m")
    assert sorted(os.listdir(tmp_path)) == sorted([*others, young, ".m.bbbbbbbbbbbbbbbb.tmp", "m"])


# ---------------------------------------------------------------------------------- arrays with texts

ARRAYS = {
    name: np.arange(6).reshape(2, 3).astype(name) for name in ("float64", "float16", "int8", "uint64", "bool")
}
ARRAYS |= {"none": np.zeros((0, 3), "float32"), "scalar": np.float32(2).reshape(()), "é\n": np.ones(1)}
ARRAYS |= {"columns": np.arange(6.0).reshape(2, 3).T}


def same(arrays: Any) -> bool:
    return arrays.keys() == ARRAYS.keys() and all(
        np.array_equal(array, ARRAYS[name]) and array.dtype == ARRAYS[name].dtype.newbyteorder("=")
        for name, array in arrays.items()
    )


def test_other_programs_read_our_files_and_we_theirs(tmp_path):
    texts = {"by": "us ∆", "\x1b": "\n"}
    write_arrays(tmp_path / "ours", ARRAYS, texts)
    theirs, sealed = load_file(tmp_path / "ours"), read_texts(tmp_path / "ours")
    save_file(theirs, tmp_path / "copy", sealed)  # in another order: the checksum holds
    save_file(theirs, tmp_path / "theirs", texts)
    for path in ("ours", "copy", "theirs"):
        arrays, found = read_arrays(tmp_path / path)
        assert same(arrays) and found.items() >= texts.items() and arrays["bool"].flags.writeable
        assert found.keys() - texts.keys() == ({CHECKSUM} if path != "theirs" else set())
    save_file(theirs | {"scalar": np.zeros((), "float32")}, tmp_path / "edited", sealed)
    with pytest.raises(ArrowValueError, match="edited is damaged: its checksum does not match"):
        read_arrays(tmp_path / "edited")


def test_no_flipped_bit_and_no_cut_gives_other_numbers(tmp_path):
    path = tmp_path / "m"
    write_arrays(path, ARRAYS, {"by": "us"})
    whole, unseen = path.read_bytes(), 0
    for bit in range(0, 8 * len(whole), 11):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        try:
            arrays, texts = read_arrays(path)
        except ArrowValueError as error:
            assert str(error).startswith(str(path)) and str(error).isprintable()  # noqa: PT017
        else:  # the key of the checksum alone: to us, another program has written the file
            unseen += 1
            assert same(arrays) and texts["by"] == "us" and len(texts) == 2
    assert unseen <= 8 * len(CHECKSUM) // 11 + 1
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(ArrowValueError, match="is no safetensors file to read"):
            read_arrays(path)


@pytest.mark.parametrize(
    "header",
    [
        b"[" * 200_000,
        b'{"w":{"dtype":"F32","shape":[1000000000000],"data_offsets":[0,4000000000000]}}',
        b"[]",
    ],
)
def test_the_library_refuses_headers_that_lie(header, tmp_path):
    """At no cost in memory: the reason for which this package has no reader of its own."""
    (tmp_path / "m").write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ArrowValueError, match="m is no safetensors file to read"):
        read_arrays(tmp_path / "m")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 20_000


def test_what_could_not_be_read_again_is_not_written(tmp_path, monkeypatch):
    for arrays, texts, words in (
        ({"c": np.zeros(1, complex)}, {}, "complex128"),
        ({}, {"x": "\ud800"}, "surrogates not allowed"),
    ):
        with pytest.raises(ArrowValueError, match=words):
            write_arrays(tmp_path / "m", arrays, texts)  # type: ignore[arg-type]
    monkeypatch.setattr(storage, "_LONGEST_HEADER", 5000)
    with pytest.raises(ArrowValueError, match="has room for 5,000"):
        write_arrays(tmp_path / "m", {}, {"x": "x" * 5000})
    assert not os.listdir(tmp_path)


# -------------------------------------------------------------------------------- columns that are mapped


def columns(path: Path) -> Path:
    with ColumnWriter(path) as writer:
        writer.begin("empty", np.float64, (2,))
        for piece in ([1, 2], [], [3]):
            writer.add("words", np.array(piece, np.int16))
        writer.add("wide", np.arange(6, dtype=np.int64).reshape(2, 3)[:, ::-1])
        for _ in range(200):  # the header has room for the number of rows
            writer.add("flags", np.ones(1000, bool))
        writer.finish({"by": "é"})
    return path


def test_what_is_written_is_mapped(tmp_path):
    path = columns(tmp_path / "set")
    found = map_columns(path)
    assert found["flags"].shape == (200_000,) and found.pop("flags").all()
    assert {name: column.tolist() for name, column in found.items()} == {
        "empty": [],
        "words": [1, 2, 3],
        "wide": [[2, 1, 0], [5, 4, 3]],
    }
    assert found["empty"].shape == (0, 2) and found["words"].dtype == np.int16
    assert all(type(column) is np.ndarray and not column.flags.writeable for column in found.values())
    assert read_texts(path)["by"] == "é" and os.listdir(tmp_path) == ["set"]
    assert np.load(path / "words.npy").tolist() == [1, 2, 3]


def test_damage_to_columns_is_found(tmp_path):
    path = columns(tmp_path / "set")
    for part in path.iterdir():
        whole = part.read_bytes()
        flipped = [
            whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
            for place in range(0, len(whole), 97)
        ]
        for content in [*flipped[:6], whole[:-1], whole + b"\0", b"", b"hello"]:
            part.write_bytes(content)
            flips_the_key = (
                CHECKSUM.encode() in whole and content in flipped and CHECKSUM.encode() not in content
            )
            with nullcontext() if flips_the_key else pytest.raises(ArrowValueError, match=str(path)):
                map_columns(path)
        part.unlink()
        with pytest.raises(FileNotFoundError, match=str(path)):
            map_columns(path)
        part.write_bytes(whole)


def test_columns_that_fail_leave_nothing_and_the_first_of_two_writers_wins(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=r"No space left on device: '.*/set'"):
            columns(tmp_path / "set")
    assert not os.listdir(tmp_path)
    with ColumnWriter(tmp_path / "set") as slow:
        slow.add("x", np.arange(3))
        columns(tmp_path / "set")
        slow.finish({})
    assert "words" in map_columns(tmp_path / "set") and os.listdir(tmp_path) == ["set"]
    (tmp_path / "file").write_bytes(b"the user's")
    with pytest.raises(OSError, match=r"file'$"):
        columns(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"the user's"
