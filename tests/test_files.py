"""Files that are written whole or not at all: links, devices, modes, leftovers, and writes that go wrong."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from arrows import files
from arrows.files import replacing, require_replaceable

posix = pytest.mark.skipif(os.name != "posix", reason="modes, locks and special files of POSIX")
PROGRAM = """
import sys, time
from pathlib import Path
from arrows.files import replacing
with replacing(Path(sys.argv[1])) as file:
    file.write(sys.argv[2].encode() * 1000)
    file.flush()
    print("writing", flush=True)
    sys.stdin.readline()
"""


def write(path: Path, content: bytes = b"new") -> None:
    with replacing(path) as file:
        file.write(content)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask():
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


@posix
@pytest.mark.parametrize(("mask", "expected"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_what_the_umask_leaves(mask, expected, umask, tmp_path):
    umask(mask)
    write(tmp_path / "m")
    assert mode(tmp_path / "m") == expected


@posix
@pytest.mark.parametrize("before", [0o600, 0o664, 0o666, 0o444])
def test_a_file_that_is_replaced_keeps_its_mode(before, umask, tmp_path):
    (tmp_path / "m").write_bytes(b"old")
    (tmp_path / "m").chmod(before)
    write(tmp_path / "m")
    assert mode(tmp_path / "m") == before and (tmp_path / "m").read_bytes() == b"new"


@posix
def test_links_are_written_through(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "m").write_bytes(b"old")
    (tmp_path / "near").symlink_to("far/m")
    (tmp_path / "link").symlink_to(tmp_path / "near")
    (tmp_path / "dangling").symlink_to("far/new")
    require_replaceable(tmp_path / "link")
    write(tmp_path / "link")
    write(tmp_path / "dangling", b"first")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "near").is_symlink()
    assert (tmp_path / "far" / "m").read_bytes() == b"new"
    assert (tmp_path / "dangling").is_symlink() and (tmp_path / "far" / "new").read_bytes() == b"first"
    assert sorted(os.listdir(tmp_path / "far")) == ["m", "new"]


def special(kind: str, folder: Path) -> Path:
    path = folder / kind
    if kind == "device":
        return Path("/dev/null")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(os.path.relpath(path))
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "link to a pipe":
        os.mkfifo(folder / "pipe")
        path.symlink_to("pipe")
    elif kind == "link to nowhere":
        path.symlink_to(folder / "nowhere" / "m")
    elif kind == "folder":
        path.mkdir()
    return path


KINDS = {
    "device": "a device, a pipe or a socket",
    "pipe": "a device, a pipe or a socket",
    "socket": "a device, a pipe or a socket",
    "link to a pipe": "a device, a pipe or a socket",
    "loop": "symbolic links",
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
    after = os.lstat(path)
    assert (after.st_mode, after.st_ino) == (before.st_mode, before.st_ino)
    assert sorted(os.listdir(tmp_path)) == listed


def test_here_and_nothing_are_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in (Path("."), Path(""), Path(".."), Path("/")):
        with pytest.raises(IsADirectoryError, match="this is a folder"):
            require_replaceable(path)


@posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_must_not_be_written_to_is_known_at_once(tmp_path):
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed").chmod(0o500)
    with pytest.raises(PermissionError, match=r"closed/m'$"):
        require_replaceable(tmp_path / "closed" / "m")


@pytest.mark.parametrize("name", ["m" * 255, "é" * 127, "a b\n[*]", "-m"])
def test_names_of_all_kinds(name, tmp_path):
    try:
        (tmp_path / name).write_bytes(b"old")
    except OSError:
        pytest.skip("this file system has no such names")
    write(tmp_path / name)
    assert (tmp_path / name).read_bytes() == b"new" and os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_names_it(broken, tmp_path, monkeypatch):
    (tmp_path / "m").write_bytes(b"old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, broken, fail)
    with pytest.raises(OSError, match=r"No space left on device: '.*/m'"):
        write(tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == b"old" and os.listdir(tmp_path) == ["m"]


def test_a_file_system_without_modes(tmp_path, monkeypatch):
    (tmp_path / "m").write_bytes(b"old")

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chmod", refuse)
    write(tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == b"new"


def test_what_the_writer_raises_leaves_the_old_file(tmp_path):
    (tmp_path / "m").write_bytes(b"old")

    def interrupted() -> None:
        with replacing(tmp_path / "m") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (tmp_path / "m").read_bytes() == b"old" and os.listdir(tmp_path) == ["m"]


def started(path: Path, content: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(path), content],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(files.__file__).parents[1],
    )
    assert process.stdout is not None and process.stdout.readline() == "writing\n"
    return process


@posix
def test_processes_that_write_one_file_leave_each_other_alone(tmp_path):
    path = tmp_path / "m"
    slow, killed = started(path, "s"), started(path, "k")
    assert len(os.listdir(tmp_path)) == 2
    write(path, b"quick")  # and removes leftovers, of which there are none yet
    require_replaceable(path)
    assert path.read_bytes() == b"quick" and len(os.listdir(tmp_path)) == 3
    killed.kill()
    killed.communicate(timeout=600)
    assert len(os.listdir(tmp_path)) == 3
    require_replaceable(path)
    assert len(os.listdir(tmp_path)) == 2  # what the dead one left has gone
    slow.communicate("\n", timeout=600)
    assert slow.returncode == 0
    assert path.read_bytes() == b"s" * 1000 and os.listdir(tmp_path) == ["m"]


def test_leftovers_of_other_files_are_not_ours(tmp_path):
    ours, others = ".m.0123abcd.tmp", [".m.state.0123abcd.tmp", ".m.tmp", ".n.0123abcd.tmp", ".m.word.tmp"]
    for name in (ours, *others):
        (tmp_path / name).write_bytes(b"half")
    write(tmp_path / "m")
    assert sorted(os.listdir(tmp_path)) == sorted([*others, "m"])


@posix
def test_a_temporary_file_that_another_process_takes_away_is_made_again(tmp_path, monkeypatch):
    """The one that removes leftovers may come between the making of a file and its lock."""
    lock, taken = files._locked, []

    def late(descriptor: int) -> bool | None:
        if not taken:
            taken.extend(tmp_path.glob(".m.*.tmp"))
            taken[0].unlink()
        return lock(descriptor)

    monkeypatch.setattr(files, "_locked", late)
    write(tmp_path / "m")
    assert taken and (tmp_path / "m").read_bytes() == b"new" and os.listdir(tmp_path) == ["m"]


@posix
def test_a_probe_whose_temporary_file_another_process_takes_away_says_nothing(tmp_path, monkeypatch):
    temporary = files._temporary

    def taken_once_it_is_unlocked(target, mode):
        file, path = temporary(target, mode)
        path.unlink()  # as another process does that removes leftovers
        return file, path

    monkeypatch.setattr(files, "_temporary", taken_once_it_is_unlocked)
    require_replaceable(tmp_path / "file")
    assert not [*tmp_path.iterdir()]
