"""Files of columns that are written piece by piece and mapped."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from arrows.column_file import ColumnWriter, map_columns, read_texts
from arrows.safetensors_file import read_file, write_file
from arrows.typesys import ArrowValueError


def written(folder: Path) -> Path:
    path = folder / "file"
    with ColumnWriter(path) as writer:
        writer.begin("empty", np.float64, (2,))
        for piece in ([1, 2], [], [3]):
            writer.add("words", np.array(piece, np.int16))
        writer.add("wide", np.arange(6, dtype=np.int64).reshape(2, 3)[:, ::-1])
        writer.add("flags", np.array([True, False, True]))
        writer.finish({"by": "é"})
    assert [entry.name for entry in folder.iterdir()] == ["file"]
    return path


def test_what_is_written_is_mapped(tmp_path: Path) -> None:
    path = written(tmp_path)
    columns, texts = map_columns(path)
    assert {name: column.tolist() for name, column in columns.items()} == {
        "empty": [],
        "words": [1, 2, 3],
        "wide": [[2, 1, 0], [5, 4, 3]],
        "flags": [True, False, True],
    }
    assert columns["empty"].shape == (0, 2) and columns["words"].dtype == np.int16
    assert all(column.flags.aligned and type(column) is np.ndarray for column in columns.values())
    assert not columns["words"].flags.writeable
    assert texts == read_texts(path) == {"by": "é"}


def test_others_read_the_file(tmp_path: Path) -> None:
    path = written(tmp_path)
    arrays, texts = read_file(path)
    assert arrays["wide"].tolist() == [[2, 1, 0], [5, 4, 3]] and texts == {"by": "é"}
    assert safetensors.numpy.load_file(path)["words"].tolist() == [1, 2, 3]


def test_damage_is_found(tmp_path: Path) -> None:
    path = written(tmp_path)
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        changed = bytearray(whole)
        changed[place] ^= 1
        path.write_bytes(changed)
        with pytest.raises(ArrowValueError):
            map_columns(path)
    safetensors.numpy.save_file({"x": np.arange(3)}, path)
    with pytest.raises(ArrowValueError, match="has no checksums"):
        map_columns(path)


def test_a_column_across_the_boundaries_of_its_elements_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for length in range(9):  # the header's length decides where the numbers begin
        write_file(path, {"a": np.arange(3, dtype=np.int8), "b": np.arange(3.0)}, {"x": "x" * length})
        arrays, _ = read_file(path)
        assert arrays["b"].tolist() == [0.0, 1.0, 2.0]
        try:
            columns, _ = map_columns(path)
        except ArrowValueError as error:
            assert "cannot be mapped, by its type or its place" in str(error)  # noqa: PT017
        else:
            assert columns["b"].tolist() == [0.0, 1.0, 2.0]
