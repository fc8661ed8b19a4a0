"""The demonstration, with few trees: its output and files, and that the saved model is the same."""

from __future__ import annotations

import os

import numpy as np
import pytest

import arrows as ar
from arrows.cli import demo
from arrows.cli.model_files import restore_sentiment
from arrows.data import generate, vocabulary
from arrows.models import sentiment
from arrows.training import load, save
from arrows.typesys.errors import ArrowValueError


def test_the_whole_demonstration(capsys, tmp_path):
    path = tmp_path / "m.safetensors"
    root = demo.demonstrate(["(dull film)", "novel"], examples=200, epochs=2, path=path)
    out, err = capsys.readouterr()
    assert 0 <= root <= 1
    for words in ("cell: (float32[64], ", "epoch 2: loss", "root 0.", "trees/s", "speed-up:", str(path)):
        assert words in out
    lines = out.splitlines()
    assert "(the grammar: negative)" in next(line for line in lines if "((not good) film)" in line)
    assert "(the grammar: negative)" in next(line for line in lines if "(dull film)" in line)
    assert "(some words are new)" in lines[-1] and "novel" in lines[-1]
    assert "epoch 1/2" in err
    assert os.listdir(tmp_path) == ["m.safetensors"]


def test_a_restored_model_judges_as_the_saved_one(tmp_path):
    numbers = vocabulary(generate(20))
    model = ar.compile(sentiment(numbers, size=5).judge, seed=7)
    ar.save_model(model, tmp_path / "m")
    trees = generate(10, seed=3)
    np.testing.assert_array_equal(restore_sentiment(tmp_path / "m")(trees), model(trees))


def test_a_saved_model_of_another_size_does_not_fit(tmp_path):
    numbers = {"good": 1}
    save(ar.compile(sentiment(numbers, size=5).judge), tmp_path / "m")
    other = ar.compile(sentiment(numbers, size=6).judge)
    before = {name: array.copy() for name, array in other.params.items()}
    with pytest.raises(
        ArrowValueError, match=r"'cell/weight': float32\[15, 25\] in the file, float32\[18, 30\]"
    ):
        load(other, tmp_path / "m")
    for name, array in other.params.items():
        np.testing.assert_array_equal(array, before[name])


def test_a_folder_that_is_not_there_is_known_before_training(tmp_path, capsys):
    with pytest.raises(FileNotFoundError, match=r"no such folder: '.*nowhere'"):
        demo.demonstrate(path=tmp_path / "nowhere" / "m")
    assert not capsys.readouterr().out


def test_trees_of_the_user_are_read_before_anything_else(capsys):
    with pytest.raises(ValueError, match="tree 1:1:5"):
        demo.demonstrate(["(a b"])
    assert not capsys.readouterr().out
