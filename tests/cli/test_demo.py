"""The demonstration, with few trees: its output, and that it replaces no file."""

from __future__ import annotations

import os
from pathlib import Path

import arrows as ar
from tests.cli.kit import outcome

FEW = ("--examples", "60", "--epochs", "2")


def test_the_whole_demonstration(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("sentiment.safetensors").write_text("the model of ten hours")
    status, out, err = outcome(capsys, "demo", *FEW, "--save", "new", "(dull film)", "unheard_of")
    assert status == 0 and "epoch 1/2" in err
    for words in ("cell: (float32[64], ", "epoch 2: loss", "nodes fine 0.", "trees/s", "speed-up:", "new: "):
        assert words in out
    lines = out.splitlines()
    assert "(the grammar: negative)" in next(line for line in lines if "((not good) film)" in line)
    assert "(the grammar: negative)" in next(line for line in lines if "(dull film)" in line)
    assert "(some words are new)" in lines[-1] and "unheard_of" in lines[-1]
    assert ar.load_model("new")([{"word": "good"}]).shape == (1, 5)
    assert sorted(os.listdir()) == ["new", "sentiment.safetensors"]
    assert Path("sentiment.safetensors").read_text() == "the model of ten hours"


def test_no_file_is_replaced_and_nothing_is_trained_in_vain(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine").write_text("mine")
    for path, words in {"mine": "there is a file already", "no/m": "no such folder", ".": "a folder"}.items():
        status, out, err = outcome(capsys, "demo", "--save", path)
        assert (status, out) == (2, "") and words in err and err.count("\n") == 1
    status, out, err = outcome(capsys, "demo", "(very good)", "((not good) film")
    line = "arrows demo: tree 2:1:17: the text ends, but the bracket opened at 1:1 is not closed\n"
    assert (status, out, err) == (2, "", line)
    assert os.listdir() == ["mine"] and Path("mine").read_text() == "mine"
