"""Choice: one of several blocks, by a key of the input. `OneOf`, `Optional`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Generic, NoReturn, TypeVar, overload

from arrows.combinators.block import AnyBlock, Block, set_name
from arrows.combinators.compose import DerivedBlock, Identity, Pipe
from arrows.combinators.constant import InferredZeros
from arrows.combinators.convert import as_block
from arrows.combinators.fanout import Fan
from arrows.combinators.inputs import Item, Transform, function_name
from arrows.combinators.wires import Wire
from arrows.typesys.errors import ArrowTypeError, ArrowValueError, SourceLine, message, unhashed

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
K = TypeVar("K")


class Choice(Block[A, B]):
    """The core form of choice.

    Attributes:
        key: a function of the input, run while an example is read; None if the key is a block, which is then
            `parts[0]`.
        keys: `keys[i]` selects case `i`; the cases are the (other) parts, in order.
    """

    key: Callable[[Any], Hashable] | None
    keys: tuple[Hashable, ...]

    def __init__(
        self,
        key: Callable[[Any], Hashable] | AnyBlock,
        keys: tuple[Hashable, ...],
        cases: tuple[Any, ...],
        *,
        name: str | None = None,
    ) -> None:
        set_name(self, name)
        blocks = tuple(
            as_block(c, f"the case {k!r} of {self.kind}") for k, c in zip(keys, cases, strict=True)
        )
        self.key = None if isinstance(key, Block) else key
        self.keys = keys
        self._parts = (key, *blocks) if isinstance(key, Block) else blocks

    @property
    def cases(self) -> tuple[AnyBlock, ...]:
        """The block of each key."""
        return self.parts if self.key is not None else self.parts[1:]

    @property
    def key_block(self) -> AnyBlock | None:
        """The key, if it is a block."""
        return self.parts[0] if self.key is None else None

    def arguments(self, depth: int = 2) -> str:
        return "..." if self.key is None else function_name(self.key)


class Cases(Choice[A, B], Generic[A, K, B]):
    """A `OneOf` with at least one case; `case` gives a new block with one case more."""

    def case(self, key: K, block: Block[A, B]) -> Cases[A, K, B]:
        """The same choice with one more case.

        Args:
            key: the key that selects it; hashable.
            block: what to do then.

        Raises:
            ArrowTypeError: the key cannot be hashed, or `block` is no block.
            ArrowValueError: there is such a case already.

        Example:
            >>> import arrows as ar
            >>> sign = ar.OneOf(lambda x: x > 0).case(True, ar.Scalar()).case(False, ar.Zeros([]))
            >>> sign.keys
            (True, False)
        """
        selector = self.key if self.key is not None else self.parts[0]
        pairs = [*zip(self.keys, self.cases, strict=True), (key, block)]
        made: Cases[A, K, B] = _cases(selector, pairs, self.name)
        return made


class OneOfWithPreBlock(DerivedBlock[Any, Any]):
    """A `OneOf` whose cases see what a block makes of the input, while its key sees the input itself.

    Attributes:
        keys: `keys[i]` selects `cases[i]`.
        key: a function of the input, or a block.
        pre_block: what is done before the cases.
        cases: the block of each key.
    """

    keys: tuple[Hashable, ...]
    key: Any
    cases: tuple[AnyBlock, ...]

    def __init__(self, key: Any, pairs: list[Any], pre_block: Any, *, name: str | None = None) -> None:
        self.kind = "OneOf"
        set_name(self, name)
        chosen: Choice[Any, Any] = _OneOf(key, tuple(k for k, _ in pairs), tuple(b for _, b in pairs))
        self.keys, self.cases = chosen.keys, chosen.cases
        self.key = key
        by = key if isinstance(key, Block) else _KeyFunction(key)
        before = as_block(pre_block, "the pre_block of a OneOf")
        after: list[AnyBlock] = [Pipe(Item(1), case) for case in self.cases]
        self._parts = (Fan((Identity(), before)), _OneOf(Pipe(Item(0), by), self.keys, tuple(after)))

    @property
    def pre_block(self) -> AnyBlock:
        """What is done before the cases."""
        return self.parts[0].parts[1]

    @property
    def roles(self) -> list[str]:
        """What its blocks are for, in the order in which they run."""
        key = ["key"] if isinstance(self.key, Block) else []
        return ["before", *key, *(f"case {key!r}" for key in self.keys)]

    def case(self, key: Hashable, block: Any) -> OneOfWithPreBlock:
        """The same choice with one more case; see `Cases.case`."""
        pairs = [*zip(self.keys, self.cases, strict=True), (key, block)]
        made: OneOfWithPreBlock = _cases(self.key, pairs, self.name, self.pre_block)
        return made

    def written(self) -> list[AnyBlock | str]:
        pieces: list[AnyBlock | str] = [
            self.key if isinstance(self.key, Block) else function_name(self.key),
            ", {",
        ]
        for i, (key, case) in enumerate(zip(self.keys, self.cases, strict=True)):
            pieces.extend([", " if i else "", f"{key!r}: ", case])
        return [*pieces, "}, pre_block=", self.pre_block]


class _KeyFunction(Transform[Any, Any]):
    """The key function of a choice, as a block."""

    def __init__(self, function: Callable[[Any], Hashable]) -> None:
        self.kind = "OneOf"
        self.function = function


class NoCases(Generic[A, K]):
    """A `OneOf` still without cases: no block yet."""

    def __init__(self, key: Any, name: str | None, pre_block: Any = None) -> None:
        self._key = key
        self._name = name
        self._pre_block = pre_block
        self._site = SourceLine.here()

    def case(self, key: K, block: Block[A, B]) -> Cases[A, K, B]:
        """The choice with its first case; see `Cases.case`."""
        made: Cases[A, K, B] = _cases(self._key, [(key, block)], self._name, self._pre_block)
        return made

    def _not_yet_a_block(self, where: str = "a block") -> NoReturn:
        raise ArrowValueError(
            message(
                f"cannot use a OneOf without cases as {where} at {SourceLine.here()}",
                reason=f"the OneOf made at {self._site} has no case to choose",
                hint="ar.OneOf(key).case(True, f).case(False, g)",
            )
        )

    def __rshift__(self, other: Any) -> NoReturn:
        self._not_yet_a_block("the left side of >>")

    def __and__(self, other: Any) -> NoReturn:
        self._not_yet_a_block("the left side of &")

    def __mul__(self, other: Any) -> NoReturn:
        self._not_yet_a_block("the left side of *")

    def __call__(self, *args: Any) -> NoReturn:
        self._not_yet_a_block("a block on a wire")

    def eval(self, x: Any = None) -> NoReturn:
        """A OneOf without cases has no value."""
        self._not_yet_a_block("a block to evaluate")

    def __repr__(self) -> str:
        return f"OneOf({_key_name(self._key)}), without cases"


@overload
def OneOf(key: Block[A, Any], *, name: str | None = None) -> NoCases[A, Any]: ...
@overload
def OneOf(key: Callable[[A], K], *, name: str | None = None) -> NoCases[A, K]: ...
@overload
def OneOf(
    key: Callable[[A], K], cases: Mapping[K, Block[A, B]], *, name: str | None = None
) -> Cases[A, K, B]: ...
@overload
def OneOf(key: Any, cases: Any, *, name: str | None = None) -> Cases[Any, Any, Any]: ...
@overload
def OneOf(
    key: Callable[[A], Any],
    cases: Mapping[Any, Block[C, B]],
    *,
    pre_block: Block[A, C],
    name: str | None = None,
) -> Block[A, B]: ...
@overload
def OneOf(key: Any, cases: Any = None, *, pre_block: Any, name: str | None = None) -> Any: ...
def OneOf(key: Any, cases: Any = None, *, pre_block: Any = None, name: str | None = None) -> Any:
    """One of several blocks, chosen for each example by a key.

    Args:
        key: a function of the input (a Python object), or a block whose result is a Python object. It runs
            while an example is read.
        cases: a dict of blocks by key, a list of pairs (key, block), or a list of blocks (keys 0, 1, ...; a
            bool counts as 0 or 1). Left out: add them by `.case(key, block)`, which type checkers follow.
        pre_block: what is done before the cases, whichever is chosen: they see its result, and the key sees
            the input. Left out: they see the input.
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
    refuse = getattr(key, "_not_yet_a_block", None)
    if refuse is not None:
        refuse("the key of a OneOf")
    if not isinstance(key, Block) and not callable(key):
        if isinstance(key, Mapping) and cases is None:
            raise ArrowTypeError(
                message(
                    f"cannot make a OneOf at {SourceLine.here()}",
                    reason="the first argument is the key that chooses, and it got the cases",
                    hint="ar.OneOf(lambda x: x['kind'], {'leaf': f, 'pair': g})",
                )
            )
        if isinstance(key, (Mapping, tuple)) and key:
            key = as_block(key, "the key of a OneOf")
        else:
            raise ArrowTypeError(
                message(
                    f"cannot make a OneOf at {SourceLine.here()}",
                    reason=f"expected as key a function of the input, or a block, got {key!r}",
                    hint="to choose by a field: ar.OneOf(lambda x: x['kind'])",
                )
            )
    if cases is None:
        return NoCases(key, name, pre_block)
    if isinstance(cases, Mapping):
        pairs = list(cases.items())
    elif isinstance(cases, (list, tuple)):
        pairs = (
            [tuple(p) for p in cases]
            if all(isinstance(p, tuple) and len(p) == 2 and not isinstance(p[0], Block) for p in cases)
            else list(enumerate(cases))
        )
    else:
        raise ArrowTypeError(
            message(
                f"cannot make a OneOf at {SourceLine.here()}",
                reason="expected a dict of blocks, a list of pairs (key, block) or a list of blocks, "
                f"got {cases!r}",
                hint="ar.OneOf(key, {'leaf': f, 'pair': g})",
            )
        )
    if not pairs:
        NoCases(key, name)._not_yet_a_block()
    return _cases(key, pairs, name, pre_block)


def _cases(key: Any, pairs: list[Any], name: str | None, pre_block: Any = None) -> Any:
    seen: set[Hashable] = set()
    for k, case in pairs:
        if isinstance(k, Block) and not isinstance(case, Block):
            raise ArrowTypeError(
                message(
                    f"cannot make a OneOf at {SourceLine.here()}",
                    reason=f"a case has the block {k.label} as its key and {case!r} as its block",
                    hint=f"the key comes first: .case({case!r}, {k.label})",
                )
            )
        try:
            hash(k)  # `in` would take a set for a frozenset
            twice = k in seen
        except Exception as error:  # noqa: BLE001 (its own __hash__ or __eq__ may raise anything)
            raise ArrowTypeError(
                message(f"cannot make a OneOf at {SourceLine.here()}", reason=f"the key {unhashed(k, error)}")
            ) from (None if isinstance(error, TypeError) else error)
        if twice:
            raise ArrowValueError(
                message(
                    f"cannot make a OneOf at {SourceLine.here()}",
                    reason=f"there are two cases for the key {k!r}",
                    hint="keys that compare equal are one key, as True and 1 are",
                )
            )
        seen.add(k)
    if pre_block is not None:
        return OneOfWithPreBlock(key, pairs, pre_block, name=name)
    return _OneOf(key, tuple(k for k, _ in pairs), tuple(b for _, b in pairs), name=name)


class _OneOf(Cases[A, K, B]):
    """`Cases` by the name that users know."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.kind = "OneOf"
        super().__init__(*args, **kwargs)


def _key_name(key: Any) -> str:
    return key.label if isinstance(key, Block) else function_name(key)


def is_none(x: object) -> bool:
    """The key of `Optional`."""
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
        super().__init__(is_none, (False, True), (first, second), name=name)

    def arguments(self, depth: int = 2) -> str:
        return self.parts[0].brief(depth - 1)
