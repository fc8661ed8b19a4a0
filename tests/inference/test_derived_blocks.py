"""Errors of a block that is made of others speak of that block, by its name if it has one."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import arrows as ar

NUMBERS = ar.Map(ar.Scalar())
BOTH = ar.Record((NUMBERS, NUMBERS))
MULTIPLY = ar.Function(lambda x, y: x * y)
FIRST = ar.Pipe(ar.GetItem(0), ar.Scalar(), name="first")
CELL = ar.GRUCell(2)
GRAPH = ar.GetItem(0) >> NUMBERS & ar.GetItem(1)
MARKED = GRAPH & ar.GetItem(2) >> NUMBERS
MARKS = "MessagePassing(GetItem(0), features=True)"

# A block by its name, an example that it does not take, and its words where it has none.
CASES: list[tuple[Any, Callable[[str | None], Any], Any, str]] = [
    (ar.ZipWith, lambda n: BOTH >> ar.ZipWith(MULTIPLY, name=n), ([1, 2], [3]), "ZipWith(Function(lambda))"),
    (ar.ZipWith, lambda n: ar.ZipWith(BOTH, name=n), ([[1]], []), "ZipWith(Record(2 blocks))"),
    (ar.ZipWith, lambda n: ar.ZipWith(FIRST, name=n), ([1], 3), "ZipWith(first)"),
    (ar.ZipWith, lambda n: ar.ZipWith(FIRST, name=n), 3, "ZipWith(first)"),
    (ar.ZipWith, lambda n: ar.ZipWith(FIRST, strict=False, name=n), 3, "ZipWith(first, strict=False)"),
    (ar.NGrams, lambda n: ar.NGrams(2, name=n) >> ar.Map(FIRST), 3, "NGrams(2)"),
    (ar.MessagePassing, lambda n: GRAPH >> passing(n), ([1, 2], [[0, 2]]), "MessagePassing(GetItem(0))"),
    (ar.MessagePassing, lambda n: GRAPH >> passing(n), ([1, 2], [0]), "MessagePassing(GetItem(0))"),
    (ar.MessagePassing, lambda n: GRAPH >> passing(n), ([1, 2], 3), "MessagePassing"),
    (ar.MessagePassing, lambda n: MARKED >> passing(n, True), ([1], [[0, 0]], []), MARKS),
    (ar.Stack, lambda n: NUMBERS >> ar.Stack(3, name=n), [1, 2], "Stack(3)"),
    (ar.OneHot, lambda n: ar.OneHot(3, name=n), 5, "OneHot(3)"),
    (ar.OneHotFromList, lambda n: ar.OneHotFromList("ab", name=n), "c", "OneHotFromList(['a', 'b'])"),
    (
        ar.Attention,
        lambda n: ar.Map(ar.Vector(1)) >> ar.Attention(ar.FC(1), name=n),
        [],
        "Attention(FC(1))",
    ),
]


def passing(name: str | None, features: bool = False) -> Any:
    return ar.MessagePassing(ar.GetItem(0), features=features, name=name)


@pytest.mark.parametrize(("kind", "make", "example", "words"), CASES)
def test_examples(kind: Any, make: Callable[[str | None], Any], example: Any, words: str) -> None:
    for name, wanted in (("mine", "mine"), (None, words)):
        model = ar.compile(make(name))
        for run in (model.eval, lambda x, m=model: m([x])):
            with pytest.raises(ar.InputError) as caught:
                run(example)
            line = next(line for line in str(caught.value).splitlines() if line.startswith("  in  "))
            assert line.startswith(f"  in  {wanted}  test_derived_blocks.py:")


def test_every_derived_block_stands_here() -> None:
    here = {kind.__name__ for kind, *_ in CASES} | {block.kind for block in DERIVED.values()}
    sources = [path.read_text() for path in Path(ar.__file__).parent.rglob("*.py")]
    made = re.findall(r'(?:derived|spell|_one_hot)\(\s*"(\w+)"', "".join(sources))
    missing = sorted({*made} - here)
    assert not missing, f"add {missing} to DERIVED of tests/inference/test_derived_blocks.py"
    assert here <= {*made}


INPUTS: dict[str, Any] = {
    "vector": ar.Vector(3),
    "scalar": ar.Scalar(),
    "numbers": NUMBERS,
    "vectors": ar.Map(ar.Vector(3)),
    "integers": ar.Map(ar.Scalar("int32")),
    "object": ar.GetItem("x"),
    "sequences": ar.Map(NUMBERS),
    "pair": NUMBERS & ar.Map(ar.Vector(3)),
    "mixed": ar.Scalar() & NUMBERS,
    "nothing": ar.Void(),
    "pairs": ar.Map(ar.Scalar() & ar.Vector(2)),
    "matrices": ar.Map(ar.Tensor([2, 2])),
    "endless": ar.Zeros([3]) >> ar.Broadcast(),
    "network": NUMBERS >> ar.Map(ar.Function(lambda x: x.reshape(1))) >> ar.RNN(CELL),
}
DERIVED: dict[str, Any] = {
    "Attention": ar.Attention(ar.FC(1)),
    "vector scores": ar.Attention(ar.FC(2)),
    "values": ar.Attention(ar.FC(1), ar.Embedding(3, 4)),
    "Conv1d": ar.Conv1d(3, 2),
    "Bidirectional": ar.Bidirectional(CELL, ar.GRUCell(3)),
    "NGrams": ar.NGrams(2),
    "Window": ar.Window(2),
    "Stack": ar.Stack(2),
    "MessagePassing": ar.MessagePassing(ar.FC(1), ar.FC(1)),
    "with features": ar.MessagePassing(ar.Concat(), features=True),
    "ZipWith": ar.ZipWith(MULTIPLY),
    "OneHot": ar.OneHot(3),
    "OneHotFromList": ar.OneHotFromList("ab"),
}


def labels_written(block: Any) -> set[str]:
    """The labels of the blocks that were written to make this one; not of those inside of derived blocks."""
    is_made = isinstance(block, ar.Pipe) and not block.is_chain
    inside = block.spelling.blocks if is_made else block.parts
    return {block.label}.union(*map(labels_written, inside))


@pytest.mark.parametrize("kind", DERIVED)
def test_what_the_user_did_not_write_is_not_named(kind: str) -> None:
    refused: list[tuple[Any, Any]] = []
    for before in INPUTS.values():
        block = before >> DERIVED[kind]
        try:
            ar.infer(block)
        except ar.ArrowTypeError as error:
            refused.append((block, error))
    assert len(refused) >= 2 and any(DERIVED[kind].kind in str(error) for _, error in refused)
    for block, error in refused:
        told = error.details
        assert "test_derived_blocks.py:" in str(error)
        names = [side.name for side in told.sides]
        strange = {name for name in names if not name.startswith("a fan of")} - labels_written(block)
        assert not strange, told
        assert f"fixed by {names[0]}" not in told.reason, told
