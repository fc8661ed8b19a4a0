"""What a block computes, in lines that compare: two blocks with the same outline compute the same.

An outline has a line for each occurrence, in the order of the expression: how many parts it has, its block,
its types, and a hash of its operations, constants and parameters.  What functions on Python objects do does
not show; for that there is the fingerprint of prepared sets (`arrows.engine.reading.fingerprint`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from arrows.combinators import Constant
from arrows.engine.planning.layer_names import owned_parameters
from arrows.inference import Typed
from arrows.ops import Trace
from arrows.typesys import types as T
from arrows.typesys.quoting import escaped

_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_MOST = 3  # differences that a message lists
_LOOKED_AT = 200  # lines from the first difference on: a stranger's file may have millions
_WIDTH = 120  # characters of a line in a message


def outline(typed: Typed) -> list[str]:
    """The lines that describe a typed expression.

    >>> import arrows as ar
    >>> for line in outline(ar.infer(ar.Vector(2) >> ar.FC(1))):
    ...     print(line.partition(" #")[0])
    2 Vector(2) >> FC(1): Input -> float32[1]
    0 Vector(2): Input -> float32[2]
    0 FC(1): float32[2] -> float32[1]
    """
    names = {(id(owner), spec.name): name for name, (owner, spec) in owned_parameters(typed).items()}
    return [_line(occurrence, names) for occurrence in typed.walk()]


def fingerprint_of(lines: Sequence[str]) -> str:
    """A hash of an outline."""
    return f"sha256:{hashlib.sha256(_bytes(chr(10).join(lines))).hexdigest()}"


def differing_lines(saved: Sequence[str], now: Sequence[str], whose_saved: str, whose_now: str) -> list[str]:
    """The first differences between two outlines, a line each.

    >>> differing_lines(["0 FC(1): a -> b #12"], ["0 FC(1): a -> b #34"], "then", "now")
    ['FC(1): a -> b computes something else']
    >>> differing_lines(["0 FC(1): a -> b #12"], [], "then", "now")
    ['FC(1): a -> b: then alone']
    """
    alike = 0
    while alike < min(len(saved), len(now)) and saved[alike] == now[alike]:
        alike += 1
    saved, now = saved[alike : alike + _LOOKED_AT], now[alike : alike + _LOOKED_AT]
    texts: list[str] = []
    for kind, i, i_end, j, j_end in SequenceMatcher(None, saved, now, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        then, today = (_shown(lines) for lines in (saved[i:i_end], now[j:j_end]))
        if then == today:
            texts.append(f"{then} computes something else")
        elif not then or not today:
            texts.append(f"{then}: {whose_saved} alone" if then else f"{today}: {whose_now} alone")
        else:
            texts.append(f"{then}: {whose_saved}; {today}: {whose_now}")
        if len(texts) == _MOST:
            break
    return texts


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
    return _short(_bytes(said))


def _short(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _shown(lines: Sequence[str]) -> str:
    if not lines:
        return ""
    first = lines[0].partition(" ")[2].partition(" #")[0]
    more = f" and {len(lines) - 1} more" if len(lines) > 1 else ""
    return f"{escaped(first, _WIDTH)}{more}"
