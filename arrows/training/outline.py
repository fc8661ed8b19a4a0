"""What a block computes, in lines that compare: two blocks with the same outline compute the same.

An outline has a line for each occurrence, in the order of the expression: how many parts it has, its block,
its types, and a hash of its operations, constants and parameters. What functions on Python objects do does
not show; for that there is the fingerprint of prepared sets (`arrows.engine.reading.hashes`).
"""

from __future__ import annotations

import hashlib
import re

from arrows.combinators import Constant
from arrows.engine.planning import owned_parameters
from arrows.inference import Typed
from arrows.ops import Trace
from arrows.typesys import types as T

_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")


def outline(typed: Typed) -> str:
    """The lines that describe a typed expression, as a text.

    >>> import arrows as ar
    >>> for line in outline(ar.infer(ar.Vector(2) >> ar.FC(1))).split("\\n"):
    ...     print(line.partition(" #")[0])
    2 Vector(2) >> FC(1): Input -> float32[1]
    0 Vector(2): Input -> float32[2]
    0 FC(1): float32[2] -> float32[1]
    """
    names = {(id(owner), spec.name): name for name, (owner, spec) in owned_parameters(typed).items()}
    return "\n".join(_line(occurrence, names) for occurrence in typed.walk())


def _line(typed: Typed, names: dict[tuple[int, str], str]) -> str:
    form = typed.form
    label = _ADDRESS.sub("0x", " ".join(form.label.split()))
    text = f"{len(typed.parts)} {label}: {T.notation(typed.input, 100)} -> {T.notation(typed.output, 100)}"
    if typed.trace is not None:
        return f"{text} #{_of_trace(typed.trace, names)}"
    if isinstance(form, Constant) and form.value is not None and not form.trainable:
        return f"{text} #{_short(form.value.tobytes())}"
    return text


def _of_trace(trace: Trace, names: dict[tuple[int, str], str]) -> str:
    parameters = [(names[id(owner), spec.name], var.id) for owner, spec, var in trace.parameters]
    constants = [(var.id, _short(array.tobytes())) for array, var in trace.constants]
    equations = [str(equation) for equation in trace.equations]
    results = [var.id for var in trace.results]
    said = repr(([str(var) for var in trace.inputs], parameters, constants, equations, results))
    return _short(said.encode("utf-8", "surrogatepass"))


def _short(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
