"""Write docs/primitives.md: every primitive with an example of its rule, from the registry.

python docs/make_primitives.py
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))  # run as a script, Python sees the folder docs alone

from arrows import ops
from arrows.ops import Primitive
from arrows.ops.primitive import ROW, no_gradient
from arrows.typesys import types as T
from tests.ops.table import CASES

PAGE = Path(__file__).with_name("primitives.md")

HEAD = """\
# Primitives

<!-- Written by docs/make_primitives.py from the registry. -->

What the [operations](reference/ops.rst) are made of: `ar.ops.extend.primitives()`. `ar.ops.extend.register`
adds one: see its documentation.

## Rules

For each an example of its rule, and whether it works element by element, or has a cheaper way to sum its
result over a batch's rows (for gradients of parameters).

| name | rule, by example | element-wise | summed over rows |
|---|---|---|---|
"""

GRADIENTS = """
## Gradients

For each that has a derivative, the gradient of each operand: what its `vjp` computes for operands as above
(of one shape, if it works element by element). `g` is the gradient of the result, and `y` the result. What is
not named here passes no gradient.

| name | gradient of | is |
|---|---|---|
"""

INFIX = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "matmul": "@", "power": "**"}
INFIX |= {"greater": ">", "greater_equal": ">=", "equal": "==", "logical_and": "&", "logical_or": "|"}


def f(*shape: int) -> T.Tensor:
    return T.Tensor(shape)


INDEX, TRUTH = T.Tensor((2,), "int32"), T.Tensor((2, 3), "bool")
REDUCED: dict[str, Any] = {"axes": (-1,), "keepdims": False}

# Operands and attributes that show the rule.  Element-wise primitives of one or two floats need none; others
# that are not named here are shown by their first row in the tests' table of primitives.
SAMPLES: dict[str, tuple[tuple[T.Tensor, ...], dict[str, Any]]] = {
    "argmax": ((f(2, 3),), {"axis": -1}),
    "broadcast_to": ((f(1, 3),), {"shape": (2, 3)}),
    "cast": ((f(2, 3),), {"dtype": "float64"}),
    "concat": ((f(2), f(3)), {"axis": -1}),
    "dropout": ((f(2, 3), T.Tensor((), "uint64")), {"rate": 0.5}),
    "index": ((f(2, 3),), {"key": (0, (1, 3, 1))}),
    "log_softmax": ((f(2, 3),), {"axis": -1}),
    "logical_and": ((TRUTH, TRUTH), {}),
    "logical_not": ((TRUTH,), {}),
    "logical_or": ((TRUTH, TRUTH), {}),
    "lookup": ((f(9, 3), INDEX), {}),
    "matmul": ((f(3), f(3, 4)), {}),
    "matmul_each": ((f(2, 3, 4), f(2, 4, 5)), {}),
    "max": ((f(2, 3),), REDUCED),
    "min": ((f(2, 3),), REDUCED),
    "norm": ((f(2, 3),), REDUCED),
    "one_hot": ((INDEX,), {"size": 9, "dtype": "float32"}),
    "outer": ((f(2), f(3)), {}),
    "pad_slice": ((f(2),), {"key": ((1, 3, 1),), "shape": (4,)}),
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
    "transpose": ((f(2, 3),), {"axes": (-1, -2)}),
    "where": ((TRUTH, f(2, 3), f(1, 3)), {}),
}


def page() -> str:
    """The text of docs/primitives.md."""
    own = [ops.extend.primitives()[name] for name in sorted(ours())]
    return HEAD + "".join(map(row, own)) + GRADIENTS + "".join(map(gradients, own))


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
    marks = (primitive.elementwise, primitive.sum_rows is not None)
    return f"| `{primitive.name}` | {rule} | {' | '.join('yes' if mark else '' for mark in marks)} |\n"


def gradients(primitive: Primitive) -> str:
    """The gradients of one primitive as rows of the table, one for each operand that has one."""
    if primitive.vjp is no_gradient:
        return ""
    types, attributes = SAMPLES.get(primitive.name) or sample(primitive)
    if primitive.elementwise:
        types = tuple(T.Tensor((2, 3), kind.dtype) for kind in types)
    recorder = ops.TraceRecorder()
    spread = "domain" in attributes
    rows = [
        0 if primitive.segmented and not spread and not (primitive.collapses and i) else ROW
        for i in range(len(types))
    ]
    operands = [recorder.input(kind, level) for kind, level in zip(types, rows, strict=True)]
    like = recorder.input(types[0], 0) if spread else None
    result = ops.bind(primitive, *operands, like=like, **attributes)
    g = recorder.input(result.type, result.rows)
    words = inspect.signature(primitive.vjp).parameters
    names = [name for name in words if name not in attributes][2:]
    if len(names) < len(operands):  # as many as there are
        names = [f"{names[0]}{i}" for i in range(len(operands))]
    names = names[: len(operands)]
    text = {operand.var: name for operand, name in zip(operands, names, strict=True)}
    text |= {result.var: "y", g.var: "g"}
    if like is not None:
        text[like.var] = "like"
    found = primitive.vjp(g, result, *operands, **attributes)
    text = {var: f"{array.item():g}" for array, var in recorder.constants if array.size == 1} | text
    for equation in recorder.equations:
        text.setdefault(equation.result, written(equation, [text[var] for var in equation.operands]))
    lines = [
        f"| `{primitive.name}` | `{name}` | `{bare(text[gradient.var])}` |\n"
        for name, gradient in zip(names, found, strict=True)
        if gradient is not None
    ]
    return "".join(lines).replace("||", "\\|\\|")


def written(equation: ops.Equation, operands: list[str]) -> str:
    """An equation as text, with its operands as text."""
    name, attributes = equation.primitive.name, dict(equation.attributes)
    if name == "power":
        return f"({operands[0]} ** {attributes['exponent']:g})"
    if name in INFIX:
        return f"({operands[0]} {INFIX[name]} {operands[1]})"
    if name in ("negative", "logical_not"):
        return f"{'-' if name == 'negative' else '~'}{operands[0]}"
    operands = [bare(operand) for operand in operands]
    return f"{name}({', '.join(operands + [f'{key}={value!r}' for key, value in attributes.items()])})"


def bare(text: str) -> str:
    """A text without parentheses around the whole."""
    depth = 0
    for i, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth and i < len(text) - 1:
            return text
    return text[1:-1] if text.startswith("(") else text


def sample(primitive: Primitive) -> tuple[tuple[T.Tensor, ...], dict[str, Any]]:
    """Operands that show the rule of a primitive, and attributes."""
    rows = [(operands, attributes) for name, operands, attributes in CASES if name == primitive.name]
    if not rows:
        raise LookupError(f"primitive {primitive.name!r} has no row in tests/ops/table.py")
    operands, attributes = rows[0]
    if primitive.elementwise and not attributes:
        return ((f(2, 3),), (f(2, 1), f(1, 3)))[len(operands) - 1], {}
    return tuple(T.Tensor(operand.shape, operand.dtype.name) for operand in operands), attributes


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE} written")
