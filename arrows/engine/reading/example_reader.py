"""Reads examples: runs the code generated for a model, and turns the lists that it fills into wirings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from arrows.engine.planning import Plan
from arrows.engine.reading.example_streams import ExampleStreams, Refused
from arrows.engine.reading.fingerprint import described
from arrows.engine.reading.generated_code import completed_source
from arrows.engine.reading.index_bounds import index_ports
from arrows.engine.reading.wiring import Wirings
from arrows.engine.reference import Explainer
from arrows.engine.values import iterators_in
from arrows.ops import IndexOutOfRange
from arrows.typesys import InputError, cached_property

# The examples that become arrays at once; bounds the Python lists that the generated code fills.
CHUNK = 1024


class ExampleReader:
    """Reads examples with the code that was generated for one model.

    Args:
        plan: the model's plan, with the code that lowering wrote.
        max_nodes: the most nodes, and the most calls of recursive blocks, of one example.
        explain: raises the `InputError` that says what is wrong with an example.

    Threads may read at the same time, and a user's function may call the same model meanwhile: each has
    streams of its own. Streams are never used again if reading failed or was interrupted, or was under way in
    another thread when the process was forked.
    """

    def __init__(self, plan: Plan, max_nodes: int, explain: Explainer) -> None:
        self.plan = plan
        self.max_nodes = max_nodes
        self.explain = explain
        self.indices = index_ports(plan)
        self.source = completed_source(plan)
        self.code = compile(self.source, "<arrows lowering>", "exec")
        self._idle: list[ExampleStreams] = []

    @cached_property
    def description(self) -> str:
        """A hash of how the block reads, without its functions' code and content."""
        return described(self.plan, self.indices, self.source)

    def read_all(self, examples: Iterable[object], first: int = 0, refused: Refused = None) -> Wirings:
        """Reads examples; arguments and errors are those of `read_chunk`.

        Of examples that are collected because they do not fit, there are no wirings.
        """
        return Wirings.joined(list(self.read_chunks(examples, first, refused)))

    def read_chunks(
        self, examples: Iterable[object], first: int = 0, refused: Refused = None
    ) -> Iterator[Wirings]:
        """As `read_all`, chunk by chunk; memory holds one."""
        for block in blocks(examples, CHUNK):
            yield self.read_chunk(block, first, refused)
            first += len(block)

    def read_chunk(self, examples: Sequence[object], first: int, refused: Refused = None) -> Wirings:
        """Reads some examples of a set.

        Args:
            examples: the examples.
            first: what the first example is called in messages.
            refused: takes the errors of examples that do not fit, by their numbers in messages; None: the
                first of them ends the reading.

        Raises:
            InputError: an example is not what the block expects, and ``refused`` is None; it says which,
                where and why.
        """
        try:
            streams = self._idle.pop()
        except IndexError:
            streams = ExampleStreams(
                self.plan, self.code, indices=self.indices, max_nodes=self.max_nodes, explain=self.explain
            )
        wirings = streams.read(examples, first, refused)
        self._idle.append(streams)
        return wirings

    @contextmanager
    def hinting(self, examples: object) -> Iterator[None]:
        """A context in which errors are `hinted`, of examples as the user hands them in."""
        try:
            yield
        except InputError as error:
            raise self.hinted(error, examples) from error.__cause__

    def hinted(self, error: InputError, examples: object) -> InputError:
        """An error of the first example that says so if the list is an example, or its first item a batch.

        Other errors, and those of examples that are in no list, stay as they are.
        """
        fits = isinstance(error.__cause__, IndexOutOfRange)  # all that is wrong is a number
        if error.details.example != 0 or fits or not isinstance(examples, (list, tuple, np.ndarray)):
            return error
        first = examples[0] if len(examples) else None
        if self._fit(examples):
            hint = "the list itself is an example, and a batch is a list of these: [example]"
        elif not error.details.hint and isinstance(first, (list, tuple)) and self._fit(*first):
            hint = "its first item is an example: model(batch), not model([batch])"
        else:
            return error
        hinted = InputError(error.details.hinting(hint))
        hinted.__cause__ = error.__cause__
        return hinted

    def _fit(self, *examples: Any) -> bool:
        """Whether there are objects, and all are small examples."""
        if not examples or iterators_in(examples):  # these are still to be read
            return False
        explain = replace(self.explain, max_nodes=CHUNK)
        try:
            for example in examples:
                explain(example, 0)
        except InputError:
            return False
        return True


def blocks(examples: Iterable[object], size: int) -> Iterator[list[object]]:
    """Lists of so many examples, and of the rest; of no examples there is one empty list.

    >>> list(blocks(range(7), 3)), list(blocks([], 2))
    ([[0, 1, 2], [3, 4, 5], [6]], [[]])
    """
    rest = iter(examples)
    block = list(islice(rest, size))
    yield block
    while block := list(islice(rest, size)):
        yield block
