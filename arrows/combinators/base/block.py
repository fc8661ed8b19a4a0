"""`Block`: an arrow from one type to another, as a frozen value; `Pipe`: one block after another.

A block holds no parameter and no state, and it does not know where it stands: it may stand in many places,
and in many models at once. Blocks compare by identity. All functions that walk over a block (printing,
copying, pickling) use explicit stacks, so an expression may be as deep as memory allows.

`Freezing` makes its objects immutable after `__init__`. `as_block` makes a block of what may stand for one:
dicts and tuples of blocks, NumPy arrays. `chain` makes `f >> g`, which is stored flat; its neutral element is
`Identity`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, Self, TypeAlias, TypeVar, overload

import numpy as np

from arrows.arrays import HostArray
from arrows.combinators.base.arguments import set_name, shortened, type_refusal
from arrows.combinators.base.copying import reduce
from arrows.combinators.base.printing import Argument, Pieces, Spelling, brief, expression, pieces
from arrows.combinators.base.wires import Wire, WithoutValue, as_function, call_on_wires, context_of
from arrows.ops import TensorLike
from arrows.typesys import SourceLine, refuse_arguments, types as T

if TYPE_CHECKING:
    from arrows.combinators.control_flow import Token
    from arrows.combinators.fanout import AndFan

# The type variables that the blocks of this folder share.
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
A1 = TypeVar("A1")
A2 = TypeVar("A2")
B1 = TypeVar("B1")
B2 = TypeVar("B2")
A_contra = TypeVar("A_contra", contravariant=True)
B_co = TypeVar("B_co", covariant=True)


Blocks: TypeAlias = Mapping[Any, object] | tuple[object, ...] | list[tuple[Any, Any]] | HostArray
"""The objects that may stand for a block on the left of an operator, besides blocks."""


class Freezing(type):
    """Seals each object of a class when its `__init__` has ended; says what is wrong with its arguments.

    Derived classes, those of users too, have a plain `__init__`, in which they set attributes.
    """

    if not TYPE_CHECKING:  # type checkers take the arguments of a class from its `__init__`

        def __call__(cls, *args: Any, **keywords: Any) -> Any:
            # Not when Python makes the class, since a decorator such as `@dataclass` may change it then.
            if "_examined" not in cls.__dict__:
                _examine(cls)
                cls._examined = True
            try:
                block = super().__call__(*args, **keywords)
            except TypeError as error:
                if error.__traceback__.tb_next is None:  # Python could not call `__init__` with these
                    sized = cls.foreign != "block" and args and isinstance(args[-1], int)
                    hint = "the sizes of the input are inferred, not given" if sized else ""
                    table = cls.foreign
                    refuse_arguments(cls.__init__, args, keywords, call=cls.__name__, table=table, hint=hint)
                raise
            block.__dict__["_sealed"] = True
            return block

        @property
        def __signature__(cls) -> inspect.Signature:
            signature = inspect.signature(cls.__init__)
            return signature.replace(parameters=[*signature.parameters.values()][1:])


def _examine(cls: Any) -> None:
    """Refuses a class of objects that are no frozen values.

    Raises:
        ArrowTypeError: the class compares its objects, or keeps attributes in slots.
    """
    if cls.__eq__ is not object.__eq__ or cls.__hash__ is not object.__hash__:
        raise type_refusal(
            f"make a {cls.__name__}",
            "blocks compare by identity, since a layer shares its parameters with itself alone; "
            f"{cls.__name__} compares its objects by an __eq__ of its own",
            hint="@dataclass(eq=False) makes no __eq__; else leave out __eq__ and __hash__",
        )
    for owner in cls.__mro__:
        if owner.__dict__.get("__slots__"):
            raise type_refusal(
                f"make a {cls.__name__}",
                f"a block is copied and pickled with its __dict__, and {owner.__name__} has slots",
                hint="leave out slots=True, or __slots__",
            )


class Block(WithoutValue, Generic[A_contra, B_co], metaclass=Freezing):
    """An arrow from `A` to `B`. Compose with `f >> g`, fan out with `f & g`, put side by side on a pair with
    `f * g`, apply to wires inside `@ar.arrow`.

    Attributes:
        name: given by `name=`, else None.
        site: the line that made it.
        kind: the word by which users know blocks of this class: its name, unless it says another.
        parts: the blocks that stand directly inside, in a fixed order.
        effect: whether it does something besides giving a result, whatever stands inside.
        token: of a recursive block, what its references share.
        foreign: the table of `foreign_names` with the arguments of other libraries.

    Example:
        >>> import arrows as ar
        >>> (ar.GetItem("word") >> ar.InputTransform(len)).eval({"word": "tree"})
        4
    """

    name: str | None
    site: SourceLine
    kind: str = "Block"
    effect: bool = False
    token: Token | None = None
    foreign: ClassVar[str] = "block"
    operators: ClassVar[Operators]
    _parts: tuple[AnyBlock, ...]

    # NumPy then leaves `array >> block` to `__rrshift__`, instead of going through the array's elements.
    __array_ufunc__ = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        self = super().__new__(cls)
        self.__dict__.update(name=None, site=SourceLine.here(), _parts=())
        return self

    def __init__(self, *, name: str | None = None) -> None:
        set_name(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        if "_sealed" in self.__dict__:
            raise AttributeError(
                f"blocks are frozen: cannot set {name!r} of {self.label}; make a new block instead"
            )
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"blocks are frozen: cannot delete {name!r} of {self.label}")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.kind = cls.__dict__.get("kind", cls.__name__)

    # What a block is made of

    @property
    def parts(self) -> tuple[AnyBlock, ...]:
        """The blocks that stand directly inside, in a fixed order."""
        return self._parts

    @property
    def definition(self) -> AnyBlock | None:
        """The block that a reference stands for; no part of the reference, since it leads back here."""
        return None if self.token is None else self.token.definition

    def check_finished(self, where: str) -> None:
        """Refuses a block that cannot be used yet: a `Composition` whose scope has not been left.

        `where` says in the message what the block is wanted for.
        """

    # What a block looks like

    @property
    def label(self) -> str:
        """The block in a few words: its name, else its kind and arguments, as `Embedding(9000, 300)`."""
        return self.brief(2)

    def brief(self, depth: int) -> str:
        """Writes `label` with blocks inside down to a depth; deeper ones are `...`."""
        return brief(self, depth) if self.name is None else self.name

    @property
    def spelling(self) -> Spelling:
        """How its author wrote the block, in full."""
        spelling: Spelling | None = self.__dict__.get("_spelling")
        return spelling or Spelling(self.kind, tuple(self.arguments()))

    def arguments(self) -> Sequence[Argument]:
        """The arguments that make such a block, one by one."""
        return self.parts

    def summary(self) -> Spelling:
        """The spelling that `label` shows: it may leave out what is long."""
        return self.spelling

    def pieces(self) -> Pieces:
        """Returns the block as it is printed in full: text, and the blocks inside."""
        return pieces(self.spelling, self.name)

    # Composition

    @overload
    def __call__(self, x: Wire[A_contra], /) -> Wire[B_co]: ...
    @overload
    def __call__(self: Block[tuple[A1, A2], B], x1: Wire[A1], x2: Wire[A2], /) -> Wire[B]: ...
    @overload
    def __call__(self, x1: Wire[Any], x2: Wire[Any], x3: Wire[Any], /, *more: Wire[Any]) -> Wire[B_co]: ...
    @overload
    def __call__(self, *args: TensorLike | HostArray | float | Sequence[Any]) -> Any: ...
    def __call__(self, *args: object) -> Any:
        first = args[0] if args else None  # most calls are on tensors, or on pairs of tensors
        if first.__class__ is tuple and first:
            first = first[0]
        context = first.context if isinstance(first, TensorLike) else context_of(args)
        return call_on_wires(self, args) if context is None else context.call_block(self, args)

    def compute(self, args: tuple[Any, ...]) -> Any:
        """Computes on the tensors of a `Function` that calls the block, if it is of a kind that can."""
        return call_on_wires(self, args)

    reads = __call__
    """The same, as TensorFlow Fold writes a call in the scope of a `Composition`."""

    @overload
    def __rshift__(self, other: Callable[[Wire[B_co]], Wire[C]]) -> Block[A_contra, C]: ...
    @overload
    def __rshift__(self, other: Mapping[Any, Any] | tuple[AnyBlock, ...]) -> Block[A_contra, Any]: ...
    def __rshift__(self, other: object) -> Any:
        return chain(self, other)

    def __rrshift__(self, other: Blocks) -> Block[Any, B_co]:
        return chain(other, self)

    def __and__(self: Block[A, B], other: Callable[[Wire[A]], Wire[C]]) -> AndFan[A, B, C]:
        return self.operators.fan_out(self, other)

    def __rand__(self, other: Blocks) -> AnyBlock:
        return self.operators.fan_out(other, self)

    @overload
    def __mul__(self: Block[A, B], other: Identity | Blocks) -> Block[tuple[A, Any], tuple[B, Any]]: ...
    @overload
    def __mul__(
        self: Block[A, B], other: Callable[[Wire[C]], Wire[D]]
    ) -> Block[tuple[A, C], tuple[B, D]]: ...
    def __mul__(self, other: object) -> Any:
        """`f * g`: a block each for the two items of a pair; `f * g * h` is `(f * g) * h`.

        Example:
            >>> import arrows as ar
            >>> (ar.InputTransform(len) * ar.Identity()).eval(("tree", 2))
            (4, 2)
        """
        return self.operators.side_by_side(self, other)

    def __rmul__(self, other: Blocks) -> AnyBlock:
        return self.operators.side_by_side(other, self)

    def refuse_test(self) -> NoReturn:
        raise type_refusal(
            f"test {self.label}",
            "a block is neither true nor false, so `and`, `or`, `not` and `if` say nothing about it",
            hint="one after the other: f >> g; both results: f & g; one by value: ar.OneOf(key, {...})",
        )

    def refuse_operator(self, symbol: str, operands: tuple[object, ...]) -> NoReturn:
        function, blocks = as_function(symbol, operands)
        names = [x.label if isinstance(x, Block) else "..." for x in blocks]
        before = names[0] if len(names) == 1 else f"({' & '.join(names)})"
        raise type_refusal(
            f"calculate with {self.label}",
            "a block is no number; its result may be one",
            hint=f"put the formula into a block: {before} >> {function}",
        )

    def __iter__(self) -> NoReturn:
        raise type_refusal(
            f"iterate over {self.label}",
            "a block has no items; its result has them, once it is on a wire",
            hint="in an @ar.arrow: `a, b = ar.unpack(block(x), 2)`; elsewhere: block >> ar.GetItem(0)",
        )

    def __getitem__(self, key: object) -> NoReturn:
        raise type_refusal(
            f"index {self.label}",
            "a block has no items; its result has",
            hint=f"take the item of the result: block >> ar.GetItem({key!r})",
        )

    def eval(self, x: A_contra = None) -> Any:  # type: ignore[assignment]
        """The block's value on one example, by the reference evaluator with fresh parameters (seed 0).

        Args:
            x: the example, a Python object.

        Raises:
            ArrowTypeError: the block is ill-typed.
            InputError: the example does not fit.

        Example:
            >>> import arrows as ar
            >>> ar.Scalar("int32").eval(3)
            array(3, dtype=int32)
        """
        from arrows import engine  # a room above: `eval` is for trying a block out

        return engine.evaluate(self, x)

    # Printing, copying, pickling: no recursion

    def __repr__(self) -> str:
        return expression(self)

    def _repr_html_(self) -> str | None:
        from arrows import drawing  # a room above: only a notebook asks for it

        return drawing.notebook_html(self)

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        return reduce(self)


AnyBlock: TypeAlias = Block[Any, Any]
"""A block with any types."""


@dataclass(frozen=True, kw_only=True)
class Operators:
    """The functions behind `&` and `*`, and behind dicts and arrays as operands.

    They make fans and constants, which derive from `Block` and stand in files of their own. `fanout.py`, the
    last of these, sets `Block.operators`.
    """

    fan_out: Callable[[object, object], AndFan[Any, *tuple[Any, ...]]]
    side_by_side: Callable[[object, object], AnyBlock]
    record: Callable[[object], AnyBlock]
    constant: Callable[[object], AnyBlock]


def spelled(block: C, spelling: Spelling) -> C:
    """Gives a new block the words of the block that its author wrote, and that is made of it."""
    block.__dict__.update(kind=spelling.head, _spelling=spelling)
    return block


_ROOMS = ("arrows.combinators.", "arrows.layers.")


def as_block(x: object, where: str) -> AnyBlock:
    """Makes a block of `x`: dicts, tuples of blocks and lists of pairs are records, NumPy arrays constants.

    `where` says in messages what the block is wanted for (`the left side of >>`).

    Raises:
        ArrowTypeError: `x` stands for no block; for a bare function the hint says how to wrap it.

    Example:
        >>> import arrows as ar
        >>> as_block({"a": ar.Scalar()}, "an example").kind
        'Record'
    """
    if isinstance(x, Block):
        x.check_finished(where)
        return x
    if isinstance(x, (Mapping, tuple)) or (isinstance(x, list) and are_pairs(x)):
        T.check_depth(x)
        return Block.operators.record(x)
    if isinstance(x, (np.ndarray, np.generic)):
        return Block.operators.constant(x)
    step = None if isinstance(x, Wire) else getattr(x, "block_hint", None)
    reason = "it is no block yet" if step else "expected a block, or a dict or tuple of blocks"
    raise type_refusal(f"use {_name(x)} as {where}", reason, hint=step or _hint(x))


def are_pairs(x: Sequence[object]) -> bool:
    """Whether a list holds pairs of a key and a block, and nothing else."""
    return bool(x) and all(isinstance(p, tuple) and len(p) == 2 and not isinstance(p[0], Block) for p in x)


def _name(x: object) -> str:
    if isinstance(x, type):
        return f"the class {x.__name__}"
    if callable(x) and hasattr(x, "__name__"):
        return "a lambda" if x.__name__ == "<lambda>" else f"the function {x.__name__}"
    return shortened(x)


def _hint(x: object) -> str:
    if isinstance(x, Wire):
        return "make the block first, then call it on the wire, as ar.Map(f)(wire)"
    if isinstance(x, (type, FunctionType)) and str(x.__module__).startswith(_ROOMS):
        return f"call it: ar.{x.__name__}(...)"
    if callable(x):
        return (
            "ar.Function(f) for a function of tensors, ar.InputTransform(f) for a function of Python objects"
        )
    if isinstance(x, (bool, int, float)):
        return f"a constant is ar.Constant({x!r})"
    if isinstance(x, str):
        return f"read a field with ar.GetItem({x!r})"
    if isinstance(x, list):
        return "one after the other: ar.Pipe(*blocks); all on one input: ar.AllOf(*blocks); a tuple: (f, g)"
    return ""


class Pipe(Block[A, B]):
    """One block after another: the result of each is the input of the next.

    `Pipe()` is the identity. Chains made by `>>` are flat: `(f >> g) >> h` and `f >> (g >> h)` have three
    steps.

    Args:
        *steps: blocks, or what stands for one (dicts and tuples of blocks, arrays).
        name: the name in messages; a named pipe stays one step of the chains it stands in.

    Raises:
        ArrowTypeError: a step is no block.

    Example:
        >>> import arrows as ar
        >>> len((ar.GetItem(0) >> ar.GetItem(1) >> ar.GetItem(2)).parts)
        3
    """

    def __init__(self, *steps: object, name: str | None = None) -> None:
        set_name(self, name)
        self._parts = tuple(as_block(step, "a step of a Pipe") for step in steps)

    @property
    def parts(self) -> tuple[AnyBlock, ...]:
        # `>>` keeps the chain before and the new piece. The chain is flattened once, when its parts are first
        # read, so that growing it by one step always costs the same.
        state = self.__dict__
        if "_before" in state:
            pieces: list[tuple[AnyBlock, ...]] = []
            block: AnyBlock = self
            while "_before" in block.__dict__:
                pieces.append(block.__dict__["_after"])
                block = block.__dict__["_before"]
            pieces.append(block._parts)
            state["_parts"] = tuple(step for piece in reversed(pieces) for step in piece)
            # Readers test `_before` first, so it goes last; a second thread would compute the same parts.
            state.pop("_before", None)
            state.pop("_after", None)
        return self._parts

    @property
    def is_chain(self) -> bool:
        """Whether it is a chain of `>>` to its author too, and not a block that is made of one."""
        return "_spelling" not in self.__dict__

    @property
    def spelling(self) -> Spelling:
        if not self.is_chain:
            return super().spelling
        if not self.parts:
            return Spelling("Identity", ())
        return Spelling(">>" if self.name is None else "Pipe", self.parts)


def derived(head: str, arguments: Sequence[Argument], *steps: AnyBlock, name: str | None) -> Pipe[Any, Any]:
    """Makes a block that is a chain of others, is written `head(arguments)`, and stays one step.

    Args:
        head, arguments: as its author writes it; the blocks among these stand somewhere inside.
        *steps: the chain. Messages call the blocks in it that its author does not know by the words of the
            whole.
        name: the name in messages.
    """
    whole: Pipe[Any, Any] = spelled(Pipe(*steps), Spelling(head, tuple(arguments)))
    words = whole.spelling.brief(1)
    set_name(whole, name)
    written = {id(block) for block in whole.spelling.blocks}
    todo = list(steps)
    while todo:
        if id(block := todo.pop()) not in written:
            todo.extend(block.parts)
            if not isinstance(block, Pipe):
                set_name(spelled(block, Spelling(head, (words,))), name)
    return whole


class SameType(AnyBlock):
    """Base of blocks that give what they get: `Identity` and `Tap`."""

    # Generic in its own call, so that checkers solve its type at the place of use.
    if TYPE_CHECKING:

        def __call__(self, x: Wire[A], /) -> Wire[A]: ...  # type: ignore[override]

        def __rshift__(self, other: Callable[[Wire[A]], Wire[B]]) -> Block[A, B]: ...  # type: ignore[override]


class Identity(SameType, Pipe[Any, Any]):
    """The block that returns its input: `Identity() >> f` is `f`.

    Example:
        >>> import arrows as ar
        >>> ar.Identity().eval("x")
        'x'
    """

    def __init__(self, *, name: str | None = None) -> None:
        super().__init__(name=name)


def chain(left: object, right: object) -> AnyBlock:
    """Makes `left >> right` as a flat chain; an unnamed identity adds no step."""
    first, second = as_block(left, "the left side of >>"), as_block(right, "the right side of >>")
    if _is_identity(first):
        return second
    if _is_identity(second):
        return first
    pipe: Pipe[Any, Any] = Pipe()
    state = pipe.__dict__
    after = second.parts if _extends(second) else (second,)
    if _extends(first):
        state["_before"], state["_after"] = first, after
    else:
        state["_parts"] = (first, *after)
    return pipe


def _is_identity(block: AnyBlock) -> bool:
    """Whether a block is an unnamed chain without steps; the test flattens no chain."""
    return _extends(block) and "_before" not in block.__dict__ and not block._parts


def _extends(block: AnyBlock) -> bool:
    """Whether the steps of a chain become steps of the longer chain that `>>` makes."""
    return isinstance(block, Pipe) and block.name is None and block.is_chain
