"""A walk over one example: it remembers what has run, says where an example does not fit, and always ends."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, NoReturn, Protocol, TypeAlias

from arrows.combinators import AnyBlock, core_form
from arrows.engine.values import (
    OPTIONAL,
    ExamplePath,
    IteratorReplay,
    Recursion,
    describe,
    describe_error,
    is_of_users,
    trampoline,
)
from arrows.inference import Knot, Typed
from arrows.typesys import InputError, input_message, types as T


class Semantics(Protocol):
    """What a tensor is, in one walk; side outputs are ignored unless a class takes them in.

    Values of the walk: a `Tensor` is whatever the methods give; a `Tuple` is a tuple, a `Sequence` a list,
    `Void` None, an `Input` the Python object, an endless sequence an `Endless`.
    """

    def constant(self, typed: Typed) -> Any:
        """The value of a `Constant` (of `typed.output`)."""

    def read(self, typed: Typed, leaf: object) -> Any:
        """The tensor that a `Read` makes of a Python object; raises `LeafError` if it does not fit."""

    def apply(self, typed: Typed, value: Any) -> Any:
        """What an `Apply` computes of a value of `typed.input`: a value of `typed.output`."""

    def collect(self, typed: Typed, value: Any) -> None:
        """Takes in a side output."""
        return


@dataclass(eq=False, repr=False, slots=True)
class Endless:
    """An endless sequence: one element, again and again.

    >>> Endless(3)
    Endless(3)
    """

    element: Any

    def __repr__(self) -> str:
        return f"Endless({self.element!r})"


MAX_NODES = 10**7
# An endless recursion must end before memory does: a level of recursion holds a few generators, some 2 KB.
_LEVELS = 500_000

Located: TypeAlias = tuple[Any, ExamplePath]
"""A value of the walk, and the place in the example that it was taken from."""


def most_levels(max_nodes: int) -> int:
    """How deep calls of recursive blocks may nest, if there may be `max_nodes` of them: one rule for
    everything that walks over an example.

    >>> most_levels(1000), most_levels(10**7), most_levels(10**8)
    (1000, 500000, 5000000)
    """
    return min(max_nodes, max(_LEVELS, max_nodes // 20))


def too_many(most: int, unit: str = "nodes") -> str:
    """The reason why an example with more nodes is refused."""
    return f"endless: more than {most:,} {unit}; raise max_nodes if it is meant"


class Walk:
    """One walk over one example.  It keeps its own stack, so expressions and data may be as deep as memory
    allows.

    Args:
        meanings: for each core form, what it gives.
        semantics: what tensors are.
        root: the expression.
        number: the example's place in its batch, for messages.
        max_nodes: as in `interpret`.

    Attributes:
        active: the calls of recursive blocks that have begun and not ended: knot, input, and its place.
        check_at: the number of active calls at which the walk next looks for a cycle.
        repeated: the results, by identity of the occurrence, of occurrences that stand at several places.
            What runs again (an element, a call) has results of its own.
        shared_results: for each `Shared`, type and object, the object and the result; None while it runs.
        case_numbers: by identity of a `Choice`, the number of the case of each key.
    """

    def __init__(
        self,
        meanings: Mapping[type[AnyBlock], Meaning],
        semantics: Semantics,
        root: Typed,
        number: int | None,
        max_nodes: int,
    ) -> None:
        self.meanings = meanings
        self.semantics = semantics
        self.root = root
        self.number = number
        self.max_nodes = max_nodes
        self.max_levels = most_levels(max_nodes)
        self.nodes = 0
        self.calls = 0
        self.active: list[tuple[Knot, Any, ExamplePath]] = []
        self.check_at = 2
        self.repeated: dict[int, Located] = {}
        self.shared_results: dict[tuple[int, T.Type, int], tuple[object, Located | None]] = {}
        self.case_numbers: dict[int, dict[Hashable, int]] = {}
        self.replay = IteratorReplay()

    def run(self, example: object) -> Any:
        """The value of the whole expression."""
        result = self.visit(self.root, example, ExamplePath())
        value, _ = result if isinstance(result, tuple) else trampoline(result)
        return value

    def visit(self, typed: Typed, value: Any, path: ExamplePath) -> Located | Recursion[Located]:
        """What an occurrence gives for a value at `path`; ask for it by `yield walk.visit(...)`."""
        if typed.places == 1:
            return self._meaning(typed)(self, typed, value, path)
        if id(typed) in self.repeated:
            return self.repeated[id(typed)]
        return self._visit_first(typed, value, path)

    def _visit_first(self, typed: Typed, value: Any, path: ExamplePath) -> Recursion[Located]:
        result: Located = yield self._meaning(typed)(self, typed, value, path)
        self.repeated[id(typed)] = result
        return result

    def _meaning(self, typed: Typed) -> Meaning:
        meaning = self.meanings.get(type(typed.form))
        return self.meanings[core_form(typed.form)] if meaning is None else meaning

    def count_node(self, typed: Typed) -> None:
        self.nodes += 1
        if self.nodes > self.max_nodes:
            self._endless(typed, self.max_nodes, "nodes")

    def count_call(self, typed: Typed) -> None:
        """Counts a call of a recursive block that has just been put on `active`."""
        self.calls += 1
        if self.calls > self.max_nodes:
            self._endless(typed, self.max_nodes, "calls of recursive blocks")
        if len(self.active) > self.max_levels:
            self._endless(typed, self.max_levels, "levels of recursion")

    def elements(
        self, typed: Typed, type: T.Type, value: Any, path: ExamplePath, *, whole: bool = True
    ) -> Iterator[Any]:
        """Goes over the elements of a sequence of the walk, or of any object that can be iterated.

        `whole` says that all elements will be asked for, so that too many can be refused before the first.
        """
        if not isinstance(type, T.Input):
            yield from value
            return
        if whole and _length(value) > self.max_nodes:
            self._too_long(typed, path)
        try:
            elements = self.replay(value)
        except Exception as error:  # noqa: BLE001 (an object's own __iter__ may raise anything)
            hint = OPTIONAL if value is None else ""
            self.fail(typed, path, f"expected a sequence, got {describe(value)}", error, hint)
        for number in count():
            try:
                element = next(elements)
            except StopIteration:
                return
            except Exception as error:  # noqa: BLE001 (the user's own iterator)
                self.fail(typed, path, describe_error(error), error)
            if number >= self.max_nodes:
                self._too_long(typed, path)
            yield element

    def fail(
        self, typed: Typed, path: ExamplePath, reason: str, cause: BaseException | None, hint: str = ""
    ) -> NoReturn:
        """Raises the `InputError`: what does not fit, where in the example, and which block wanted it.

        A traceback shows the cause too where code of the user raised it: it says at which line.
        """
        form = typed.form
        short = not form.parts or form.name is not None  # the label of what has parts prints them all
        block = form.label if short else form.kind
        text = input_message(self.number, str(path), reason, block, form.site, hint)
        raise InputError(text) from (cause if is_of_users(cause) else None)

    def _too_long(self, typed: Typed, path: ExamplePath) -> NoReturn:
        self.fail(typed, path, too_many(self.max_nodes, "elements"), None)

    def _endless(self, typed: Typed, most: int, unit: str) -> NoReturn:
        path = self.active[-1][2] if self.active else ExamplePath()
        self.fail(typed, path, too_many(most, unit), None)


Meaning: TypeAlias = Callable[[Walk, Typed, Any, ExamplePath], Located | Recursion[Located]]
"""What a core form gives for a value that stands at a place: at once, or after visits that it yields."""


def _length(value: Any) -> int:
    """How many elements an object says that it has; 0 if it does not say."""
    try:
        return len(value)
    except Exception:  # noqa: BLE001 (an object's own __len__ may raise anything; to iterate over it tells)
        return 0
