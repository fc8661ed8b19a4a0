"""Write docs/ops.md: every operation, from its docstring, and every primitive, from the registry.

python docs/make_ops.py            write the page
python docs/make_ops.py --check    exit with 1 if the page is not what would be written
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))  # run as a script, Python sees the folder docs alone

from arrows import ops
from arrows.ops import Primitive
from arrows.ops.primitive import no_gradient
from arrows.typesys import types as T
from tests.ops.table import CASES

PAGE = Path(__file__).with_name("ops.md")

# The chapters, in the order of the page: a module of arrows.ops each.  Modules not named here follow.
CHAPTERS = [
    "elementwise", "activations", "comparison", "reductions", "norms", "linear", "shaping",
    "indexing", "lookup", "segment_ops", "dropout",
]  # fmt: skip

HEAD = """\
# Operations

<!-- Written by docs/make_ops.py from the docstrings and the registry; change those. -->

What can be computed on tensors inside a `Function` or a `Layer`, as `ar.ops.name(...)`. Functions are
written for one example: shapes have no batch axis. Operands are tensors, NumPy arrays (constants) and
Python numbers; given arrays and numbers alone, an operation computes at once. Shapes broadcast as in
NumPy; element types do not mix: Python numbers take the tensor's type, and `cast` changes it. Operators
mean operations: `+ - * / // % @ **`, `> >= < <= == !=`, `& | ~` on truth values, `x[...]`. A function cannot
branch on values (`if x > 0`): write `where`, or choose between blocks with `OneOf`.

A *sequence* inside a function is one tensor that stands for all elements; operations work on each
element, and those of the chapter on sequences combine the elements.
"""

PRIMITIVES = """\
## Primitives

What the operations above are made of: `ar.ops.extend.primitives()`. For each an example of its rule, and
whether it has a derivative, works element by element, or has a cheaper way to sum its result over a
batch's rows (for gradients of parameters). `ar.ops.extend.register` adds one: see its documentation.

| name | rule, by example | derivative | element-wise | summed over rows |
|---|---|---|---|---|
"""


def f(*shape: int) -> T.Tensor:
    return T.Tensor(shape)


INDEX, TRUTH = T.Tensor((2,), "int32"), T.Tensor((2, 3), "bool")
REDUCED: dict[str, Any] = {"axes": (-1,), "keepdims": False}

# Operands and attributes that show the rule.  Element-wise primitives of one or two floats need none; others
# that are not named here are shown by their first row in the tests' table of primitives.
SAMPLES: dict[str, tuple[tuple[T.Tensor, ...], dict[str, Any]]] = {
    "argmax": ((f(2, 3),), {"axis": -1}),
    "argmin": ((f(2, 3),), {"axis": -1}),
    "broadcast_to": ((f(1, 3),), {"shape": (2, 3)}),
    "cast": ((f(2, 3),), {"dtype": "float64"}),
    "clip": ((f(2, 3),), {"low": 0, "high": 1}),
    "concat": ((f(2), f(3)), {"axis": -1}),
    "cumsum": ((f(2, 3),), {"axis": -1, "reverse": False}),
    "dropout": ((f(2, 3), T.Tensor((), "uint64")), {"rate": 0.5}),
    "elu": ((f(2, 3),), {"alpha": 1.0}),
    "index": ((f(2, 3),), {"key": (0, (1, 3, 1))}),
    "leaky_relu": ((f(2, 3),), {"slope": 0.01}),
    "log_softmax": ((f(2, 3),), {"axis": -1}),
    "logical_and": ((TRUTH, TRUTH), {}),
    "logical_not": ((TRUTH,), {}),
    "logical_or": ((TRUTH, TRUTH), {}),
    "logsumexp": ((f(2, 3),), REDUCED),
    "lookup": ((f(9, 3), INDEX), {}),
    "matmul": ((f(3), f(3, 4)), {}),
    "matmul_each": ((f(2, 3, 4), f(2, 4, 5)), {}),
    "max": ((f(2, 3),), REDUCED),
    "min": ((f(2, 3),), REDUCED),
    "norm": ((f(2, 3),), REDUCED),
    "one_hot": ((INDEX,), {"size": 9, "dtype": "float32"}),
    "outer": ((f(2), f(3)), {}),
    "pad_slice": ((f(2),), {"key": ((1, 3, 1),), "shape": (4,)}),
    "pick": ((f(2, 9), INDEX), {}),
    "place": ((f(2), INDEX), {"size": 9}),
    "power": ((f(2, 3),), {"exponent": 3}),
    "reshape": ((f(2, 3),), {"shape": (6,)}),
    "scatter_row": ((f(2, 3), INDEX), {"size": 9}),
    "segment_attention": ((f(6), f(6), f(6)), {"heads": 2, "causal": False}),
    "segment_attention_gradient": (
        (f(6), f(6), f(6), f(6), f(2), f(2)),
        {"heads": 2, "causal": False},
    ),
    "segment_broadcast": ((f(3),), {"domain": 0}),
    "segment_count": ((f(3),), {"dtype": "int32"}),
    "segment_max": ((f(3),), {"default": 0.0}),
    "segment_min": ((f(3),), {"default": 0.0}),
    "segment_position": ((f(3),), {}),
    "segment_shift": ((f(3),), {"by": 1}),
    "segment_softmax": ((f(3),), {}),
    "segment_sum": ((f(3),), {}),
    "segment_take": ((f(3), T.Tensor((), "int32")), {"default": None}),
    "softmax": ((f(2, 3),), {"axis": -1}),
    "sum": ((f(2, 3),), REDUCED),
    "sum_to": ((f(2, 3),), {"shape": (2, 1)}),
    "transpose": ((f(2, 3),), {"axes": (-1, -2)}),
    "where": ((TRUTH, f(2, 3), f(1, 3)), {}),
}


def page() -> str:
    """The text of docs/ops.md."""
    parts = [HEAD]
    for chapter in chapters():
        text = " ".join((importlib.import_module(f"arrows.ops.{chapter}").__doc__ or "").split())
        parts.append(f"## {re.split(r'[.:;](?: |$)', text)[0]}\n")
        parts += [described(name, function) for name, function in operations(chapter)]
    rows = [row(ops.extend.primitives()[name]) for name in sorted(ours())]
    return "\n".join([*parts, PRIMITIVES + "".join(rows)])


def chapters() -> list[str]:
    """The modules that define operations."""
    functions = {name: getattr(ops, name) for name in ops.__all__}
    modules = {
        function.__module__.rpartition(".")[2]
        for function in functions.values()
        if inspect.isfunction(function)
    }
    return CHAPTERS + sorted(modules - set(CHAPTERS))


def operations(chapter: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public functions that a module of arrows.ops defines, in the order of its lines."""
    module = importlib.import_module(f"arrows.ops.{chapter}")
    functions = {
        name: getattr(ops, name)
        for name in ops.__all__
        if getattr(getattr(ops, name), "__module__", "") == module.__name__
        and inspect.isfunction(getattr(ops, name))
    }
    yield from sorted(functions.items(), key=lambda item: (item[1].__code__.co_firstlineno, item[0]))


def described(name: str, function: Callable[..., Any]) -> str:
    """One operation as Markdown: signature, text, arguments, example."""
    signature = inspect.signature(function)
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    shown = signature.replace(parameters=plain, return_annotation=inspect.Signature.empty)
    return "\n".join([f"### `{name}{shown}`\n", *markdown(inspect.getdoc(function) or "")])


def markdown(doc: str) -> Iterator[str]:
    """A Google docstring as paragraphs of Markdown."""
    for block in re.split(r"\n\n+", doc):
        heading = re.match(r"(Args|Returns|Raises):\n", block)
        if block.startswith(">>>"):
            yield f"```pycon\n{block}\n```\n"
        elif heading:
            lines = textwrap.dedent(block[heading.end() :])
            items = re.split(r"\n(?=\S)", lines)
            yield f"{ {'Args': 'Arguments'}.get(heading[1], heading[1]) }:\n"
            yield "\n".join(f"* {entry(' '.join(item.split()))}" for item in items) + "\n"
        else:
            yield block + "\n"


def entry(text: str) -> str:
    """`name: what it is` with the name as code."""
    name, colon, rest = text.partition(": ")
    return f"{', '.join(f'`{n}`' for n in name.split(', '))}: {rest}" if colon and len(name) < 40 else text


def ours() -> set[str]:
    """The package's own primitives (a test or a notebook may have added some)."""
    return {
        name
        for name, p in ops.extend.primitives().items()
        if getattr(p.rule, "__module__", "").startswith("arrows.")
    }


def row(primitive: Primitive) -> str:
    """One primitive as a row of the table."""
    types, attributes = SAMPLES.get(primitive.name) or sample(primitive)
    result: T.Type = primitive.rule(*types, **attributes)
    operands: list[T.Type] = list(types)
    if primitive.segmented:
        operands = operands if "domain" in attributes else [T.Sequence(kind) for kind in types]
        result = result if primitive.collapses else T.Sequence(result)
    keywords = "".join(f", {key}={value!r}" for key, value in attributes.items())
    rule = f"`({', '.join(map(str, operands))}{keywords})` → `{result}`"
    marks = (primitive.vjp is not no_gradient, primitive.elementwise, primitive.sum_rows is not None)
    return f"| `{primitive.name}` | {rule} | {' | '.join('yes' if mark else '' for mark in marks)} |\n"


def sample(primitive: Primitive) -> tuple[tuple[T.Tensor, ...], dict[str, Any]]:
    """Operands that show the rule of a primitive, and attributes."""
    for types in ((f(2, 3),), (f(2, 1), f(1, 3))):
        try:
            primitive.rule(*types)
        except TypeError:
            continue
        return types, {}
    for name, operands, attributes in CASES:
        if name == primitive.name:
            return tuple(T.Tensor(operand.shape, operand.dtype.name) for operand in operands), attributes
    raise LookupError(f"primitive {primitive.name!r} has no row in tests/ops/table.py")


def main(arguments: list[str]) -> int:
    text = page()
    if "--check" in arguments:
        same = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
        print(f"{PAGE} is {'up to date' if same else 'out of date: run python docs/make_ops.py'}")
        return 0 if same else 1
    PAGE.write_text(text, encoding="utf-8")
    print(f"{PAGE} written")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
