"""The readers of bracketed trees: round trips, places of errors, depth, and the real treebank's oddities."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from arrows.data import format_tree, parse_tree, read_trees, words
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


@given(LABELLED, BARE)
def test_trees_survive_writing_and_reading(labelled, bare):
    assert parse_tree(format_tree(labelled)) == parse_tree(format_tree(labelled), labelled=True) == labelled
    assert parse_tree(format_tree(bare), labelled=False) == bare


@given(st.text("()ab01 \n"), st.booleans())
def test_any_text_is_a_tree_or_an_error_with_a_place(text, labelled):
    try:
        tree = parse_tree(text, labelled=labelled)
    except InputError as error:
        source, line, column, _ = str(error).split(":", 3)
        assert source == "tree" and 1 <= int(line) <= text.count("\n") + 1 and int(column) >= 1
    else:
        assert parse_tree(format_tree(tree), labelled=labelled) == tree


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
    ("labelled", "text", "message"),
    [
        (False, "", "1:1: there is no tree in this text"),
        (False, "()", "1:2: the node opened at 1:1 holds nothing, and should hold"),
        (
            False,
            "(a b c)",
            "1:7: the node opened at 1:1 holds a tree, a tree, a tree, and should hold",
        ),
        (False, "(a\n (b c", "2:6: the text ends, but the bracket opened at 2:2 is not closed"),
        (False, "(a))", "1:4: the tree is complete, but ')' follows"),
        (False, ")", "1:1: ')' closes no bracket"),
        (False, "a b", "1:3: the tree is complete, but 'b' follows"),
        (True, "3 a", "1:1: expected '(', got '3'"),
        (True, "(x a)", "1:2: expected a label from 0 to 4, got 'x'"),
        (True, "(5 a)", "1:2: expected a label from 0 to 4, got '5'"),
        (True, "(-1 a)", "1:2: expected a label from 0 to 4, got '-1'"),
        (True, "(² a)", "1:2: expected a label from 0 to 4, got '²'"),
        (True, "((2 a) (2 b))", "1:2: expected a label from 0 to 4, got '('"),
        (True, "(3)", "1:3: the node opened at 1:1 holds nothing, and should hold"),
        (
            True,
            "(3 (2 x))",
            "1:9: the node opened at 1:1 holds a tree, and should hold",
        ),
        (
            True,
            "(2 a b)",
            "1:7: the node opened at 1:1 holds a word, a word, and should hold",
        ),
        (
            True,
            "(2 (2 a) b)",
            "1:11: the node opened at 1:1 holds a tree, a word, and should hold",
        ),
        (True, "(2 a)(2 b)", "1:6: the tree is complete, but '(' follows"),
        (True, "(2 (2 a) (2 b)", "1:15: the text ends, but the bracket opened at 1:1 is not closed"),
    ],
)
def test_errors_name_the_place(labelled, text, message):
    with pytest.raises(InputError) as caught:
        parse_tree(text, labelled=labelled)
    assert str(caught.value).startswith(f"tree:{message}")


def test_words_keep_what_only_looks_like_a_blank():
    tree = parse_tree("(2 (2 a\u00a0b\u2003c) (1 -LRB-\\/))")
    assert list(words([tree])) == ["a\u00a0b\u2003c", "-LRB-\\/"]


def test_depth_is_no_limit():
    depth = 50_000
    text = "(2 (2 a) " * depth + "(2 b)" + ")" * depth
    tree = parse_tree(text)
    assert format_tree(tree) == text
    assert sum(1 for _ in words([tree])) == depth + 1
    bare = "(a " * depth + "b" + ")" * depth
    assert format_tree(parse_tree(bare)) == bare


def test_files_one_tree_a_line(tmp_path):
    path = tmp_path / "trees.txt"
    path.write_bytes(b"\xef\xbb\xbf(2 a)\r\n\n \n(3 b)")
    assert [tree["word"] for tree in read_trees(path)] == ["a", "b"]
    for content, message in [
        (b"(2 a)\n\n(2 (2 a)\n(2 b)", "3:9: the text ends, but the bracket opened at 3:1 is not closed"),
        (b"(2 a)\n(7 b)\n", "2:2: expected a label from 0 to 4, got '7'"),
        ("(2 é".encode() + b"\xff)", "1:5: this byte is not UTF-8: 0xff"),
        (b"good", "1:1: expected '(', got 'good'"),
    ]:
        path.write_bytes(content)
        with pytest.raises(InputError) as caught:
            read_trees(path).to_list()
        assert str(caught.value) == f"{path}:{message}"


def test_trees_with_and_without_labels_are_told_apart(tmp_path):
    path, lines = tmp_path / "x", ["(3 good)", "((3 (4 good)) film)", "((a b) c)", "good", "(2 (2 a) (3 b))"]
    path.write_text("\n".join(lines))
    assert [format_tree(tree) for tree in read_trees(path, labelled=None)] == lines
    assert parse_tree("(3 good)", labelled=False) == {"left": {"word": "3"}, "right": {"word": "good"}}
