"""`OneOf` and `Optional`: a key of the input chooses one of several blocks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Generic, TypeAlias, TypeVar, overload

from arrows.combinators.base.arguments import (
    function_name,
    places_of,
    set_name,
    shortened,
    wrong_argument,
    wrong_value,
)
from arrows.combinators.base.block import A, AnyBlock, B, Block, are_pairs, as_block
from arrows.combinators.base.printing import Argument, Spelling, by_key
from arrows.combinators.base.wires import Wire
from arrows.combinators.constant import InferredZeros
from arrows.typesys import explains_arguments

K = TypeVar("K")

Key: TypeAlias = Callable[[Any], Hashable] | AnyBlock
"""The key of a choice: a function of the input, or a block whose result is a Python object."""


class Choice(Block[A, B]):
    """The core form of choice: the key of the input says which of the cases acts on the input.

    Attributes:
        key: a function of the input, run while an example is read; None if the key is a block, which is then
            `parts[0]`.
        keys: `keys[i]` selects `cases[i]`.
    """

    key: Callable[[Any], Hashable] | None
    keys: tuple[Hashable, ...]

    def __init__(
        self, key: Key, cases: Sequence[tuple[Hashable, object]], *, name: str | None = None
    ) -> None:
        set_name(self, name)
        blocks = tuple(as_block(case, f"the case {k!r} of {self.kind}") for k, case in cases)
        self.key = None if isinstance(key, Block) else key
        self.keys = tuple(k for k, _ in cases)
        self._parts = (key, *blocks) if isinstance(key, Block) else blocks

    @property
    def cases(self) -> tuple[AnyBlock, ...]:
        """The block of each key."""
        return self.parts if self.key is not None else self.parts[1:]

    @property
    def key_block(self) -> AnyBlock | None:
        """The key if it is a block, else None."""
        return self.parts[0] if self.key is None else None

    @property
    def selector(self) -> Key:
        """The key as it was given."""
        return self.parts[0] if self.key is None else self.key

    def arguments(self) -> Sequence[Argument]:
        words = function_name(self.key) if self.key_block is None else self.key_block
        return [words, by_key(self.keys, ([case] for case in self.cases))]

    def summary(self) -> Spelling:
        return Spelling(self.kind, ("..." if self.key is None else function_name(self.key),))


class Cases(Choice[A, B], Generic[A, K, B]):
    """A `OneOf` with at least one case; `case` returns a new block with one more case."""

    kind = "OneOf"

    def case(self, key: K, block: Block[A, B]) -> Cases[A, K, B]:
        """Returns the same choice with one more case.

        Args:
            key: the key that selects the case; hashable.
            block: the block for this key.

        Raises:
            ArrowTypeError: the key cannot be hashed, or `block` is no block.
            ArrowValueError: there is such a case already.

        Example:
            >>> import arrows as ar
            >>> sign = ar.OneOf(lambda x: x > 0).case(True, ar.Scalar()).case(False, ar.Zeros([]))
            >>> sign.keys
            (True, False)
        """
        pairs = [*zip(self.keys, self.cases, strict=True), (key, block)]
        return Cases(self.selector, _checked(pairs), name=self.name)


class NoCases(Generic[A, K]):
    """A `OneOf` without cases; it becomes a block with its first case."""

    block_hint = "a OneOf has at least one case: ar.OneOf(key).case(True, f).case(False, g)"

    def __init__(self, key: Key, name: str | None) -> None:
        self._key = key
        self._name = name

    def case(self, key: K, block: Block[A, B]) -> Cases[A, K, B]:
        """Returns the choice with its first case; see `Cases.case`."""
        return Cases(self._key, _checked([(key, block)]), name=self._name)

    def __repr__(self) -> str:
        return "a OneOf without cases"


@overload
def OneOf(key: Block[A, Any], *, name: str | None = None) -> NoCases[A, Any]: ...
@overload
def OneOf(key: Callable[[A], K], *, name: str | None = None) -> NoCases[A, K]: ...
@overload
def OneOf(key: object, cases: object, *, name: str | None = None) -> Cases[Any, Any, Any]: ...
@explains_arguments("block")
def OneOf(key: object, cases: object = None, *, name: str | None = None) -> Any:
    """One of several blocks, chosen for each example by a key.

    Args:
        key: a function of the input (a Python object), or a block whose result is a Python object. It runs
            while an example is read.
        cases: a dict of blocks by key, a list of pairs (key, block), or a list of blocks (keys 0, 1, ...; a
            bool counts as 0 or 1). Left out: add them by `.case(key, block)`, which type checkers follow.
        name: the name in messages.

    Raises:
        ArrowTypeError: `key` is no function and no block, the cases are none of these, or a key cannot be
            hashed.
        ArrowValueError: no cases, or a key twice.
        InputError: at evaluation, a key without a case; whatever the key function raises.

    Source: TensorFlow Fold, `td.OneOf`.

    Example:
        >>> import arrows as ar
        >>> size = ar.OneOf(type).case(str, ar.InputTransform(len)).case(int, ar.Identity())
        >>> size.eval("tree"), size.eval(3)
        (4, 3)
    """
    if isinstance(key, Block) or hasattr(key, "block_hint"):
        key = as_block(key, "the key of a OneOf")
    elif not callable(key):
        raise wrong_argument(
            "a OneOf",
            f"expected as key a function of the input, or a block, got {shortened(key)}",
            hint="ar.OneOf(lambda x: x['kind'], {'leaf': f, 'pair': g})",
        )
    if cases is None:
        return NoCases(key, name)
    if isinstance(cases, Mapping):
        pairs = list(cases.items())
    elif isinstance(cases, (list, tuple)):
        pairs = list(cases) if are_pairs(cases) else list(enumerate(cases))
    else:
        raise wrong_argument(
            "a OneOf",
            f"expected a dict of blocks, a list of pairs (key, block) or a list of blocks, got {cases!r}",
            hint="ar.OneOf(key, {'leaf': f, 'pair': g})",
        )
    if not pairs:
        raise wrong_value("a OneOf", "it has no case to choose", hint=NoCases.block_hint)
    return Cases(key, _checked(pairs), name=name)


def _checked(pairs: Sequence[tuple[Any, object]]) -> Sequence[tuple[Hashable, object]]:
    """The cases, no two of which have equal keys."""
    hint = "keys that compare equal are one key, as True and 1 are"
    places_of("a OneOf", "key", (key for key, _ in pairs), hint)
    return pairs


def is_none(x: object) -> bool:
    """The key function of `Optional`."""
    return x is None


class Optional(Choice[A | None, B], Generic[A, B]):
    """One block for something, another for None.

    Only `None` is nothing: 0, `[]` and `""` are something.

    Args:
        some: what to do with an object that is not None.
        none: what to give for None; left out: zeros of the type that `some` gives.
        name: the name in messages.

    Raises:
        ArrowTypeError: an argument is no block; at `compile`, both give different types.

    Source: TensorFlow Fold, `td.Optional`.

    Example:
        >>> import arrows as ar
        >>> word = ar.Optional(ar.Scalar("int32"), ar.Constant(0, "int32"))
        >>> int(word.eval(None)), int(word.eval(7))
        (0, 7)
    """

    def __init__(
        self,
        some: Callable[[Wire[A]], Wire[B]],
        none: Block[Any, B] | None = None,
        *,
        name: str | None = None,
    ) -> None:
        first = as_block(some, "the first case of an Optional")
        second = InferredZeros() if none is None else as_block(none, "the None case of an Optional")
        super().__init__(is_none, [(False, first), (True, second)], name=name)

    def arguments(self) -> tuple[AnyBlock, ...]:
        return self.parts

    def summary(self) -> Spelling:
        return Spelling(self.kind, self.parts[:1])
