"""Reads trees written with brackets: labelled, as in the Stanford Sentiment Treebank, or bare.

A tree is a plain nested dict: a leaf is `{"word": w}` and a pair is `{"left": t, "right": t}`. In a labelled
tree, both have `"label": int` as their first key. No function here is recursive, so a tree may be as deep as
memory allows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from arrows.data.file_examples import FileReader, Source, by_line
from arrows.typesys import InputError, quoted, shortened

Tree = dict[str, Any]

# Only brackets and ASCII blanks separate tokens: words in the Stanford files contain no-break spaces.
TOKEN = re.compile(r"[()]|[^() \t\r\n\f\v]+")
LABEL_FIRST = re.compile(r"[ \t\r\n\f\v]*\([ \t\r\n\f\v]*[0-9]+[ \t\r\n\f\v(]")


def parse_tree(
    text: str, *, labelled: bool | None = None, num_classes: int = 5, source: str = "tree"
) -> Tree:
    """Reads one tree: bare, `((not good) film)`, or labelled, `(3 (2 It) (4 good))`.

    Args:
        text: the tree; it may run over several lines. A node of a bare tree is a word, a word in brackets, or
            two trees in brackets; one of a labelled tree a label and one word or two labelled trees.
        labelled: whether it has labels; None: it does if it begins with a bracket and an integer.
        num_classes: labels are whole numbers from 0 to `num_classes - 1`.
        source: the name of the text in errors.

    Returns:
        Nested dicts with a `"word"`, or with trees as `"left"` and `"right"`; a `"label"` stands first where
            there is one.

    Raises:
        InputError: unbalanced brackets, a node without two parts, text after the tree, a label that is
            missing or out of range; it names line and column.

    >>> parse_tree("((not good) film)")
    {'left': {'left': {'word': 'not'}, 'right': {'word': 'good'}}, 'right': {'word': 'film'}}
    >>> parse_tree("(3 (2 It) (4 good))")
    {'label': 3, 'left': {'label': 2, 'word': 'It'}, 'right': {'label': 4, 'word': 'good'}}
    >>> parse_tree("(3 (2 It) (9 good))")
    Traceback (most recent call last):
    ...
    arrows.typesys.errors.InputError: tree:1:12: expected a label from 0 to 4, got '9'
    """
    return _parse(text.removeprefix("\ufeff"), source, 1, labelled, num_classes)


def read_trees(
    path: Source, *, labelled: bool | None = True, num_classes: int = 5, errors: str = "stop"
) -> FileReader[Tree]:
    """Reads a file of trees, one per line, such as the Stanford Sentiment Treebank's.

    Blank lines are skipped.

    Args:
        path: the file, in UTF-8, or one that is open; decompressed if its name ends in `.gz`.
        labelled: whether trees have labels; None: those have that begin with a bracket and an integer.
        num_classes: labels are whole numbers from 0 to `num_classes - 1`.
        errors: "stop" at the first error; or "skip": leave out the trees with errors, and list these in the
            reader's `skipped`.

    Returns:
        A reader, which gives the trees one after the other; `to_list()` gives a list of them.

    Raises:
        InputError: while reading: the errors of `parse_tree`, or bytes that are not UTF-8; it names file,
            line and column.
        OSError: while reading: the file cannot be read.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "trees.txt")
    ...     _ = path.write_text("(2 film)\\n\\n(4 (2 very) (3 good))\\n")
    ...     [tree["label"] for tree in read_trees(path)]
    [2, 4]
    """
    read = partial(_parse, labelled=labelled, num_classes=num_classes)
    return by_line("read_trees", path, read, errors)


def format_tree(tree: Tree) -> str:
    """Writes a tree with brackets, including its labels if it has them.

    >>> format_tree(parse_tree("((not good) film)"))
    '((not good) film)'
    >>> format_tree(parse_tree("(3 (2 It) (4 good))"))
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


def words(trees: Iterable[Tree]) -> Iterator[str]:
    """The words of trees from left to right, including repetitions.

    >>> list(words([parse_tree("((not good) film)")]))
    ['not', 'good', 'film']
    """
    for root in trees:
        stack = [root]
        while stack:
            tree = stack.pop()
            if "word" in tree:
                yield tree["word"]
            else:
                stack += (tree["right"], tree["left"])


def _parse(text: str, source: str, line: int, labelled: bool | None, num_classes: int) -> Tree:
    """Reads one tree with a stack of its own, since recursion would limit the depth."""
    if labelled is None:
        labelled = LABEL_FIRST.match(text) is not None

    def place(position: int) -> str:
        """`line:column` of a position, both counted from 1."""
        before = text[:position]
        return f"{line + before.count(chr(10))}:{position - before.rfind(chr(10))}"

    def error(position: int, reason: str) -> InputError:
        return InputError(f"{source}:{place(position)}: {reason}")

    # One entry for each open bracket: its position, its tree so far, and its parts: words and trees.
    open_nodes: list[tuple[int, Tree, list[Tree | str]]] = []
    finished: Tree | None = None
    for match in TOKEN.finditer(text):
        token, position = match.group(), match.start()
        if finished is not None:
            raise error(position, f"the tree is complete, but {quoted(token)} follows")
        if token == ")":
            if not open_nodes:
                raise error(position, "')' closes no bracket")
            opened, node, parts = open_nodes.pop()
            tree = _closed(node, parts, labelled)
            if tree is None:
                holds = ", ".join("a word" if isinstance(part, str) else "a tree" for part in parts)
                reason = f"the node opened at {place(opened)} holds {shortened(holds, 40) or 'nothing'}"
                raise error(position, f"{reason}, and should hold one word or two trees")
            if open_nodes:
                open_nodes[-1][2].append(tree)
            else:
                finished = tree
            continue
        if labelled and open_nodes and not open_nodes[-1][1]:
            # str.isdigit alone would accept '²', and int() would accept '1_0' and other scripts' digits.
            if not (token.isascii() and token.isdigit() and len(token) < 10 and int(token) < num_classes):
                raise error(position, f"expected a label from 0 to {num_classes - 1}, got {quoted(token)}")
            open_nodes[-1][1]["label"] = int(token)
        elif token == "(":
            open_nodes.append((position, {}, []))
        elif open_nodes:
            open_nodes[-1][2].append(token if labelled else {"word": token})
        elif labelled:
            raise error(position, f"expected '(', got {quoted(token)}")
        else:
            finished = {"word": token}
    if open_nodes:
        opened = open_nodes[-1][0]
        raise error(len(text), f"the text ends, but the bracket opened at {place(opened)} is not closed")
    if finished is None:
        raise error(len(text), "there is no tree in this text")
    return finished


def _closed(node: Tree, parts: list[Tree | str], labelled: bool) -> Tree | None:
    """The tree of a node whose bracket closes; None if it has a wrong number of parts."""
    match parts:
        case [dict(left), dict(right)]:
            return node | {"left": left, "right": right}
        case [str(word)]:
            return node | {"word": word}
        case [dict(tree)] if not labelled:  # (good) is a word, and ((not good)) is (not good)
            return tree
    return None
