"""Wires: values that are not there yet, inside an arrow or a Composition.

The body of an `@ar.arrow` runs once, at decoration, on wires. Calling a block on wires records a call, and so
does `block.reads(wires)` in the scope of a Composition; what is recorded here is plain data, which
`notation.drawn` turns into a wiring graph.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, TypeVar, TypeVarTuple, overload

import numpy as np

from arrows.typesys.errors import ArrowTypeError, SourceLine, message

if TYPE_CHECKING:
    from arrows.combinators.block import AnyBlock

A = TypeVar("A")
B_co = TypeVar("B_co", covariant=True)
As = TypeVarTuple("As")

Source = int | tuple["Source", ...]


class WireAttributeError(ArrowTypeError, AttributeError):
    """A wire has no attributes but its own; an `AttributeError` too, for what asks whether there is one."""


class Wire(Generic[B_co]):
    """A value of an arrow's body: pass it to blocks, take it apart by `wire[key]` or `ar.unpack`.

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
        recorder: CallRecorder,
        place: int | None,
        parent: Wire[Any] | None = None,
        key: Any = None,
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
    def __getitem__(self, key: Any, /) -> Any:
        return Wire(self.recorder, None, self, key)

    def __iter__(self) -> Iterator[Any]:
        self._refuse("iterate over", f"a wire has no length while the {self.recorder.kind} is drawn", _UNPACK)

    def __len__(self) -> int:  # noqa: PLE0303  it always raises
        self._refuse(
            "take the length of", f"a wire has no length while the {self.recorder.kind} is drawn", _UNPACK
        )

    def __bool__(self) -> bool:  # noqa: PLE0304  it always raises
        self._refuse(
            "test",
            "an arrow's body runs once, before there is any value"
            if self.recorder.kind == "arrow"
            else "a scope runs once, before there is any value",
            "choose by value with ar.OneOf(key)",
        )

    # Compared as objects, wires would all differ, and a test of one would always take the same branch.
    def __eq__(self, other: object) -> NoReturn:
        self._refuse(
            "compare",
            f"a wire holds no value while the {self.recorder.kind} is drawn",
            "choose by value with ar.OneOf(key); tensors are compared in ar.Function(lambda x, y: x == y)",
        )

    __ne__ = __eq__
    __hash__ = object.__hash__

    def __contains__(self, item: object) -> NoReturn:
        self._refuse(
            "look into",
            f"a wire holds no value while the {self.recorder.kind} is drawn",
            f"choose by what is there with ar.OneOf(lambda x: {item!r} in x, ...) or ar.Optional",
        )

    if not TYPE_CHECKING:  # for type checkers a wire has no other attributes

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_") or name in Wire.__slots__:  # what Python, NumPy and the like ask for
                raise AttributeError(name)
            wire = self.describe()
            hint = f"a field is read by {wire}[{name!r}]"
            if hasattr(dict, name):
                hint = f"a field is read by {wire}['name']; for anything else: ar.InputTransform(f)({wire})"
            elif hasattr(np.ndarray, name):
                hint += f"; what computes is put into a block: ar.Function(lambda x: x.{name})({wire})"
            raise WireAttributeError(
                message(
                    f"cannot take the attribute {name!r} of a wire at {SourceLine.here()}",
                    at=self.recorder.inside,
                    reason=f"a wire holds no object while the {self.recorder.kind} is drawn",
                    hint=hint,
                )
            )

    def _number(self, *_: object, **__: object) -> NoReturn:
        self._refuse(
            "calculate with",
            f"a wire holds no number while the {self.recorder.kind} is drawn",
            "put the formula into a block: ar.Function(lambda x, y: x * y)(u, v)",
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _number
    __truediv__ = __rtruediv__ = __matmul__ = __rmatmul__ = __pow__ = __neg__ = __float__ = __int__ = _number
    __lt__ = __le__ = __gt__ = __ge__ = __abs__ = __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = _number
    # NumPy asks for these (with an array on the left of an operator too), and `arrows.ops` for the last.
    __array__ = __array_ufunc__ = __array_function__ = _no_tensor = _number

    def reads(self, *_: object) -> NoReturn:
        """Wires do not read; blocks do."""
        if self.recorder.kind == "arrow":
            reason, hint = "in the body of an arrow blocks are called on wires", "block(wire)"
        elif self.place == 0:
            reason, hint = "the input is what flows in: blocks read it", "block.reads(composition.input)"
        else:
            reason = "a wire holds the result of a block, which has read what it needed"
            hint = "block.reads(wire)"
        self._refuse("connect something to", reason, hint)

    def _refuse(self, what: str, reason: str, hint: str) -> NoReturn:
        raise ArrowTypeError(
            message(
                f"cannot {what} a wire at {SourceLine.here()}",
                at=self.recorder.inside,
                reason=reason,
                hint=hint,
            )
        )

    def __repr__(self) -> str:
        return f"<wire {self.describe()} of {self.recorder.title}>"

    def describe(self) -> str:
        """The wire in words, for messages."""
        keys: list[str] = []
        wire: Wire[Any] = self
        while wire.parent is not None:
            keys.append(f"[{wire.key!r}]" if not isinstance(wire.key, slice) else "[slice]")
            wire = wire.parent
        return wire.recorder.words(wire) + "".join(reversed(keys))


_UNPACK = (
    "take it apart with `a, b = ar.unpack(wire, 2)`, or by wire[0]; go over a sequence with ar.Map or ar.Fold"
)


class Call:
    """A recorded call: a block on a source, or a projection (`block` is None) of one wire by a key."""

    __slots__ = ("arity", "block", "key", "site", "source")

    def __init__(
        self,
        block: AnyBlock | None,
        source: Source,
        site: SourceLine,
        key: Any = None,
        arity: int | None = None,
    ) -> None:
        self.block = block
        self.source = source
        self.site = site
        self.key = key
        self.arity = arity


class CallRecorder:
    """What an arrow's body, or a Composition's scope, does.

    Its calls stand in order; wire `j + 1` is the result of call `j`.

    Attributes:
        name: of the arrow or Composition; empty if it has none.
        kind: "arrow" or "Composition".
    """

    def __init__(self, name: str, parameters: tuple[str, ...], site: SourceLine, kind: str = "arrow") -> None:
        self.name = name
        self.kind = kind
        self.parameters = parameters
        self.site = site
        self.occurrences: dict[int, list[int]] = {}  # by identity of a block, the wires of its results
        self.calls: list[Call] = []
        self.items: dict[tuple[int, Hashable], int] = {}
        self.open = True
        self.around: CallRecorder | None = (
            None  # of a Composition: what was being drawn when its scope was entered
        )
        self._nothing: Wire[None] | None = None
        root: Wire[Any] = Wire(self, 0)
        if len(parameters) == 1:
            self.inputs: tuple[Wire[Any], ...] = (root,)
        else:
            self.inputs = tuple(Wire(self, None, root, i) for i in range(len(parameters)))

    @property
    def title(self) -> str:
        """What is drawn, in words."""
        return f"the {self.kind} {self.name}" if self.name else f"the {self.kind} made at {self.site}"

    @property
    def inside(self) -> str:
        """Where one is while it is drawn, in words."""
        return f"the {'body' if self.kind == 'arrow' else 'scope'} of {self.title}"

    def words(self, wire: Wire[Any]) -> str:
        """A wire that is no projection, in words."""
        if wire.place == 0:
            return self.parameters[0] if len(self.parameters) == 1 else "input"
        assert wire.place is not None
        block = self.calls[wire.place - 1].block
        return f"{block.label}(...)" if block is not None else "item"

    def apply(self, block: AnyBlock, args: tuple[Any, ...]) -> Wire[Any]:
        """Records a call; several arguments are a tuple."""
        attempt = f"call {block.label}" if self.kind == "arrow" else f"connect {block.label}"
        self.check_open(attempt)
        if block.unfinished:
            from arrows.combinators.convert import as_block

            as_block(block, "a block that reads a wire")
        if not args:
            args = (self.nothing(),)
        source = self.source(args[0] if len(args) == 1 else args, attempt)
        self.calls.append(Call(block, source, SourceLine.here()))
        self.occurrences.setdefault(id(block), []).append(len(self.calls))
        return Wire(self, len(self.calls))

    def nothing(self) -> Wire[None]:
        """A wire that carries nothing."""
        if self._nothing is None:
            from arrows.combinators.constant import Void

            self.calls.append(Call(Void(), 0, SourceLine.here()))
            self._nothing = Wire(self, len(self.calls))
        return self._nothing

    def check_open(self, attempt: str) -> None:
        """Refuses a wire outside of the body, or of the scope, that it was drawn in."""
        if self.kind == "arrow":
            reason, hint = f"{self._placed()}, which is finished", "the body that it was drawn in"
        else:
            reason, hint = f"{self._placed()}, whose scope is not open here", "the scope of its Composition"
        if not self.open or (self.kind != "arrow" and _drawing.get() is not self):
            raise ArrowTypeError(
                message(
                    f"cannot {attempt} at {SourceLine.here()}",
                    reason=f"the wire belongs to {reason}",
                    hint=f"a wire is used in {hint}, and nowhere else",
                )
            )

    def _placed(self) -> str:
        return f"{self.title} ({self.site})" if self.name else self.title

    def source(self, value: Any, attempt: str) -> Source:
        """The source that a wire, or a nested tuple of wires, stands for."""
        done: list[Source] = []
        todo: list[tuple[Any, bool]] = [(value, False)]
        while todo:
            x, ready = todo.pop()
            if ready:
                cut = len(done) - len(x)
                done[cut:] = [tuple(done[cut:])]
            elif isinstance(x, tuple):
                todo.append((x, True))
                todo.extend((item, False) for item in reversed(x))
            else:
                done.append(self._place(x, attempt))
        return done[0]

    def _place(self, x: Any, attempt: str) -> int:
        if not isinstance(x, Wire):
            if self.kind == "Composition" and hasattr(x, "reads"):
                return self._occurrence(x, attempt)
            hint = "put a constant on a wire with ar.Constant(value)(wire)"
            if self.kind == "Composition":
                hint = "a constant is read as a block: ar.Constant(value)"
            elif callable(x):
                hint = "call the block on a wire: block(wire)"
            raise ArrowTypeError(
                message(
                    f"cannot {attempt} at {SourceLine.here()}",
                    at=self.inside,
                    reason=f"expected a wire or a tuple of wires, got {x!r}",
                    hint=hint,
                )
            )
        if x.recorder is not self:
            other = "arrow" if x.recorder.kind == self.kind == "arrow" else "scope"
            raise ArrowTypeError(
                message(
                    f"cannot {attempt} at {SourceLine.here()}",
                    at=self.inside,
                    reason=f"the wire {x.describe()} belongs to another {other}, "
                    + (
                        f"{x.recorder.name} ({x.recorder.site})" if other == "arrow" else x.recorder._placed()
                    ),
                    hint=f"make it a parameter of {self.name}, and pass it in where {self.name} is called"
                    if self.kind == "arrow"
                    else "let the inner Composition read it outside, and use its input inside",
                )
            )
        # Projections become calls only when something reads them: `h, c = ar.unpack(state, 2)` may leave c
        # alone.
        chain: list[Wire[Any]] = []
        wire: Wire[Any] = x
        while wire.place is None:
            chain.append(wire)
            assert wire.parent is not None
            wire = wire.parent
        place = wire.place
        for wire in reversed(chain):
            name = (place, repr(wire.key))
            if name not in self.items:
                self.calls.append(Call(None, place, wire.site, wire.key, wire.arity))
                self.items[name] = len(self.calls)
            place = wire.place = self.items[name]
        return place

    def _occurrence(self, block: Any, attempt: str) -> int:
        """A block as a source is its only occurrence in this scope."""
        from arrows.combinators.fanout import ignores_input

        refuse = getattr(block, "_not_a_source", None)
        if refuse is not None:
            refuse(attempt)
        found = self.occurrences.get(id(block), [])
        if len(found) == 1:
            return found[0]
        if not found and ignores_input(block):
            place = self.apply(block, ()).place
            assert place is not None
            return place
        lines = ", ".join(str(self.calls[place - 1].site.line) for place in found)
        raise ArrowTypeError(
            message(
                f"cannot {attempt} at {SourceLine.here()}",
                at=self.inside,
                reason="a block that is read stands for its only occurrence in this scope, and "
                + (
                    f"{block.label} has {len(found)}, in lines {lines}"
                    if found
                    else f"{block.label} has read nothing here so far"
                ),
                hint="keep the wire that reads returns, and use that: wire = block.reads(...)",
            )
        )


_drawing: ContextVar[CallRecorder | None] = ContextVar("arrows_drawing", default=None)


def scope_is_open() -> CallRecorder | None:
    """The recorder of the innermost arrow or Composition that is being drawn, if any."""
    return _drawing.get()


def switch(recorder: CallRecorder | None) -> CallRecorder | None:
    """From now on calls go to this recorder; returns the one they went to."""
    before = _drawing.get()
    _drawing.set(recorder)
    return before


@contextmanager
def drawing(recorder: CallRecorder) -> Iterator[None]:
    """Calls on wires go to this recorder."""
    token = _drawing.set(recorder)
    try:
        yield
    finally:
        _drawing.reset(token)
        recorder.open = False


def recorder_of(args: tuple[Any, ...]) -> CallRecorder | None:
    """The recorder of the arrow being drawn, if there is a wire among nested arguments; else None."""
    todo = list(reversed(args))
    while todo:
        x = todo.pop()
        if isinstance(x, Wire):
            return _drawing.get() or x.recorder
        if isinstance(x, tuple):
            todo.extend(reversed(x))
    return None
