"""Programs as syntax trees: a reader of Python source by `ast`, and a model that goes over the trees.

    python examples/python_source.py [FOLDER]

It learns the name of a function from its body, as far as its first word: of the functions in a folder, the
standard library's `json` and `email` without one.

Source: Alon et al., "code2vec: Learning Distributed Representations of Code", POPL 2019.
"""

from __future__ import annotations

import ast
import email
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import arrows as ar

Tree = dict[str, Any]


def parse_python(source: str | bytes, name: str = "source") -> Tree:
    """Source as a tree of plain dicts: the "kind" of each node, its class in `ast`, and its "children".

    Raises:
        SyntaxError: this is no Python of the version that runs.
    """
    return _tree(ast.parse(source, filename=name))


def _tree(root: ast.AST) -> Tree:
    tree: Tree = {"kind": type(root).__name__, "children": []}
    waiting = [(root, tree)]
    while waiting:  # no recursion: a chain of a thousand operators is a tree of that depth
        node, whole = waiting.pop()
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.expr_context):  # `Load` and `Store` only say how a name is used
                whole["children"].append({"kind": type(child).__name__, "children": []})
                waiting.append((child, whole["children"][-1]))
    return tree


def functions(folders: list[Path]) -> Iterator[Tree]:
    """The functions in files of Python: the tree of each, and the first word of its name."""
    for file in sorted(file for folder in folders for file in folder.glob("**/*.py")):
        try:
            module = ast.parse(file.read_bytes(), filename=str(file))
        except (SyntaxError, ValueError, RecursionError) as error:
            print(f"left out {file}: {error}", file=sys.stderr)
            continue
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef) and (word := node.name.strip("_").partition("_")[0]):
                yield {"name": word.lower(), "tree": _tree(node)}


def namer(kinds: ar.Vocabulary, names: ar.Vocabulary, size: int = 32) -> Any:
    """The scores of names: a node is its kind, joined with the sum of its children."""
    kind = ar.GetItem("kind") >> kinds.block() >> ar.Embedding(len(kinds), size)
    join = ar.Concat() >> ar.FC(size, activation=ar.ops.tanh, name="join")
    add = ar.Fold(ar.Function(lambda total, x: total + x), ar.Zeros([size]))

    @ar.fix
    def tree(me: Any) -> Any:
        below = ar.GetItem("children") >> ar.Map(me) >> add
        return (kind & below) >> join

    return ar.GetItem("tree") >> tree >> ar.FC(len(names), name="classify")


def main(*folders: Path, epochs: int = 5) -> float:
    """Trains on the functions and returns the share whose first word it then knows."""
    data = list(functions(list(folders) or [Path(module.__file__ or "").parent for module in (json, email)]))
    kinds = ar.Vocabulary(name for name in dir(ast) if isinstance(getattr(ast, name), type))
    names = ar.Vocabulary.of((function["name"] for function in data), min_freq=3)
    scores = namer(kinds, names)
    loss = (scores & ar.GetItem("name") >> names.block()) >> ar.SoftmaxCrossEntropy()
    model = ar.compile(loss)
    ar.training.train(model, data, ar.training.Adam(0.005), epochs=epochs, batch_size=32, progress=False)
    accuracy = ar.metrics.Accuracy()
    judge = ar.compile(scores, params=model.params)
    accuracy.update(judge(data), names.numbers(function["name"] for function in data))
    share = accuracy.figures()["accuracy"]
    print(f"{len(data)} functions, {len(names)} first words: {share:.2f} are known after {epochs} epochs")
    return share


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
