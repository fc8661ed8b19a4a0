"""What is wrong with an example: the slow walk that finds the words after the fast one failed."""

from __future__ import annotations

from typing import Any, NoReturn

from arrows.combinators.typed import Typed
from arrows.engine.interpret import MAX_NODES, interpret
from arrows.engine.leaves import convert
from arrows.engine.trampoline import Steps, trampoline
from arrows.typesys import types as T
from arrows.typesys.errors import InputError, input_message


def check(typed: Typed, example: Any, *, number: int | None = None, max_nodes: int = MAX_NODES) -> None:
    """Reads an example as the expression says, computes nothing, and complains.

    It runs users' functions and converts leaves; no tensor is computed, so what only shows in numbers (an
    index out of an embedding's range) passes.

    Args:
        typed: the expression.
        example: a Python object.
        number: its place in the batch, for the message.
        max_nodes: when to call a recursion endless.

    Raises:
        InputError: the example does not fit.

    >>> import arrows as ar
    >>> check(ar.infer(ar.GetItem("word") >> ar.Scalar("int32")), {"word": None}, number=17)
    Traceback (most recent call last):
    ...
    arrows.typesys.errors.InputError: example 17: word: expected int, got None
      in  Scalar('int32')  ...
    """
    interpret(typed, example, _Shapes(), number=number, max_nodes=max_nodes)


def explain(
    typed: Typed, example: Any, error: BaseException, *, number: int | None = None, max_nodes: int = MAX_NODES
) -> NoReturn:
    """Raises the `InputError` for an example that could not be read.

    Args:
        typed: the expression.
        example: the Python object.
        error: what the fast walk raised.
        number: the example's place in the batch.
        max_nodes: when to call a recursion endless.

    Raises:
        InputError: always: with the place and the block if the slow walk meets the error again, else (impure
            functions) with the error alone.
    """
    check(typed, example, number=number, max_nodes=max_nodes)
    text = f"{type(error).__name__}: {error}; it did not happen again when the example was read a second time"
    raise InputError(input_message(number, "", text)) from error


class _Shapes:
    """The algebra of a check: a tensor is None, and only the lengths of sequences are known."""

    def constant(self, typed: Typed) -> Any:
        return trampoline(_blank(typed.output, []))

    def read(self, typed: Typed, thing: Any) -> Any:
        assert isinstance(typed.output, T.Tensor)
        convert(thing, typed.output)

    def apply(self, typed: Typed, value: Any) -> Any:
        assert typed.trace is not None
        lengths = _lengths(typed.input, value)
        rows = [lengths[var.rows] for var in typed.trace.results if var.rows >= 0]
        return trampoline(_blank(typed.output, rows))

    def metric(self, typed: Typed, value: Any, label: Any) -> None:
        """A side output is no matter of whether an example fits."""


def _lengths(input: T.Type, value: Any) -> list[int]:
    """The lengths of the sequences in a function's input, in the order of its levels."""
    lengths = []
    todo = [(input, value)]
    while todo:
        input, value = todo.pop()
        if isinstance(input, T.Tuple):
            todo.extend(reversed(list(zip(input.items, value, strict=True))))
        elif isinstance(input, T.Sequence):
            lengths.append(len(value))
    return lengths


def _blank(output: T.Type, lengths: list[int]) -> Steps:
    """A value without numbers; `lengths` are those of the tensors in sequences, used up from the front."""
    if isinstance(output, T.Tuple):
        items = []
        for item in output.items:
            items.append((yield _blank(item, lengths)))  # noqa: PERF401 (a comprehension cannot yield)
        return tuple(items)
    if isinstance(output, T.Sequence):
        length = 0
        for _ in T.leaves(output.element):
            length = lengths.pop(0) if lengths else 0
        element = yield _blank(output.element, [])
        return [element] * length
    return None
