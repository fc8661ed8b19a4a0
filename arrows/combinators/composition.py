"""`Composition`: a wiring graph that the user builds in a scope, call by call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, overload

from arrows.combinators.base.arguments import set_name, type_refusal, value_refusal
from arrows.combinators.base.block import A, B
from arrows.combinators.base.wires import Wire
from arrows.combinators.notation import Graph
from arrows.combinators.recorder import Recorder


class Composition(Graph[A, B]):
    """Blocks that read one another, connected in a scope; `@ar.arrow` says the same as a function.

    In the scope, `block.reads(wires)` passes wires through a block and returns the wire of its result;
    `input` is the wire that flows in, and `output.reads(wires)` says what flows out. Leaving the scope
    finishes the Composition: from then on it is a block like any other, and never changes again.

    Args:
        name: the name in messages.

    Raises:
        ArrowTypeError: in the scope, something is connected that is no wire of this scope; the Composition is
            used before its scope is left; at `compile`, a wire that nobody reads, unless it is Void or
            a sequence of it.
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

    _recorder: Recorder | None

    def __init__(self: Composition[Any, Any], *, name: str | None = None) -> None:
        set_name(self, name)
        recorder = Recorder("Composition", self.name or "", ("input",), self.site)
        super().__init__(recorder, 0, name=name)
        self._recorder = recorder

    @property
    def input(self) -> Wire[A]:
        """The wire with the input; for use inside the scope."""
        wire: Wire[A] = self._open().inputs[0]
        return wire

    @property
    def output(self) -> Output[B]:
        """The output, of which `output.reads(wires)` says what it is, once, inside the scope."""
        return Output(self._open())

    def scope(self) -> Composition[A, B]:
        """Opens the scope in which blocks are connected: `with composition.scope(): ...`, once.

        Its `as` target is the Composition: `with ar.Composition().scope() as c: ...`.
        """
        return self

    def __enter__(self) -> Composition[A, B]:
        recorder = self._recorder
        if recorder is None or recorder.open or recorder.nodes or recorder.result is not None:
            hint = "make another Composition for another wiring"
            raise value_refusal(f"enter the scope of {self.title}", "it has one scope", hint=hint)
        recorder.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        recorder = self._open()
        recorder.__exit__()
        if kind is None and recorder.result is None:
            hint = "composition.output.reads(wire); if there is nothing but side outputs: "
            raise value_refusal(
                f"finish {self.title}",
                "nothing is wired to its output",
                hint=hint + "composition.output.reads()",
            )
        if kind is None:
            nodes, parts = tuple(recorder.nodes), tuple(recorder.blocks)
            self.__dict__.update(nodes=nodes, _parts=parts, result=recorder.result, _recorder=None)

    def _open(self) -> Recorder:
        """The recorder of the open scope."""
        if self._recorder is None or not self._recorder.open:
            hint = "with composition.scope(): composition.output.reads(wire)"
            raise type_refusal(f"wire {self.title}", "its scope is not open", hint=hint)
        return self._recorder

    def check_finished(self, where: str) -> None:
        if self._recorder is not None:
            raise type_refusal(
                f"use {self.title} as {where}",
                "it is not finished: its scope has not been left, or was left by an error",
                hint="connect its input and output in its scope, and use it afterwards",
            )


class Output(Generic[B]):
    """The output of a Composition; see `Composition.output`."""

    block_hint = "an output is written, and not read: read the wire that it reads"

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def __repr__(self) -> str:
        return f"the output of {self._recorder.title}"

    @overload
    def reads(self, x: Wire[B] | Mapping[Any, Any] | tuple[Any, ...] = ..., /) -> None: ...
    @overload
    def reads(self, x1: Wire[Any], x2: Wire[Any], /, *more: Wire[Any]) -> None: ...
    def reads(self, *sources: object) -> None:
        """Says what flows out.

        A source is a wire, or a (nested) tuple or dict of wires. Several sources are a tuple; no source is
        nothing (Void).
        """
        recorder = self._recorder
        attempt = f"wire the output of {recorder.title}"
        if recorder.result is not None:
            hint = "several wires are a tuple: composition.output.reads(a, b)"
            raise value_refusal(attempt, "it is wired already", hint=hint)
        recorder.result = recorder.source_of(sources, attempt)
