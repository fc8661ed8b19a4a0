"""Parses types from text: the inverse of `notation`.

The notation is nearly Python's own, so Python parses it. It does not know the colon behind a label, which is
replaced by `|`: an operator that binds weaker than all that may stand in a label or a type.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable

from arrows.typesys.errors import ArrowTypeError, ArrowValueError, message
from arrows.typesys.quoting import quoted
from arrows.typesys.types import DTYPES, Broadcast, Input, Sequence, Tensor, Tuple, Type, Void, as_type

_TEXT_OR_COLON = re.compile(
    r"""(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?:(?P<word>[^\W\d]\w*)\s*)?:""", re.DOTALL
)
_HINT = (
    "a type is Input, Void, Sequence(T), Broadcast(T), a tuple such as (T, U), (T,) or (left: T, right: U), "
    f"or an element type with its sizes, as float32[300]; the element types are {', '.join(sorted(DTYPES))}"
)


def parse_type(text: str) -> Type:
    """Parses a type in the notation in which types are printed.

    The notation is `Input`, `Void`, `float32`, `float32[300]`, `Sequence(T)`, `Broadcast(T)`, `(T, U)`,
    `(left: T, right: U)`, `(T,)`; the short-hands `[3]` and `[3, "int32"]` are allowed too.

    Raises:
        ArrowTypeError: the text is not a type, or it nests deeper than Python reads, about 100 brackets.

    Example:
        >>> parse_type("(words: Sequence(int32), scale: float64[2, 3])")
        (words: Sequence(int32), scale: float64[2, 3])
    """
    try:
        return _type(ast.parse(_TEXT_OR_COLON.sub(_operator, text.strip()), mode="eval").body)
    except (ArrowTypeError, ArrowValueError) as error:
        reason = str(error)
    except SyntaxError as error:
        reason = f"it is not in the notation of types: {error.msg}"
    except (ValueError, TypeError, RecursionError, MemoryError):  # Python's parser and labels that it read
        reason = "it is not in the notation of types"
    raise ArrowTypeError(message(f"cannot read {quoted(text)} as a type", reason=reason, hint=_HINT))


def _operator(match: re.Match[str]) -> str:
    """Writes `|` for a colon, and a word before it as a text, for it may be a keyword of Python."""
    text, word = match["text"], match["word"]
    if text:
        return text
    return "|" if word is None else f"{word if word in ('None', 'True', 'False') else repr(word)}|"


def _type(node: ast.expr) -> Type:
    match node:
        case ast.Name("Input" | "Void" as word):
            return {"Input": Input(), "Void": Void()}[word]
        case ast.Name(word) if word in DTYPES:
            return Tensor((), word)
        case ast.Subscript(ast.Name(word), sizes) if word in DTYPES:
            shape = ast.literal_eval(sizes)
            return Tensor(shape if isinstance(shape, tuple) else (shape,), word)
        case ast.List():
            return as_type(ast.literal_eval(node))
        case ast.Call(ast.Name("Sequence" | "Broadcast" as word), [element], []):
            return {"Sequence": Sequence, "Broadcast": Broadcast}[word](_type(element))
        case ast.Tuple(items):
            return _tuple(items)
        case ast.BinOp(_, ast.BitOr(), _):
            raise ArrowTypeError(
                "labels stand in tuples alone, and a tuple of one item has a comma: (left: T,)"
            )
    raise ArrowTypeError(f"{ast.unparse(node)} is not a type")


def _tuple(items: list[ast.expr]) -> Type:
    labels: list[Hashable] = []
    types: list[Type] = []
    for item in items:
        if isinstance(item, ast.BinOp) and isinstance(item.op, ast.BitOr):
            labels.append(ast.literal_eval(item.left))
            item = item.right
        types.append(_type(item))
    if labels and len(labels) < len(types):
        raise ArrowTypeError("some items of a tuple have labels, and others have none")
    return Tuple(types, tuple(labels) if labels else None)
