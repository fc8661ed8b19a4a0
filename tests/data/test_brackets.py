"""The readers of bracketed trees: round trips, places of errors, depth, and the real treebank's oddities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrows.data import (
    format_tree,
    parse_labelled_tree,
    parse_tree,
    parse_trees,
    read_trees,
    vocabulary,
    words,
)
from arrows.typesys.errors import InputError

WORDS = st.text(st.characters(exclude_characters="() \t\r\n\f\v", exclude_categories=["Cs"]), min_size=1)
LABELS = st.integers(0, 4)
LABELLED = st.recursive(
    st.fixed_dictionaries({"label": LABELS, "word": WORDS}),
    lambda t: st.fixed_dictionaries({"label": LABELS, "left": t, "right": t}),
)
BARE = st.recursive(
    st.fixed_dictionaries({"word": WORDS}), lambda t: st.fixed_dictionaries({"left": t, "right": t})
)


@given(LABELLED)
def test_labelled_trees_survive_writing_and_reading(tree):
    assert parse_labelled_tree(format_tree(tree)) == tree


@given(BARE)
def test_bare_trees_survive_writing_and_reading(tree):
    assert parse_tree(format_tree(tree)) == tree


@given(st.text("()ab01 \n"))
def test_any_text_is_a_tree_or_an_error_with_a_place(text):
    for parse in (parse_tree, parse_labelled_tree):
        try:
            tree = parse(text)
        except InputError as error:
            source, line, column, _ = str(error).split(":", 3)
            assert source == "tree" and 1 <= int(line) <= text.count("\n") + 1 and int(column) >= 1
        else:
            assert parse(format_tree(tree)) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("good", {"word": "good"}),
        ("(good)", {"word": "good"}),
        (" ( (good)\n film ) ", {"left": {"word": "good"}, "right": {"word": "film"}}),
        ("((not good))", {"left": {"word": "not"}, "right": {"word": "good"}}),
    ],
)
def test_bare_spellings(text, tree):
    assert parse_tree(text) == tree


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1: there is no tree in this text"),
        ("()", "1:2: the node opened at 1:1 should hold one word or two trees and holds nothing"),
        ("(a b c)", "1:6: the node opened at 1:1 has two parts already, got 'c'"),
        ("(a\n (b c", "2:6: the text ends, but the bracket opened at 2:2 is not closed"),
        ("(a))", "1:4: the tree is complete, but ')' follows"),
        (")", "1:1: ')' closes no bracket"),
        ("a b", "1:3: the tree is complete, but 'b' follows"),
    ],
)
def test_errors_of_bare_trees(text, message):
    with pytest.raises(InputError) as caught:
        parse_tree(text)
    assert str(caught.value) == f"tree:{message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3 a", "1:1: expected '(', got '3'"),
        ("(x a)", "1:2: expected a label from 0 to 4, got 'x'"),
        ("(5 a)", "1:2: expected a label from 0 to 4, got '5'"),
        ("(-1 a)", "1:2: expected a label from 0 to 4, got '-1'"),
        ("(² a)", "1:2: expected a label from 0 to 4, got '²'"),
        ("((2 a) (2 b))", "1:2: expected a label, got '('"),
        ("(3)", "1:3: the node opened at 1:1 should hold one word or two trees and holds nothing"),
        ("(3 (2 x))", "1:9: the node opened at 1:1 should hold one word or two trees and holds one tree"),
        ("(2 a b)", "1:6: a node holds one word or two trees, got 'b' after its first part"),
        ("(2 a (2 b))", "1:6: a node holds one word or two trees, got '(' after its first part"),
        ("(2 (2 a) b)", "1:10: a node holds one word or two trees, got 'b' after its first part"),
        ("(3 (2 a) (2 b) (2 c))", "1:16: the node opened at 1:1 has two parts already, got '('"),
        ("(2 a)(2 b)", "1:6: the tree is complete, but '(' follows"),
        ("(2 (2 a) (2 b)", "1:15: the text ends, but the bracket opened at 1:1 is not closed"),
    ],
)
def test_errors_of_labelled_trees(text, message):
    with pytest.raises(InputError) as caught:
        parse_labelled_tree(text)
    assert str(caught.value) == f"tree:{message}"


def test_words_keep_what_only_looks_like_a_blank():
    tree = parse_labelled_tree("(2 (2 a\u00a0b\u2003c) (1 -LRB-\\/))")
    assert list(words([tree])) == ["a\u00a0b\u2003c", "-LRB-\\/"]
    assert vocabulary([tree]) == {"a\u00a0b\u2003c": 1, "-LRB-\\/": 2}


def test_depth_is_no_limit():
    depth = 50_000
    text = "(2 (2 a) " * depth + "(2 b)" + ")" * depth
    tree = parse_labelled_tree(text)
    assert format_tree(tree) == text
    assert sum(1 for _ in words([tree])) == depth + 1
    bare = "(a " * depth + "b" + ")" * depth
    assert format_tree(parse_tree(bare)) == bare


def read(folder: Path, content: bytes) -> Any:
    (folder / "trees.txt").write_bytes(content)
    return read_trees(folder / "trees.txt")


def test_files_one_tree_a_line(tmp_path):
    assert [t["word"] for t in read(tmp_path, b"(2 a)\r\n\n \n(3 b)")] == ["a", "b"]
    assert read(tmp_path, b"") == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"(2 a)\n\n(2 (2 a)\n(2 b)", "3:9: the text ends, but the bracket opened at 3:1 is not closed"),
        (b"(2 a)\n(7 b)\n", "2:2: expected a label from 0 to 4, got '7'"),
        ("(2 é".encode() + b"\xff)", "1:5: this byte is not UTF-8: 0xff"),
    ],
)
def test_errors_in_files_name_file_line_and_column(content, message, tmp_path):
    with pytest.raises(InputError) as caught:
        read(tmp_path, content)
    assert str(caught.value) == f"{tmp_path / 'trees.txt'}:{message}"


def test_trees_with_and_without_labels_are_told_apart():
    data = b"\xef\xbb\xbf(3 good)\n\n((3 (4 good)) film)\n( (a b) c)\ngood\n(2(2 a)(3 b))"
    found = parse_trees(data, labelled=None)
    assert [format_tree(tree) for tree in found] == [
        "(3 good)",
        "((3 (4 good)) film)",
        "((a b) c)",
        "good",
        "(2 (2 a) (3 b))",
    ]
    assert parse_trees(b"(3 good)", labelled=False) == [{"left": {"word": "3"}, "right": {"word": "good"}}]
    with pytest.raises(InputError, match=r"^stdin:2:1: expected '\('"):
        parse_trees(b"(3 good)\ngood", source="stdin")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_trees(tmp_path / "nowhere")
