"""Wires: placeholders for values, inside the body of an arrow or the scope of a Composition.

A wire can be passed to blocks and taken apart. It refuses everything that needs a value, and says what to do
instead; blocks refuse the operators of numbers, too. A call of a block goes to the recorder that is open, if
it is on wires, or else to the `Function` or the batch on the fly that its tensors belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, TypeVar, TypeVarTuple, overload

import numpy as np

from arrows.combinators.base.arguments import shortened, type_refusal
from arrows.ops import Context, TensorLike, innermost
from arrows.typesys import ArrowTypeError, SourceLine, message

if TYPE_CHECKING:
    from arrows.combinators.base.block import AnyBlock
    from arrows.combinators.notation import Recorder

A = TypeVar("A")
B_co = TypeVar("B_co", covariant=True)
As = TypeVarTuple("As")

ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "matmul": "@", "truediv": "/", "pow": "**"}
COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


class WithoutValue:
    """A block or a wire: it stands for a value before there is one, so nothing can be calculated with it.

    It refuses the operators of numbers that its class does not define, and `and`, `or`, `not` and `if`.
    """

    __slots__ = ()

    def refuse_operator(self, symbol: str, operands: tuple[object, ...]) -> NoReturn:
        """Refuses an operator; one with a single operand is written with it, as `-x`."""
        raise NotImplementedError

    def refuse_test(self) -> NoReturn:
        """Refuses to be true or false."""
        raise NotImplementedError

    def __bool__(self) -> bool:  # noqa: PLE0304  it always raises
        self.refuse_test()


def _refusing(symbol: str, swapped: bool = False) -> Callable[[Any, object], NoReturn]:
    def refuse(self: WithoutValue, other: object) -> NoReturn:
        self.refuse_operator(symbol, (other, self) if swapped else (self, other))

    return refuse


# A loop sets them, so that type checkers see none of them, and refuse these operators before anything runs.
# Blocks compare by identity, so `==` and `!=` are left to wires.
for _name, _symbol in {**ARITHMETIC, **COMPARISONS}.items():
    if _name not in ("eq", "ne"):
        setattr(WithoutValue, f"__{_name}__", _refusing(_symbol))
    if _name in ARITHMETIC:
        setattr(WithoutValue, f"__r{_name}__", _refusing(_symbol, swapped=True))


def as_function(symbol: str, operands: tuple[object, ...]) -> tuple[str, list[object]]:
    """Writes an operator as a `Function` of the blocks or wires among its operands; what else there is stands
    in the formula.

    Returns:
        The Function as text, and its arguments.

    Example:
        >>> import arrows as ar
        >>> as_function("-", (1, ar.Scalar()))
        ('ar.Function(lambda x: 1 - x)', [Scalar('float32')])
    """
    taken: list[object] = [x for x in operands if isinstance(x, WithoutValue)]
    letters = iter("xy")
    names = (next(letters) if isinstance(x, WithoutValue) else shortened(x) for x in operands)
    formula = f" {symbol} ".join(names)
    return f"ar.Function(lambda {', '.join('xy'[: len(taken)])}: {formula})", taken


def checked_key(key: object) -> object:
    """The key of an item; NumPy's integers are Python's.

    Raises:
        ArrowTypeError: it is a block or a wire.
    """
    if isinstance(key, WithoutValue):
        raise type_refusal(
            f"take the item {key!r:.60}",
            "a key is an index, a slice, a name or another plain object, and no block or wire",
            hint="one after the other: ar.GetItem(key) >> f; at a place that the example says: "
            "(sequence & place) >> ar.Nth()",
        )
    return int(key) if isinstance(key, np.integer) else key


class WireAttributeError(ArrowTypeError, AttributeError):
    """A wire lacks the attribute; it is an `AttributeError` too, so that `hasattr` answers False."""


class Wire(WithoutValue, Generic[B_co]):
    """A value of an arrow's body: pass it to blocks, take it apart by `wire[key]` or `ar.unpack`.

    Attributes:
        recorder: the recorder of the calls on it.
        place: its number among the recorder's wires; None for an item that nothing has read so far.
        parent: for an item, the wire that it belongs to.
        key: for an item, its key there.
        arity: for an item from `ar.unpack`, the number of items.
        site: the line that made it.

    Raises:
        ArrowTypeError: it is iterated, tested, or used as if it held a value.

    Example:
        >>> import arrows as ar
        >>> @ar.arrow
        ... def swap(pair):
        ...     return pair[1], pair[0]
        >>> swap.eval((1, 2))
        (2, 1)
    """

    __slots__ = ("arity", "key", "parent", "place", "recorder", "site")

    def __init__(
        self,
        recorder: Recorder,
        place: int | None,
        parent: Wire[Any] | None = None,
        key: object = None,
        arity: int | None = None,
    ) -> None:
        self.recorder = recorder
        self.place = place
        self.parent = parent
        self.key = key
        self.arity = arity
        self.site = SourceLine.here()

    @overload
    def __getitem__(self: Wire[tuple[A, *As]], key: Literal[0], /) -> Wire[A]: ...
    @overload
    def __getitem__(self: Wire[tuple[Any, A, *As]], key: Literal[1], /) -> Wire[A]: ...
    @overload
    def __getitem__(self: Wire[tuple[Any, Any, A, *As]], key: Literal[2], /) -> Wire[A]: ...
    @overload
    def __getitem__(self: Wire[tuple[Any, Any, Any, A, *As]], key: Literal[3], /) -> Wire[A]: ...
    @overload
    def __getitem__(self, key: str | slice, /) -> Wire[Any]: ...
    def __getitem__(self, key: object, /) -> Any:
        return Wire(self.recorder, None, self, checked_key(key))

    def __iter__(self) -> Iterator[Any]:
        self._refuse("iterate over", _UNPACK)

    def refuse_test(self) -> NoReturn:
        self._refuse("test", _by_value("key"))

    # Python would compare wires as objects, so all would differ, and an `if` would always take one branch.
    def __eq__(self, other: object) -> NoReturn:
        self.refuse_operator("==", (self, other))

    def __ne__(self, other: object) -> NoReturn:
        self.refuse_operator("!=", (self, other))

    __hash__ = object.__hash__

    def __contains__(self, item: object) -> NoReturn:
        hint = f"choose by what it contains with ar.OneOf(lambda x: {item!r} in x, ...) or ar.Optional"
        self._refuse("test what is in", hint)

    if not TYPE_CHECKING:  # for type checkers a wire has no other attributes

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_") or name in Wire.__slots__:  # what Python, NumPy and the like ask for
                raise AttributeError(name)
            wire = self.describe()
            hint = f"read a field with {wire}[{name!r}]; for all else use a block: ar.Function(f)({wire})"
            self._refuse(f"take the attribute {name!r} of", hint, WireAttributeError)

    def refuse_operator(self, symbol: str, operands: tuple[object, ...]) -> NoReturn:
        function, wires = as_function(symbol, operands)
        block = f"{function}({', '.join(w.describe() if isinstance(w, Wire) else '...' for w in wires)})"
        if symbol not in COMPARISONS.values():
            self._refuse("calculate with", f"put the formula into a block: {block}")
        names = [w.describe() if isinstance(w, Wire) else shortened(w) for w in operands]
        tensors = "" if any(isinstance(x, str) for x in operands) else f"; tensors are compared in {block}"
        self._refuse("compare", _by_value(self._key(f" {symbol} ".join(names))) + tensors)

    def _key(self, formula: str) -> str:
        """A key function with this formula, where it is one of the input."""
        wire: Wire[Any] = self
        while wire.parent is not None:
            wire = wire.parent
        return f"lambda {wire.describe()}: {formula}" if wire.place == 0 else "key"

    def _no_number(self, *_: object, **__: object) -> NoReturn:
        hint = f"put the formula into a block: ar.Function(lambda x: ...)({self.describe()})"
        self._refuse("calculate with", hint)

    # NumPy asks for these (with an array on the left of an operator too), and `arrows.ops` for the last.
    __array__ = __array_ufunc__ = __array_function__ = _no_tensor = _no_number

    def _refuse(self, attempt: str, hint: str, error: type[ArrowTypeError] = ArrowTypeError) -> NoReturn:
        attempt = f"cannot {attempt} a wire at {SourceLine.here()}"
        reason = f"a wire carries no value until the {self.recorder.kind} runs"
        raise error(message(attempt, at=self.recorder.inside, reason=reason, hint=hint))

    def __repr__(self) -> str:
        return f"<wire {self.describe()} of {self.recorder.title}>"

    def describe(self) -> str:
        """Describes the wire in messages."""
        keys: list[str] = []
        wire: Wire[Any] = self
        while wire.parent is not None:
            keys.append(f"[{wire.key!r}]" if not isinstance(wire.key, slice) else "[slice]")
            wire = wire.parent
        return wire.recorder.words(wire) + "".join(reversed(keys))


def _by_value(key: str) -> str:
    return f"choose by value with a block, in place of `if`: ar.OneOf({key}, {{True: f, False: g}})"


_UNPACK = (
    "take it apart with `a, b = ar.unpack(wire, 2)` or with wire[0]; "
    "go over a sequence with ar.Map or ar.Fold"
)


current: ContextVar[Recorder | None] = ContextVar("arrows_recorder", default=None)
"""Where calls go: to the innermost arrow or Composition that this thread records."""


def current_recorder() -> Recorder | None:
    """The recorder of the innermost arrow or Composition whose body or scope is open, if any."""
    recorder = current.get()
    return recorder if recorder is not None and recorder.open else None


def _values(args: tuple[object, ...]) -> Iterator[object]:
    """What stands in nested arguments, in order."""
    todo: list[Any] = list(reversed(args))
    while todo:
        x = todo.pop()
        if isinstance(x, (tuple, list)):
            todo.extend(reversed(x))
        elif isinstance(x, dict):
            todo.extend(reversed(x.values()))
        else:
            yield x


def context_of(args: tuple[object, ...]) -> Context | None:
    """The `Function` or the batch that a call belongs to: that of the first tensor among nested arguments.

    Plain values alone belong to the innermost one; None where a wire comes first, or nothing computes.
    """
    # Most calls have a tensor or a wire in plain sight, or as the first of a pair, or are on a number alone.
    for x in () if len(args) == 1 and args[0].__class__ is int else chain(args, _values(args)):
        if x.__class__ is tuple and x:
            x = x[0]
        if isinstance(x, TensorLike):
            return x.context
        if isinstance(x, Wire):
            return None
    return None if current_recorder() is not None else innermost()


def call_on_wires(block: AnyBlock, args: tuple[Any, ...]) -> Wire[Any]:
    """Records the call `block(*args)` in the body that is open.

    Raises:
        ArrowTypeError: none is, or an argument is no wire of it.
    """
    if (recorder := current_recorder()) is not None:
        return recorder.apply(block, args)
    for x in chain(args, _values(args)):
        if isinstance(x, Wire):
            raise type_refusal(
                f"call {block.label}",
                f"the wire belongs to {x.recorder.title_and_site}, whose body is not open here",
                hint="a wire is used in the body that it was made in, and nowhere else",
            )
    if len(args) == 1 and hasattr(args[0], "parts"):  # a block; that class is defined after this one
        hint = f"to apply it to that block's result: {args[0].label} >> {block.label}"
    elif args and all(hasattr(a, "rows") for a in args):
        hint = "a Function computes by ar.ops, layers and Functions; put the block outside of it"
    else:
        hint = "to run it on an example: block.eval(x); to compose blocks: f >> g"
    raise type_refusal(
        f"call {block.label} on {', '.join(map(_argument, args)) or 'nothing'}",
        "a block is called on wires, inside an @ar.arrow, or on lazy tensors, inside of net.batch()",
        hint=hint,
    )


def _argument(value: object) -> str:
    """A value as messages write it: a tensor by its type."""
    return f"a tensor ({value.type})" if isinstance(value, TensorLike) else repr(value)
