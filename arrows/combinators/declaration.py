"""`ForwardDeclaration`: a recursive block that is named first and defined later, once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic

from arrows.combinators.base.arguments import require_name, value_refusal
from arrows.combinators.base.block import A, B, Block
from arrows.combinators.base.convert import as_block
from arrows.combinators.base.wires import Wire
from arrows.combinators.recursion import DECLARATION, Reference, Token
from arrows.typesys import types as T


class ForwardDeclaration(Generic[A, B]):
    """A block that is declared now and defined later; `ar.fix` does the same in one step.

    A declaration is no block itself. Calling it gives a block that stands for the definition, which
    `resolve_to` gives, once.

    Args:
        input_type: the type of the input, or a short-hand for one; None leaves it to inference.
        output_type: the type of the result, likewise.
        name: the name in messages and where the block is printed.

    Raises:
        ArrowTypeError: an argument that stands for no type, a name that is not text; at `compile`, a
            declaration that was never resolved, or a definition of another type.
        ArrowValueError: it is resolved twice.

    Source: TensorFlow Fold, `td.ForwardDeclaration`.

    Example:
        >>> import arrows as ar
        >>> declared = ar.ForwardDeclaration(name="depth")
        >>> deeper = ar.Map(declared()) >> ar.InputTransform(lambda xs: 1 + max(xs, default=0))
        >>> leaf = ar.InputTransform(lambda t: 0)
        >>> depth = declared.resolve_to(
        ...     ar.OneOf(lambda t: isinstance(t, list)).case(True, deeper).case(False, leaf)
        ... )
        >>> depth.eval([1, [2, [3]]])
        3
    """

    block_hint = "call it for a block that refers to it; once it is resolved, use what resolve_to returned"

    def __init__(
        self: ForwardDeclaration[Any, Any],
        input_type: object = None,
        output_type: object = None,
        name: str | None = None,
    ) -> None:
        if name is not None:
            require_name("ForwardDeclaration", "its name", name)
        input = None if input_type is None else T.as_type(input_type)
        output = None if output_type is None else T.as_type(output_type)
        token = Token(DECLARATION if name is None else name, input, output, declared=True)
        self._reference: Reference[A, B] = Reference(token)

    @property
    def name(self) -> str:
        """The name in messages."""
        return self._reference.token.name

    def __call__(self) -> Block[A, B]:
        """The block that stands for the definition."""
        return Reference(self._reference.token)

    def resolve_to(self, block: Callable[[Wire[A]], Wire[B]]) -> Block[A, B]:
        """Says what the declaration stands for, once and for all.

        Args:
            block: the definition, or what stands for a block.

        Returns:
            The finished block.

        Raises:
            ArrowTypeError: `block` is no block.
            ArrowValueError: it was resolved before.
        """
        token = self._reference.token
        if not token.define(as_block(block, f"the definition of {token.name}")):
            made = f"it was made at {token.site}, and is resolved already"
            hint = "a declaration stands for one block; make another one for another block"
            raise value_refusal(f"resolve {token.words}", made, hint=hint)
        return self._reference

    def __repr__(self) -> str:
        return f"<declaration {self.name}, {'' if self._reference.definition is not None else 'un'}resolved>"
