"""The reader of word vectors: what it keeps, odd words, and errors that name file, line and column."""

from __future__ import annotations

import gzip
import tracemalloc

import pytest
from hypothesis import assume, given, strategies as st

from arrows.data import read_vectors
from arrows.typesys.errors import ArrowTypeError, InputError


def read(folder, content: bytes, words):
    (folder / "v.txt").write_bytes(content)
    return read_vectors(folder / "v.txt", words)


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


letters = st.text(st.characters(exclude_categories=["Cc", "Cs", "Z"]), min_size=1, max_size=4)
spaced = st.lists(letters, min_size=1, max_size=3).map(" ".join)
numbers = st.integers(-8, 8).map(lambda n: n / 4)


@given(
    st.integers(1, 4).flatmap(
        lambda size: st.dictionaries(spaced, st.lists(numbers, min_size=size, max_size=size), min_size=1)
    ),
    st.sampled_from(["GloVe", "word2vec", "fastText"]),
    st.sampled_from(["txt", "gz"]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_every_text_format_is_read(tmp_path_factory, vectors, form, ending, line_end, all_words):
    size = len(next(iter(vectors.values())))
    words = [*vectors]
    # The first row of GloVe says how many numbers there are, so its word has no space, and is no number.
    assume(form != "GloVe" or (" " not in words[0] and not words[0].isdigit()))
    lines = [f"{len(vectors)} {size}"] * (form != "GloVe")
    lines += [" ".join([word, *map(str, row)]) + " " * (form == "fastText") for word, row in vectors.items()]
    content = "".join(f"{line}{line_end}" for line in lines).encode()
    path = tmp_path_factory.mktemp("vectors") / f"words.{ending}"
    path.write_bytes(gzip.compress(content) if ending == "gz" else content)
    wanted = words if all_words else words[::2]
    found = read_vectors(path, [*wanted, "not there at all"])
    assert {word: vector.tolist() for word, vector in found.items()} == {w: vectors[w] for w in wanted}


def test_a_first_word_that_is_a_number_is_no_header(tmp_path):
    assert read(tmp_path, b"3 4\n5 6\n", ["3", "5"]) == {"3": [4.0], "5": [6.0]}
    with pytest.raises(ArrowTypeError, match="one text"):
        read(tmp_path, b"3 4\n", "the")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"2 3\nthe 1 2\n", ":2: expected a word and 3 numbers, as the first line says, got 2"),
        (b"2 3\n", ": there are no vectors in this file"),
        (b"the 1 2 3\nfilm 1 2\n", ":2: expected a word and 3 numbers, as in the first row, got 2"),
        ("thé\n".encode(), ":1: expected a word and numbers, got 0"),
        ("the 1 2\nfilm 0.5 é\n".encode(), ":2: expected 2 numbers that float32 can hold, got '0.5 é'"),
        (b"film nan 2\n", ":1: expected 2 numbers that float32 can hold, got 'nan 2'"),
        (b"film 1 1e999\n", ":1: expected 2 numbers that float32 can hold, got '1 1e999'"),
        (b"the 1 2\n\xc3\xa9\xff 1 2\n", ":2:2: this byte is not UTF-8: 0xff"),
        (b"", ": there are no vectors in this file"),
    ],
)
def test_errors_name_file_line_and_column(content, message, tmp_path):
    with pytest.raises(InputError) as caught:
        read(tmp_path, content, ["film"])
    assert str(caught.value) == f"{tmp_path / 'v.txt'}{message}"


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
