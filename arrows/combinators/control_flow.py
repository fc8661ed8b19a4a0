"""Control flow: choice among blocks by a key of the input, and recursion.

`fix` makes recursive blocks at once; a `ForwardDeclaration` is named first, and defined later.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Concatenate, Generic, TypeAlias, TypeVar, overload

from arrows.combinators.base.arguments import (
    function_name,
    parameter_names,
    places_of,
    require_name,
    set_name,
    shortened,
    value_refusal,
    wrong_argument,
    wrong_value,
)
from arrows.combinators.base.block import A1, A2, B1, B2, A, AnyBlock, B, Block, are_pairs, as_block, spelled
from arrows.combinators.base.printing import Argument, Spelling, by_key
from arrows.combinators.base.wires import Wire
from arrows.combinators.constant import InferredZeros
from arrows.typesys import SourceLine, explains_arguments, types as T

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


@dataclass(slots=True, eq=False)
class Token:
    """Ties references to the recursive block that they stand for, by identity.

    Attributes:
        name: the name of the recursive block.
        input, output: the declared types, or None.
        alone: whether its definition refers to no other, so that it is printed where it stands first.
        site: the line that made it.
        definition: the block that references with this token stand for, wherever they are; it is set once.
    """

    name: str
    input: T.Type | None = None
    output: T.Type | None = None
    alone: bool = False
    site: SourceLine = field(default_factory=SourceLine.here)
    definition: AnyBlock | None = None

    def define(self, block: AnyBlock) -> bool:
        """Sets the definition unless there is one; returns whether it did."""
        with _WRITING:
            if self.definition is None:
                self.definition = block
                return True
            return False

    def __reduce__(self) -> tuple[Any, ...]:
        # Leaves out the definition, which leads back here: pickles of blocks hold the definitions themselves.
        return Token, (self.name, self.input, self.output, self.alone, self.site)


_WRITING = threading.Lock()
_LATER = object()  # the definition of a `fix` that is called with types alone, as a decorator


class Reference(Block[A, B]):
    """The core form of recursion: a recursive block by its name, inside of its own definition and anywhere.

    Attributes:
        token: what all references to the block share; it has the definition.
    """

    kind = "fix"
    token: Token

    def __init__(self, token: Token, *, name: str | None = None) -> None:
        set_name(self, name)
        self.token = token

    def arguments(self) -> list[str]:
        return [self.token.name]

    def brief(self, depth: int) -> str:
        return self.token.name


@overload
def fix(
    *, input_type: object = None, output_type: object = None
) -> Callable[[Callable[[Block[A, B]], Block[A, B]]], Block[A, B]]: ...
@overload
def fix(
    definition: Callable[[Block[A, B]], Block[A, B]], *, input_type: object = None, output_type: object = None
) -> Block[A, B]: ...
@overload
def fix(
    definition: Callable[[Block[A1, B1], Block[A2, B2]], tuple[Block[A1, B1], Block[A2, B2]]],
    *,
    input_type: object = None,
    output_type: object = None,
) -> tuple[Block[A1, B1], Block[A2, B2]]: ...
@overload
def fix(
    definition: Callable[Concatenate[AnyBlock, AnyBlock, AnyBlock, ...], tuple[AnyBlock, ...]],
    *,
    input_type: object = None,
    output_type: object = None,
) -> tuple[AnyBlock, ...]: ...
def fix(definition: Any = _LATER, *, input_type: object = None, output_type: object = None) -> Any:
    """Makes a recursive block, or several that refer to one another.

    Args:
        definition: takes a reference to the finished block, and returns that block; or takes several
            references, and returns a tuple of as many blocks. It is called once, immediately. Its name
            becomes the block's name; each of several blocks has the name of its parameter.
        input_type: the type of the block's input, or a short-hand for one; None leaves it to inference. For
            several blocks a tuple with one for each.
        output_type: the type of its result, likewise. It is needed where nothing else fixes the type, as in a
            recursion that ends at an empty list, below a `Function`.

    Returns:
        The block, or the tuple of blocks; each may stand in many places. Without a definition, a decorator
        that makes the block of one: `@ar.fix(output_type=[4])`.

    Raises:
        ArrowTypeError: `definition` is no function, or does not give a block for each of its parameters; a
            declared type is none, or there is not one for each of several blocks; at `compile`, a reference
            stands outside its own definition, or its types do not agree with one another or with those
            declared.
        ArrowValueError: `definition` has no parameter.

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

        A sum over a tree of lists, where no leaf says how long a vector is:

        >>> @ar.fix(output_type=[2])
        ... def total(me):
        ...     below = ar.GetItem(1) >> ar.Map(me) >> ar.Sum()
        ...     return (ar.GetItem(0) >> ar.Scalar() & below) >> ar.Function(lambda x, sums: x + sums)
        >>> total.eval((1, [(2, []), (3, [])])).tolist()
        [6.0, 6.0]

        Two that refer to one another:

        >>> one_less = ar.InputTransform(lambda n: n - 1)
        >>> even, odd = ar.fix(
        ...     lambda even, odd: (
        ...         ar.OneOf(bool).case(False, ar.InputTransform(lambda n: True)).case(True, one_less >> odd),
        ...         ar.OneOf(bool)
        ...         .case(False, ar.InputTransform(lambda n: False))
        ...         .case(True, one_less >> even),
        ...     )
        ... )
        >>> even.eval(10), odd.eval(10)
        (True, False)
    """
    if definition is _LATER:
        return partial(fix, input_type=input_type, output_type=output_type)
    if isinstance(definition, Block) or not callable(definition):
        raise wrong_argument(
            "a recursive block",
            f"fix expects a function from the block to its definition, got {definition!r}",
            hint="ar.fix(lambda me: ar.OneOf(...).case(True, leaf).case(False, ar.Map(me) >> ...))",
        )
    name = function_name(definition)
    parameters = parameter_names(
        f"make the recursive block {name}",
        definition,
        "nothing in it can stand for the block",
        "one parameter, `me`: the reference to the block itself; "
        "or one for each of several blocks: ar.fix(lambda a, b: (f, g))",
    )
    count, alone = len(parameters), len(parameters) == 1
    names = (name,) if alone else parameters
    named = f"the recursive blocks {', '.join(names)}"
    inputs, outputs = (
        (types,) if alone else _for_each(named, count, which, types)
        for which, types in (("input", input_type), ("output", output_type))
    )
    blocks: tuple[Reference[Any, Any], ...] = tuple(
        Reference(Token(own, _declared(input), _declared(output), alone=alone), name=own if alone else None)
        for own, input, output in zip(names, inputs, outputs, strict=True)
    )
    bodies = (definition(*blocks),) if alone else definition(*blocks)
    if not isinstance(bodies, tuple) or len(bodies) != count:
        raise wrong_argument(
            named,
            f"the function has {count} parameters, so it must return a tuple of {count} blocks, "
            f"one for each; it returned {shortened(bodies)}",
            hint=f"return the definitions of {', '.join(parameters)}, in this order",
        )
    for own, block, body in zip(names, blocks, bodies, strict=True):
        block.token.define(as_block(body, f"the definition of {own} that its function returned"))
    return blocks[0] if alone else blocks


def _declared(type: object) -> T.Type | None:
    return None if type is None else T.as_type(type)


def _for_each(named: str, count: int, which: str, types: object) -> tuple[object, ...]:
    """The declared types of several blocks, one for each."""
    types = (None,) * count if types is None else types
    if not isinstance(types, tuple) or len(types) != count:
        raise wrong_argument(
            named,
            f"{which}_type= takes a tuple with a type for each of the {count} blocks, got {types!r}",
            hint=f"{which}_type=([4], None): None leaves a type to inference",
        )
    return types


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
        self.name = "declaration" if name is None else name
        self._token = Token(self.name, _declared(input_type), _declared(output_type))
        self._finished: Block[A, B] = self()

    def __call__(self) -> Block[A, B]:
        """The block that stands for the definition."""
        block: Reference[A, B] = Reference(self._token)
        return spelled(block, Spelling("ForwardDeclaration", (self.name,)))

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
        if not self._token.define(as_block(block, f"the definition of {self.name}")):
            hint = "a declaration stands for one block; make another one for another block"
            origin = f"{self!r} was made at {self._token.site}"
            raise value_refusal("resolve a declaration again", origin, hint=hint)
        return self._finished

    def __repr__(self) -> str:
        return f"<declaration {self.name}, {'' if self._token.definition is not None else 'un'}resolved>"
