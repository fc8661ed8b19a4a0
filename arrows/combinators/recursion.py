"""Recursion: `fix` makes a recursive block at once; nothing is ever left undefined."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from arrows.combinators.block import Block, set_name
from arrows.combinators.convert import as_block
from arrows.combinators.inputs import function_name
from arrows.typesys.errors import ArrowTypeError, ArrowValueError, Site, message

A = TypeVar("A")
B = TypeVar("B")


class Token:
    """Ties references to their knot, by identity."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<knot {self.name}>"


class Reference(Block[A, B]):
    """The recursive block inside its own definition.

    Attributes:
        token: shared with the `Fix` that it refers to.
    """

    token: Token

    def __init__(self, token: Token) -> None:
        self.token = token

    def brief(self, depth: int) -> str:
        return self.token.name


class Fix(Block[A, B]):
    """The core form of recursion: inside the body, references with this token stand for the whole.

    Attributes:
        token: shared with its references.
        body: what to do; its only part.
    """

    token: Token

    def __init__(self, token: Token, name: str, body: Block[A, B]) -> None:
        self.kind = "fix"
        set_name(self, name)
        self.token = token
        self._parts = (body,)

    @property
    def body(self) -> Block[Any, Any]:
        """What the recursive block does."""
        return self.parts[0]


def fix(definition: Callable[[Block[A, B]], Block[A, B]]) -> Block[A, B]:
    """A recursive block.

    Args:
        definition: from a reference to the finished block, to that block. It is called once, now; its name
            becomes the block's name.

    Returns:
        The block; it may stand in many places.

    Raises:
        ArrowTypeError: `definition` is no function of one argument, or gives no block; at `compile`, a
            reference stands outside its own definition, or its types do not agree.

    Source: Hughes, "Generalising monads to arrows" (2000), section 5 (`loop`); TensorFlow Fold,
        `td.ForwardDeclaration`.

    Example:
        >>> import arrows as ar
        >>> @ar.fix
        ... def depth(me):
        ...     deeper = ar.Map(me) >> ar.InputTransform(lambda xs: 1 + max(xs, default=0))
        ...     return ar.OneOf(
        ...         lambda t: isinstance(t, list), {True: deeper, False: ar.InputTransform(lambda t: 0)}
        ...     )
        >>> depth.eval([1, [2, [3]]])
        3
    """
    if isinstance(definition, Block) or not callable(definition):
        raise ArrowTypeError(
            message(
                f"cannot make a recursive block at {Site.here()}",
                reason=f"fix expects a function from the block to its definition, got {definition!r}",
                hint="ar.fix(lambda me: ar.OneOf(...).case(True, leaf).case(False, ar.Map(me) >> ...))",
            )
        )
    name = function_name(definition)
    count = _parameters(definition)
    if count != 1:
        raise ArrowValueError(
            message(
                f"cannot make the recursive block {name} at {Site.here()}",
                reason=f"fix expects a function of one reference, got one of {count} parameters",
                hint="one function of one parameter, `me`: the reference to the block itself",
            )
        )
    token = Token(name)
    body = definition(Reference(token))
    return Fix(token, name, as_block(body, f"the definition of {name} that its function returned"))


def _parameters(function: Any) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a builtin without a signature: let the call decide
        return 1
    required = [
        p
        for p in parameters
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
    ]
    return len(required) or any(p.kind in (p.VAR_POSITIONAL, p.POSITIONAL_OR_KEYWORD) for p in parameters)
