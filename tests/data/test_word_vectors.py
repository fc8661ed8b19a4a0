"""The reader of word vectors: what it keeps, odd words, and errors that name file, line and column."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from arrows.data import read_vectors
from arrows.typesys.errors import InputError


def read(folder, content: bytes, words):
    (folder / "v.txt").write_bytes(content)
    return read_vectors(folder / "v.txt", words)


def test_only_wanted_rows_are_kept(tmp_path):
    found = read(tmp_path, b"the 1 2 3\nfilm -1.5 2e-1 0\n, 7 8 9\n", ["film", ",", "unseen"])
    assert list(found) == ["film", ","]
    np.testing.assert_array_equal(found["film"], np.array([-1.5, 0.2, 0], np.float32))
    assert found[","].dtype == np.float32


def test_odd_words_and_line_ends(tmp_path):
    content = "a\u00a0b 1 2\r\n. . . 3 4 \n-LRB- 5 6\ncafé 7 8".encode()
    found = read(tmp_path, content, ["a\u00a0b", ". . .", "-LRB-", "café"])
    assert {word: vector.tolist() for word, vector in found.items()} == {
        "a\u00a0b": [1, 2],
        ". . .": [3, 4],
        "-LRB-": [5, 6],
        "café": [7, 8],
    }


def test_the_first_of_two_rows_counts(tmp_path):
    assert read(tmp_path, b"a 1\na 2\n", ["a"])["a"].tolist() == [1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"the 1 2 3\nfilm 1 2\n", ":2:9: expected a word and 3 numbers, as in the first row, got 2"),
        ("thé\n".encode(), ":1:4: expected a word and numbers, got 0"),
        (b"the 1 2\n\nfilm 1 2\n", ":2:1: expected a word and 2 numbers, as in the first row, got 0"),
        ("the 1 2\nfilm 0.5 é\n".encode(), ":2:10: expected a number, got 'é'"),
        (b"film nan 2\n", ":1:6: expected a number, got 'nan'"),
        (b"film 1 1e999\n", ":1:8: expected a number, got '1e999'"),
        (b"the 1 2\n\xc3\xa9\xff 1 2\n", ":2:2: this byte is not UTF-8: 0xff"),
        (b"the 1 2\nx\xff\n", ":2:2: this byte is not UTF-8: 0xff"),
        (b"", ": there are no vectors in this file"),
    ],
)
def test_errors_name_file_line_and_column(content, message, tmp_path):
    with pytest.raises(InputError) as caught:
        read(tmp_path, content, ["film"])
    assert str(caught.value) == f"{tmp_path / 'v.txt'}{message}"


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_vectors(tmp_path / "nowhere", [])


def test_memory_is_needed_for_wanted_rows_only(tmp_path):
    row = " ".join(["0.25"] * 100)
    (tmp_path / "v.txt").write_text("".join(f"w{n} {row}\n" for n in range(10_000)), encoding="utf-8")
    tracemalloc.start()
    try:
        assert len(read_vectors(tmp_path / "v.txt", ["w7", "w9999"])) == 2
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 500_000 < (tmp_path / "v.txt").stat().st_size
