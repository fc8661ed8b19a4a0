"""Reads trees written with brackets: labelled, as in the Stanford Sentiment Treebank, or bare.

A tree is a plain nested dict: a leaf is `{"word": w}` and a pair is `{"left": t, "right": t}`. In a labelled
tree, both have `"label": int` as their first key. No function here is recursive, so a tree may be as deep as
memory allows.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from arrows.data.file_examples import FileExamples, FileStream, collected, lines_of
from arrows.data.utf8 import decoded
from arrows.files import require_path
from arrows.typesys import InputError
from arrows.typesys.quoting import quoted

Tree = dict[str, Any]

# Only brackets and ASCII blanks separate tokens: words in the Stanford files contain no-break spaces.
TOKEN = re.compile(r"[()]|[^() \t\r\n\f\v]+")
LABEL_FIRST = re.compile(r"[ \t\r\n\f\v]*\([ \t\r\n\f\v]*[0-9]+[ \t\r\n\f\v(]")


def parse_tree(text: str, *, source: str = "tree", line: int = 1) -> Tree:
    """Reads one bare tree, `((not good) film)`: a word, a word in brackets, or two trees in brackets.

    Args:
        text: the tree; it may run over several lines.
        source: the name of the text in errors, a file's name for example.
        line: the number of the text's first line, counted from 1.

    Returns:
        Nested dicts without labels: `{"word": w}` or `{"left": t, "right": t}`.

    Raises:
        InputError: unbalanced brackets, a node without two parts, or text after the tree; it names line and
            column.

    >>> parse_tree("((not good) film)")
    {'left': {'left': {'word': 'not'}, 'right': {'word': 'good'}}, 'right': {'word': 'film'}}
    >>> parse_tree("(good film")
    Traceback (most recent call last):
    ...
    arrows.typesys.errors.InputError: tree:1:11: the text ends, but the bracket opened at 1:1 is not closed
    """
    return _parse(_Tokens(text, source, line), labelled=False, classes=0)


def parse_labelled_tree(text: str, *, classes: int = 5, source: str = "tree", line: int = 1) -> Tree:
    """Reads one labelled tree, `(3 (2 It) (4 good))`: a label and one word or two labelled trees.

    Args:
        text: the tree; it may run over several lines.
        classes: labels are whole numbers from 0 to `classes - 1`.
        source: the name of the text in errors, a file's name for example.
        line: the number of the text's first line, counted from 1.

    Returns:
        Nested dicts: `{"label": k, "word": w}` or `{"label": k, "left": t, "right": t}`.

    Raises:
        InputError: a label that is missing or out of range, and the errors of `parse_tree`; it names line
            and column.

    >>> parse_labelled_tree("(3 (2 It) (4 good))")
    {'label': 3, 'left': {'label': 2, 'word': 'It'}, 'right': {'label': 4, 'word': 'good'}}
    >>> parse_labelled_tree("(3 (2 It) (9 good))")
    Traceback (most recent call last):
    ...
    arrows.typesys.errors.InputError: tree:1:12: expected a label from 0 to 4, got '9'
    """
    return _parse(_Tokens(text, source, line), labelled=True, classes=classes)


def read_trees(path: str | Path, *, classes: int = 5, errors: str = "stop") -> FileExamples[Tree]:
    """Reads a file of labelled trees in UTF-8, one per line, such as the Stanford Sentiment Treebank's.

    Blank lines are skipped.

    Args:
        path: the file; if its name ends in `.gz` or `.zst`, it is decompressed.
        classes: labels are whole numbers from 0 to `classes - 1`.
        errors: "stop" at the first error; or "skip": leave out the trees with errors, and list these in the
            result's `skipped`.

    Returns:
        A list of trees, which also knows the `places` where they stood.

    Raises:
        InputError: the errors of `parse_labelled_tree`, or bytes that are not UTF-8; it names file, line and
            column.
        OSError: the file cannot be read.

    >>> import tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "trees.txt")
    ...     with open(path, "w", encoding="utf-8") as file:
    ...         _ = file.write("(2 film)\\n\\n(4 (2 very) (3 good))\\n")
    ...     [tree["label"] for tree in read_trees(path)]
    [2, 4]
    """
    path = require_path("read_trees: path", path)
    return collected(path, _trees(lines_of(path), classes, str(path), labelled=True), errors)


def iterate_trees(path: str | Path, *, classes: int = 5, errors: str = "stop") -> FileStream[Tree]:
    """As `read_trees`, but one tree after the other, for a file that is larger than memory.

    With `errors="skip"`, the result's `skipped` lists what has been left out so far.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "trees.txt")
    ...     _ = path.write_text("(2 film)\\n(4 (2 very) (3 good))\\n")
    ...     [tree["label"] for tree in iterate_trees(path)]
    [2, 4]
    """
    path = require_path("iterate_trees: path", path)
    return FileStream(path, _trees(lines_of(path), classes, str(path), labelled=True), errors)


def parse_trees(
    data: bytes, *, classes: int = 5, source: str = "trees", labelled: bool | None = True
) -> list[Tree]:
    """Reads trees in UTF-8, one per line; skips blank lines, and a byte-order mark at the beginning.

    Args:
        data: the lines, as bytes.
        classes: labels are whole numbers from 0 to `classes - 1`.
        source: the name of the data in errors, a file's name for example.
        labelled: whether trees have labels; None: those have that begin with a bracket and an integer.

    Raises:
        InputError: the errors of `parse_labelled_tree` or `parse_tree`, or bytes that are not UTF-8; it names
            source, line and column.

    >>> parse_trees(b"(good film)\\n(3 good)", labelled=None)
    [{'left': {'word': 'good'}, 'right': {'word': 'film'}}, {'label': 3, 'word': 'good'}]
    """
    lines = enumerate(data.split(b"\n"), start=1)
    return [read() for _, read in _trees(lines, classes, source, labelled=labelled)]


def _trees(
    lines: Iterable[tuple[int, bytes]], classes: int, source: str, *, labelled: bool | None
) -> Iterator[tuple[int, Callable[[], Tree]]]:
    """For each line that is not blank, its number, and a function that reads its tree."""
    for number, raw in lines:
        text = raw.removeprefix(BOM_UTF8) if number == 1 else raw
        if text.strip(b" \t\r\f\v"):
            yield number, partial(_tree, raw, classes, source, number, labelled)


def _tree(raw: bytes, classes: int, source: str, number: int, labelled: bool | None) -> Tree:
    text = decoded(raw, source, number)
    if LABEL_FIRST.match(text) if labelled is None else labelled:
        return parse_labelled_tree(text, classes=classes, source=source, line=number)
    return parse_tree(text, source=source, line=number)


def format_tree(tree: Tree) -> str:
    """Writes a tree with brackets, including its labels if it has them.

    >>> format_tree(parse_tree("((not good) film)"))
    '((not good) film)'
    >>> format_tree(parse_labelled_tree("(3 (2 It) (4 good))"))
    '(3 (2 It) (4 good))'
    """
    pieces: list[str] = []
    stack: list[Tree | str] = [tree]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            pieces.append(item)
            continue
        label = f"{item['label']} " if "label" in item else ""
        if "word" in item:
            pieces.append(f"({label}{item['word']})" if label else item["word"])
        else:
            pieces.append("(" + label)
            stack += (")", item["right"], " ", item["left"])
    return "".join(pieces)


def words(trees: list[Tree]) -> Iterator[str]:
    """The words of trees from left to right, including repetitions.

    >>> list(words([parse_tree("((not good) film)")]))
    ['not', 'good', 'film']
    """
    stack = trees[::-1]
    while stack:
        tree = stack.pop()
        if "word" in tree:
            yield tree["word"]
        else:
            stack += (tree["right"], tree["left"])


def vocabulary(trees: list[Tree]) -> dict[str, int]:
    """Numbers the words of trees from 1 in the order of their first use; 0 is reserved for unknown words.

    >>> vocabulary([parse_tree("((very very) good)")])
    {'very': 1, 'good': 2}
    """
    numbers: dict[str, int] = {}
    for word in words(trees):
        numbers.setdefault(word, len(numbers) + 1)
    return numbers


class _Tokens:
    """The tokens of a text with their positions, and errors that name line and column."""

    def __init__(self, text: str, source: str, line: int) -> None:
        self.text = text.removeprefix("\ufeff") if line == 1 else text  # a byte-order mark
        self.source, self.line = source, line

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return ((match.group(), match.start()) for match in TOKEN.finditer(self.text))

    def place(self, position: int) -> str:
        """`line:column` of a position, both counted from 1."""
        before = self.text[:position]
        return f"{self.line + before.count(chr(10))}:{position - before.rfind(chr(10))}"

    def error(self, position: int, reason: str) -> InputError:
        return InputError(f"{self.source}:{self.place(position)}: {reason}")


def _parse(tokens: _Tokens, *, labelled: bool, classes: int) -> Tree:
    """Reads one tree with a stack of its own, since recursion would limit the depth."""
    # One entry for each open bracket: its position, its label if there is one, and its finished parts.
    open_nodes: list[tuple[int, list[int], list[Tree | str]]] = []
    finished: Tree | None = None
    for token, position in tokens:
        if finished is not None:
            raise tokens.error(position, f"the tree is complete, but {quoted(token)} follows")
        if token == "(":
            if open_nodes:
                _want_part(tokens, open_nodes[-1], token, position, labelled)
            open_nodes.append((position, [], []))
            continue
        if token != ")":
            if not open_nodes:
                if labelled:
                    raise tokens.error(position, f"expected '(', got {quoted(token)}")
                finished = {"word": token}
            elif labelled and not open_nodes[-1][1]:
                open_nodes[-1][1].append(_label(tokens, token, position, classes))
            else:
                _want_part(tokens, open_nodes[-1], token, position, labelled)
                open_nodes[-1][2].append(token if labelled else {"word": token})
            continue
        if not open_nodes:
            raise tokens.error(position, "')' closes no bracket")
        tree = _close(tokens, open_nodes.pop(), position, labelled)
        if open_nodes:
            open_nodes[-1][2].append(tree)
        else:
            finished = tree
    if open_nodes:
        opened = tokens.place(open_nodes[-1][0])
        raise tokens.error(
            len(tokens.text), f"the text ends, but the bracket opened at {opened} is not closed"
        )
    if finished is None:
        raise tokens.error(len(tokens.text), "there is no tree in this text")
    return finished


def _label(tokens: _Tokens, token: str, position: int, classes: int) -> int:
    # str.isdigit alone would accept '²', and int() would accept '1_0' and the digits of other scripts.
    if not (token.isascii() and token.isdigit() and len(token) < 10 and int(token) < classes):
        raise tokens.error(position, f"expected a label from 0 to {classes - 1}, got {quoted(token)}")
    return int(token)


def _want_part(
    tokens: _Tokens, node: tuple[int, list[int], list[Tree | str]], token: str, position: int, labelled: bool
) -> None:
    """Refuses a token that cannot be the next part of a node."""
    opened, label, parts = node
    if labelled and not label:
        raise tokens.error(position, f"expected a label, got {quoted(token)}")
    if len(parts) == 2:
        raise tokens.error(
            position, f"the node opened at {tokens.place(opened)} has two parts already, got {quoted(token)}"
        )
    if labelled and parts and (isinstance(parts[0], str) or token != "("):
        raise tokens.error(
            position, f"a node holds one word or two trees, got {quoted(token)} after its first part"
        )


def _close(
    tokens: _Tokens, node: tuple[int, list[int], list[Tree | str]], position: int, labelled: bool
) -> Tree:
    """The tree of a node whose bracket closes at a position; refuses a wrong number of parts."""
    opened, label, parts = node
    tree: Tree = {"label": label[0]} if label else {}
    if len(parts) == 2:
        return tree | {"left": parts[0], "right": parts[1]}
    if len(parts) == 1:
        part = parts[0]
        if isinstance(part, str):
            return tree | {"word": part}
        if not labelled:  # (good) is a word, and ((not good)) is (not good)
            return part
    node_name = f"the node opened at {tokens.place(opened)}"
    content = "one tree" if parts else "nothing"
    raise tokens.error(position, f"{node_name} should hold one word or two trees and holds {content}")
