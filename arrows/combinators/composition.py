"""`Composition`: a wiring graph that the user builds in a scope, call by call."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Generic, NoReturn, overload

from arrows.combinators.base.arguments import set_name, type_refusal, value_refusal
from arrows.combinators.base.block import B1, B2, A, AnyBlock, B, Block, at_line
from arrows.combinators.base.printing import Argument, Spelling
from arrows.combinators.base.recorder import CallRecorder, Source, current_recorder, switch
from arrows.combinators.base.traversal import ignores_input
from arrows.combinators.base.wires import Wire
from arrows.combinators.compose import Pipe
from arrows.combinators.notation import Graph, GraphNode, drawn, output_source
from arrows.typesys import SourceLine

_Source = Wire[Any] | AnyBlock


class Composition(Pipe[A, B]):
    """Blocks that read one another, connected in a scope; `@ar.arrow` says the same as a function.

    In the scope, `block.reads(wires)` passes wires through a block and returns the wire of its result;
    `input` is the wire that flows in, and `output.reads(wires)` says what flows out. Leaving the scope
    finishes the Composition: from then on it is a block like any other, and never changes again.

    Args:
        name: the name in messages.

    Raises:
        ArrowTypeError: in the scope, something is connected that is no wire of this scope; the Composition is
            used before its scope is left; at `compile`, a wire that nobody reads, unless it is Void.
        ArrowValueError: the output is wired twice, or not at all (`output.reads()` says that there is none);
            the scope is entered twice.

    Source: TensorFlow Fold, `td.Composition`.

    Example:
        >>> import arrows as ar
        >>> mean = ar.Composition(name="mean")
        >>> with mean.scope():
        ...     numbers = ar.Map(ar.Scalar()).reads(mean.input)
        ...     total = ar.Sum().reads(numbers)
        ...     count = (ar.InputTransform(len) >> ar.Scalar()).reads(mean.input)
        ...     mean.output.reads(ar.Function(lambda x, n: x / n).reads(total, count))
        >>> float(mean.eval([1, 2, 6]))
        3.0
    """

    def __init__(self: Composition[Any, Any], *, name: str | None = None) -> None:
        set_name(self, name)
        self._recorder: ScopeRecorder | None = ScopeRecorder(name or "", self.site)
        self._result: Source | None = None
        self._state = "new"

    @property
    def unfinished(self) -> bool:
        """Whether the Composition cannot be used yet, because its scope has not been left."""
        return self._recorder is not None

    @property
    def input(self) -> Wire[A]:
        """The wire with the input; for use inside the scope."""
        if self._recorder is None:
            self._over("read the input of")
        wire: Wire[A] = self._recorder.inputs[0]
        return wire

    @property
    def output(self) -> Output[B]:
        """The output, of which `output.reads(wires)` says what it is, once, inside the scope."""
        return Output(self)

    def scope(self) -> Scope[A, B]:
        """Opens the scope in which blocks are connected: `with composition.scope(): ...`, once.

        Its `as` target is the Composition: `with ar.Composition().scope() as c: ...`.
        """
        return Scope(self)

    # The scope

    def _enter(self) -> ScopeRecorder:
        recorder = self._recorder
        if recorder is None:
            self._over("enter the scope of")
        if self._state != "new":
            words = (
                "is open already" if self._state == "open" else "was left by an error, and is not finished"
            )
            raise value_refusal(
                f"enter the scope of {recorder.title}",
                f"it {words}",
                hint="a Composition has one scope; make another Composition",
            )
        self.__dict__["_state"] = "open"
        return recorder

    def _leave(self, recorder: ScopeRecorder, finished: bool) -> None:
        recorder.open = False
        state = self.__dict__
        state["_state"] = "broken"
        if finished and self._result is None:
            raise value_refusal(
                f"finish {recorder.title}",
                "nothing is wired to its output",
                hint="composition.output.reads(wire); if there is nothing but side outputs: "
                "composition.output.reads()",
            )
        if not finished or self._result is None:
            return
        nodes, blocks = drawn(recorder)
        graph = ScopeGraph(nodes, blocks, self._result, recorder.title)
        state["_parts"] = (at_line(graph, self.site),)
        state["_recorder"] = state["_result"] = None
        state["_state"] = "finished"

    def _wire(self, sources: tuple[object, ...]) -> None:
        recorder = self._recorder
        if recorder is None:
            self._over("wire the output of")
        attempt = f"wire the output of {recorder.title}"
        if current_recorder() is not recorder:
            words = "its scope is not open" if self._state == "new" else "another scope is open inside it"
            raise type_refusal(
                attempt, words, hint="with composition.scope(): composition.output.reads(wire)"
            )
        if self._result is not None:
            raise value_refusal(
                attempt,
                "it is wired already",
                at=recorder.inside,
                hint="several wires are a tuple: composition.output.reads(a, b)",
            )
        read = sources or (recorder.nothing(),)
        self.__dict__["_result"] = output_source(recorder, read[0] if len(read) == 1 else read, attempt)

    def _over(self, attempt: str) -> NoReturn:
        words = f"the Composition {self.name}" if self.name is not None else "the Composition"
        raise type_refusal(
            f"{attempt} {words}",
            f"it was made at {self.site}, and is finished: its scope is over",
            hint="it is a block now: use it as one, and make another for another wiring",
        )

    def check_finished(self, where: str) -> None:
        if self._recorder is None:
            return
        words = {
            "new": "its scope has not been entered yet",
            "open": "its scope is still open, and a block cannot hold itself",
            "broken": "its scope was left by an error",
        }[self._state]
        raise type_refusal(
            f"use {self._recorder.title} as {where}",
            f"it is not finished: {words}",
            hint="make a new one"
            if self._state == "broken"
            else "inside its scope connect composition.input and composition.output; use it afterwards",
        )

    # As a value

    @property
    def is_chain(self) -> bool:
        return False

    def arguments(self) -> list[Argument]:
        return ["unfinished"] if self.unfinished else [self.parts[0]]

    def summary(self) -> Spelling:
        if self.unfinished:
            return self.spelling
        count = len(self.parts[0].parts)
        return Spelling(self.kind, (f"{count} block{'s' * (count != 1)}",))


class ScopeGraph(Graph[Any, Any]):
    """The wiring graph of a finished Composition."""

    kind = "Composition"

    def __init__(
        self, nodes: tuple[GraphNode, ...], parts: tuple[AnyBlock, ...], output: Source, title: str
    ) -> None:
        super().__init__(nodes, parts, output)
        self.title = title


class ScopeRecorder(CallRecorder):
    """Records the calls in the scope of a Composition."""

    kind = "Composition"
    region = "scope"
    a_region = "a scope"
    verb = "connect"
    connects = True

    def __init__(self, name: str, site: SourceLine) -> None:
        super().__init__(name, ("input",), site)
        self.open = False  # `Composition._enter` opens it

    @property
    def hint_for_foreign_wires(self) -> str:
        return "let the inner Composition read it outside, and use its input inside"

    def check_open(self, attempt: str) -> None:
        if not self.open or current_recorder() is not self:
            raise type_refusal(
                attempt,
                f"the wire belongs to {self.title_and_site}, whose scope is not open here",
                hint="a wire is used in the scope of its Composition, and nowhere else",
            )

    def place_of(self, x: object, attempt: str) -> int:
        if isinstance(x, Output):
            x.refuse_to_be_read(attempt)
        if not isinstance(x, Block):
            self.no_wire(x, attempt, "a constant is read as a block: ar.Constant(value)")
        places = self.results_of(x)
        if len(places) == 1:
            return places[0]
        if not places and ignores_input(x):
            self.apply(x, ())
            return len(self.calls)
        if places:
            lines = ", ".join(str(self.calls[place - 1].site.line) for place in places)
            occurrences = f"has {len(places)}, in lines {lines}"
        else:
            occurrences = "has read nothing here so far"
        raise type_refusal(
            attempt,
            f"a block that is read stands for its only occurrence in this scope, and {x.label} {occurrences}",
            at=self.inside,
            hint="keep the wire that reads returns, and use that: wire = block.reads(...)",
        )

    def why_wires_do_not_read(self, wire: Wire[Any]) -> tuple[str, str]:
        if wire.place == 0:
            return "blocks read the input; it reads nothing itself", "block.reads(composition.input)"
        return "a wire holds the result of a block, which has read what it needed", "block.reads(wire)"


class Scope(Generic[A, B]):
    """The context manager of a Composition's scope; see `Composition.scope`."""

    __slots__ = ("_composition", "_recorder")

    def __init__(self, composition: Composition[A, B]) -> None:
        self._composition = composition
        self._recorder: ScopeRecorder | None = None  # None until the scope is entered

    def __enter__(self) -> Composition[A, B]:
        recorder = self._recorder = self._composition._enter()
        recorder.around = switch(recorder)
        recorder.open = True
        return self._composition

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        recorder = self._recorder
        assert recorder is not None
        if current_recorder() is not recorder and kind is None:
            self._composition._leave(recorder, finished=False)
            raise value_refusal(
                f"leave the scope of {recorder.title}",
                "a scope that was entered later is still open, or another thread entered this one",
                hint="scopes are left in the reverse order of entering, as nested `with` statements do",
            )
        before = recorder.around
        while before is not None and not before.open:  # that scope was left before this one
            before = before.around
        switch(before)
        self._composition._leave(recorder, finished=kind is None)


class Output(Generic[B]):
    """The output of a Composition; see `Composition.output`."""

    __slots__ = ("_composition",)

    def __init__(self, composition: Composition[Any, B]) -> None:
        self._composition = composition

    @overload
    def reads(self) -> None: ...
    @overload
    def reads(self, x: Wire[B] | Block[Any, B] | Mapping[Any, Any] | tuple[Any, ...], /) -> None: ...
    @overload
    def reads(
        self: Output[tuple[B1, B2]], x1: Wire[B1] | Block[Any, B1], x2: Wire[B2] | Block[Any, B2], /
    ) -> None: ...
    @overload
    def reads(self, x1: _Source, x2: _Source, x3: _Source, /, *more: _Source) -> None: ...
    def reads(self, *sources: object) -> None:
        """Says what flows out.

        A source is a wire, a (nested) tuple or dict of wires, or a block that stands once in the scope.
        Several sources are a tuple; no source is nothing (Void).
        """
        self._composition._wire(sources)

    def refuse_to_be_read(self, attempt: str) -> NoReturn:
        """Refuses to be a source: nothing reads the output of a Composition inside its scope."""
        composition = self._composition
        title = composition._recorder.title if composition._recorder is not None else composition.label
        raise type_refusal(
            attempt,
            f"the output of {title} is written, and not read",
            hint="read the wire that the output reads",
        )

    def __repr__(self) -> str:
        return f"<output of {self._composition.label}>"
