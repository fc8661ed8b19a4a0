"""Parses types from text: the inverse of `notation` but for keys, with the help of Python's own parser."""

from __future__ import annotations

import ast

from arrows.typesys.errors import ArrowTypeError, ArrowValueError, message, quoted
from arrows.typesys.types import DTYPES, Broadcast, Input, Sequence, Tensor, Tuple, Type, Void, as_type

_HINT = (
    "a type is Input, Void, Sequence(T), Broadcast(T), a tuple such as (T, U) or (T,), "
    f"or an element type with its sizes, as float32[300]; the element types are {', '.join(sorted(DTYPES))}"
)


def parse_type(text: str) -> Type:
    """Parses a type in the notation in which types are printed.

    The notation is `Input`, `Void`, `float32`, `float32[300]`, `Sequence(T)`, `Broadcast(T)`, `(T, U)`,
    `(T,)`; the short-hands `[3]` and `[3, "int32"]` are allowed too. Keys of tuples are left out.

    Raises:
        ArrowTypeError: the text is not a type, or it nests deeper than Python reads, about 100 brackets.

    Example:
        >>> parse_type("(Sequence(int32), float64[2, 3])")
        (Sequence(int32), float64[2, 3])
    """
    try:
        return _type(ast.parse(text.strip(), mode="eval").body)
    except (ArrowTypeError, ArrowValueError) as error:
        reason = str(error)
    except SyntaxError as error:
        reason = f"it is not in the notation of types: {error.msg}"
    except (ValueError, TypeError, RecursionError, MemoryError):  # Python's parser and labels that it read
        reason = "it is not in the notation of types"
    raise ArrowTypeError(message(f"cannot read {quoted(text)} as a type", reason=reason, hint=_HINT))


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
            return Tuple([_type(item) for item in items])
    raise ArrowTypeError(f"{ast.unparse(node)} is not a type")
