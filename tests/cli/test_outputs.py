"""What commands may write over, and that they ask before a run or a model would be lost."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from arrows import cli
from arrows.cli.fit import command as fit_command


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def refused(capsys: Any, folder: Path, command: list[object], *words: str) -> None:
    """A command ends with status 2, says why, and changes no file."""
    before = contents(folder)
    capsys.readouterr()
    assert cli.main(list(map(str, command))) == 2
    err = " ".join(capsys.readouterr().err.split())
    for word in words:
        assert re.search(word, err), (word, err)
    assert contents(folder) == before


def test_fit_asks_before_it_replaces_what_it_or_its_user_wrote(tmp_path, capsys):
    path = tmp_path / "x.csv"
    path.write_text("a,y\n" + "".join(f"{n},{n % 2}\n" for n in range(60)), encoding="utf-8")
    command = ["fit", path, "--label", "y", "--epochs", 1, "--width", 2]
    assert cli.main(list(map(str, command))) == 0
    folder = tmp_path / "x.fit"
    refused(
        capsys, folder, command, "model.safetensors.state is the state of a run", "another --output keeps it"
    )
    block = folder / "block.py"
    block.write_text("# edited", encoding="utf-8")
    assert cli.main(list(map(str, [*command, "--resume"]))) == 0
    assert block.read_text(encoding="utf-8") == "# edited"
    for name in contents(folder):
        if name != "block.py":
            (folder / name).unlink()
    refused(capsys, folder, command, r"block\.py is a file of 8 bytes")
    assert cli.main(list(map(str, [*command, "--overwrite"]))) == 0


def test_fit_leaves_nothing_in_the_way_of_its_next_run(tmp_path, capsys, monkeypatch):
    path, folder = tmp_path / "x.csv", tmp_path / "x.fit"
    path.write_text("a,y\n" + "".join(f"{n},{n % 2}\n" for n in range(60)), encoding="utf-8")
    command = [str(each) for each in ["fit", path, "--label", "y", "--epochs", 1, "--width", 2]]

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:  # before its first state is saved
        patch.setattr(fit_command, "train_best", killed)
        assert cli.main(command) == 130
    assert not contents(folder)
    assert cli.main(command) == 0


def test_after_folds_no_run_goes_on_from_the_state_that_they_replaced(tmp_path, capsys):
    path, folder = tmp_path / "x.csv", tmp_path / "x.fit"
    path.write_text("a,y\n" + "".join(f"{n},{n % 2}\n" for n in range(60)), encoding="utf-8")
    command = [str(each) for each in ["fit", path, "--label", "y", "--epochs", 2, "--width", 2]]
    assert cli.main(command) == 0
    refused(capsys, folder, [*command, "--folds", "2"], "is the state of a run")
    assert cli.main([*command, "--folds", "2", "--overwrite"]) == 0
    assert contents(folder).keys() == {"model.safetensors", "block.py", "history.json", "report.html"}
    refused(capsys, folder, [*command, "--resume"], "model.safetensors is a trained model")
