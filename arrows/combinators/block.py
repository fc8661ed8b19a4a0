"""`Block`: an arrow from one type to another, as a frozen value.

A block holds no array, remembers nothing, and knows nothing of where it stands: it may stand in many places
    and many
models at once. Blocks compare by identity. All that walks over a block (printing, copying, pickling) uses
explicit stacks, so an expression may be as deep as memory allows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, Self, TypeAlias, TypeVar, overload

import numpy as np

from arrows.combinators.wires import Wire, recorder_of, scope_is_open
from arrows.typesys.errors import ArrowTypeError, ArrowValueError, SourceLine, message
from arrows.typesys.quoting import unwritable

if TYPE_CHECKING:
    from arrows.combinators.compose import Identity
    from arrows.combinators.fanout import AndFan

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
A1 = TypeVar("A1")
A2 = TypeVar("A2")
A3 = TypeVar("A3")
A4 = TypeVar("A4")
A_contra = TypeVar("A_contra", contravariant=True)
B_co = TypeVar("B_co", covariant=True)


Blocks: TypeAlias = Mapping[Any, Any] | tuple[Any, ...] | list[tuple[Any, Any]] | np.ndarray[Any, Any]
"""What stands for a block on the left of an operator; blocks themselves have the operator."""


class Block(Generic[A_contra, B_co]):
    """An arrow from `A` to `B`. Compose with `f >> g`, fan out with `f & g`, put side by side on a pair with
    `f * g`, apply to wires inside `@ar.arrow`.

    Attributes:
        name: given by `name=`, else None.
        site: where it was made.
        kind: the word by which the user knows it, `Record` for instance.
        parts: the blocks that stand directly inside, in a fixed order.

    Example:
        >>> import arrows as ar
        >>> (ar.GetItem("word") >> ar.InputTransform(len)).eval({"word": "tree"})
        4
    """

    name: str | None
    site: SourceLine
    kind: str
    _parts: tuple[AnyBlock, ...]
    _sealed: bool

    effect: ClassVar[bool] = False  # does it do something besides its result, whatever stands inside?
    __array_ufunc__ = (
        None  # `array >> block` comes to us instead of going through the array element by element
    )

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        self = super().__new__(cls)
        state = self.__dict__
        state["name"] = None
        state["site"] = SourceLine.here()
        state["kind"] = cls.__name__
        state["_parts"] = ()
        return self

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        init = cls.__dict__.get("__init__")
        if init is not None:
            cls.__init__ = _sealing(init)  # type: ignore[method-assign]

    def __setattr__(self, name: str, value: object) -> None:
        if "_sealed" in self.__dict__:
            raise AttributeError(
                f"blocks are frozen: cannot set {name!r} of {self.label}; make a new block instead"
            )
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"blocks are frozen: cannot delete {name!r} of {self.label}")

    # What a block is made of

    @property
    def parts(self) -> tuple[AnyBlock, ...]:
        """The blocks that stand directly inside, in a fixed order."""
        return self._parts

    @property
    def definition(self) -> AnyBlock | None:
        """What the block refers to by name, if it is a reference; not one of its parts, for it leads back."""
        return None

    @property
    def label(self) -> str:
        """The block in a few words: its name, else its kind and arguments, as `Embedding(9000, 300)`."""
        return self.brief(2)

    def brief(self, depth: int) -> str:
        """`label`, with parts shown down to a depth; what is deeper is `...`."""
        if self.name is not None:
            return self.name
        return f"{self.kind}({'...' if self._parts and depth == 0 else self.arguments(depth)})"

    def arguments(self, depth: int = 2) -> str:
        """What stands between the brackets of `label`."""
        return ""

    def written(self) -> list[AnyBlock | str] | None:
        """What stands between the brackets when the block is printed in full; None: its parts, one by one."""
        return None

    @property
    def unfinished(self) -> bool:
        """Whether it cannot be used yet: a `Composition` whose scope has not been left."""
        return False

    # Composition

    @overload
    def __call__(self, x: Wire[A_contra], /) -> Wire[B_co]: ...
    @overload
    def __call__(self: Block[tuple[A1, A2], B], x1: Wire[A1], x2: Wire[A2], /) -> Wire[B]: ...
    @overload
    def __call__(
        self: Block[tuple[A1, A2, A3], B], x1: Wire[A1], x2: Wire[A2], x3: Wire[A3], /
    ) -> Wire[B]: ...
    @overload
    def __call__(
        self: Block[tuple[A1, A2, A3, A4], B], x1: Wire[A1], x2: Wire[A2], x3: Wire[A3], x4: Wire[A4], /
    ) -> Wire[B]: ...
    def __call__(self, *args: Any) -> Any:
        recorder = recorder_of(args)
        if recorder is None:
            got = ", ".join(repr(a) for a in args) or "nothing"
            if len(args) == 1 and isinstance(args[0], Block):
                hint = f"to apply it to what that block gives: {args[0].label} >> {self.label}"
            elif args and all(hasattr(a, "rows") for a in args):
                hint = "a Function computes by ar.ops and layers; put the block before or after the Function"
            else:
                hint = "to run it on an example: block.eval(x); to compose blocks: f >> g"
            raise ArrowTypeError(
                message(
                    f"cannot call {self.label} on {got} at {SourceLine.here()}",
                    reason="a block is called on wires, inside the body of an @ar.arrow",
                    hint=hint,
                )
            )
        return recorder.apply(self, args)

    @overload
    def reads(self) -> Wire[B_co]: ...
    @overload
    def reads(self, x: Wire[A_contra] | Block[Any, A_contra], /) -> Wire[B_co]: ...
    @overload
    def reads(
        self: Block[tuple[A1, A2], B], x1: Wire[A1] | Block[Any, A1], x2: Wire[A2] | Block[Any, A2], /
    ) -> Wire[B]: ...
    @overload
    def reads(
        self: Block[tuple[A1, A2, A3], B],
        x1: Wire[A1] | Block[Any, A1],
        x2: Wire[A2] | Block[Any, A2],
        x3: Wire[A3] | Block[Any, A3],
        /,
    ) -> Wire[B]: ...
    def reads(self, *sources: Any) -> Any:
        """Connects the block inside the open scope of a `Composition`.

        Args:
            *sources: wires, nested tuples of wires, or blocks that stand once in this scope; several are a
                tuple, none is nothing (Void).

        Returns:
            The wire with the block's result.

        Raises:
            ArrowTypeError: no scope is open, or a source is none of these.

        Example:
            >>> import arrows as ar
            >>> with ar.Composition().scope() as length:
            ...     half = ar.InputTransform(lambda n: n / 2).reads(
            ...         ar.InputTransform(len).reads(length.input)
            ...     )
            ...     length.output.reads(half)
            >>> length.eval("tree")
            2.0
        """
        recorder = scope_is_open()
        if recorder is None or recorder.kind != "Composition":
            raise ArrowTypeError(
                message(
                    f"cannot connect {self.label} at {SourceLine.here()}",
                    at=recorder.inside if recorder is not None else "",
                    reason="blocks read wires inside the scope of a Composition",
                    hint="with composition.scope(): ...; in the body of an @ar.arrow, call it: block(wire)",
                )
            )
        return recorder.apply(self, sources)

    @overload
    def __rshift__(self, other: Callable[[Wire[B_co]], Wire[C]]) -> Block[A_contra, C]: ...
    @overload
    def __rshift__(self, other: Mapping[Any, Any]) -> Block[A_contra, Any]: ...
    @overload
    def __rshift__(self, other: tuple[AnyBlock, ...]) -> Block[A_contra, Any]: ...
    def __rshift__(self, other: Any) -> Any:
        from arrows.combinators.compose import chain

        return chain(self, other)

    def __rrshift__(self, other: Blocks) -> Block[Any, B_co]:
        from arrows.combinators.compose import chain

        return chain(other, self)

    def __and__(self: Block[A, B], other: Callable[[Wire[A]], Wire[C]]) -> AndFan[A, B, C]:
        from arrows.combinators.fanout import fan_out

        return fan_out(self, other)

    def __rand__(self, other: Blocks) -> AnyBlock:
        from arrows.combinators.fanout import fan_out

        return fan_out(other, self)

    @overload
    def __mul__(self: Block[A, B], other: Identity) -> Block[tuple[A, Any], tuple[B, Any]]: ...
    @overload
    def __mul__(
        self: Block[A, B], other: Callable[[Wire[C]], Wire[D]]
    ) -> Block[tuple[A, C], tuple[B, D]]: ...
    @overload
    def __mul__(self: Block[A, B], other: Blocks) -> Block[tuple[A, Any], tuple[B, Any]]: ...
    def __mul__(self, other: Any) -> Any:
        """`f * g`: a block each for the two items of a pair; `f * g * h` is `(f * g) * h`.

        Example:
            >>> import arrows as ar
            >>> (ar.InputTransform(len) * ar.Identity()).eval(("tree", 2))
            (4, 2)
        """
        from arrows.combinators.parallel import side_by_side

        return side_by_side(self, other)

    def __rmul__(self, other: Blocks) -> AnyBlock:
        from arrows.combinators.parallel import side_by_side

        return side_by_side(other, self)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> NoReturn:
        raise ArrowTypeError(
            message(
                f"cannot iterate over {self.label} at {SourceLine.here()}",
                reason="a block has no items; its result has, once it is on a wire",
                hint="in an @ar.arrow: `a, b = ar.unpack(block(x), 2)`; elsewhere: block >> ar.GetItem(0)",
            )
        )

    def __getitem__(self, key: object) -> NoReturn:
        raise ArrowTypeError(
            message(
                f"cannot index {self.label} at {SourceLine.here()}",
                reason="a block has no items; its result has",
                hint=f"take the item of the result: block >> ar.GetItem({key!r})",
            )
        )

    @property
    def effects(self) -> bool:
        """Whether something inside does more than give a result."""
        return has_effects(self)

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
        from arrows import engine  # the one import upward in the house

        return engine.evaluate(self, x)

    # Printing, copying, pickling: no recursion

    def __repr__(self) -> str:
        from arrows.combinators.printing import expression

        return expression(self)

    def _repr_svg_(self) -> str | None:
        from arrows import drawing  # a room above: only a notebook asks for it

        return drawing.notebook_svg(self)

    def _repr_html_(self) -> str | None:
        from arrows import drawing

        return drawing.notebook_html(self)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        from arrows.combinators.copying import reduce

        return reduce(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __copy__(self) -> Self:
        from arrows.combinators.copying import shallow_copy

        return shallow_copy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        from arrows.combinators.copying import deep_copy

        return deep_copy(self, memo)


AnyBlock: TypeAlias = Block[Any, Any]
"""A block of which no more is known."""


def _sealing(init: Callable[..., None]) -> Callable[..., None]:
    """`init`, closing the block to further changes when it is the outermost one."""

    @functools.wraps(init)
    def sealed(self: AnyBlock, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        if type(self).__init__ is sealed:
            self.__dict__["_sealed"] = True

    return sealed


def set_name(block: AnyBlock, name: str | None) -> None:
    """Gives a block that is being made its name.

    Raises:
        ArrowTypeError: the name is not text.
        ArrowValueError: no file can hold it.
    """
    if name is not None:
        require_name(block.kind, "its name", name)
    block.name = name


def require_name(kind: str, what: str, name: object, hint: str = "") -> None:
    """Refuses what is no name.

    Args:
        kind: of the block that is being made.
        what: the name, in words.
        name: should be text that a file can hold.
        hint: what to write instead of something else than text.

    Raises:
        ArrowTypeError: the name is not text.
        ArrowValueError: no file can hold it.
    """
    attempt = f"cannot make a {kind} at {SourceLine.here()}"
    if not isinstance(name, str):
        raise ArrowTypeError(message(attempt, reason=f"{what} must be a string, not {name!r}", hint=hint))
    if reason := unwritable(name):
        raise ArrowValueError(message(attempt, reason=f"{what} {reason}"))


def has_effects(block: AnyBlock) -> bool:
    """Whether something inside does more than give a result (a `Metric`, say); laws hold for blocks without.

    Example:
        >>> import arrows as ar
        >>> has_effects(ar.Scalar()), has_effects(ar.Scalar() >> ar.Metric("loss"))
        (False, True)
    """
    seen: set[int] = set()
    todo = [block]
    while todo:
        block = todo.pop()
        if block.effect:
            return True
        if id(block) not in seen:
            seen.add(id(block))
            todo.extend(block.parts)
            todo.extend([block.definition] if block.definition is not None else ())
    return False
