"""How a model takes examples: plain ones, which it lowers, and prepared ones, if they are its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arrows.engine.chosen import Chosen
from arrows.engine.lowerer import Lowerer
from arrows.engine.merge import Merged
from arrows.engine.plan import Plan
from arrows.engine.prepared import Batch, Prepared
from arrows.engine.spread import checked_processes
from arrows.engine.wiring import Outputs
from arrows.typesys.errors import ArrowTypeError, ArrowValueError, message


@dataclass(frozen=True, eq=False, slots=True)
class Given:
    """A batch as a model takes it.

    Attributes:
        chosen: the examples, lowered.
        objects: the examples themselves; None if they are not at hand.
        numbers: what each example is called in messages: its place in the prepared set, else in the batch.
        ids: what tells each example apart for dropout: the same, if the caller does not say.
    """

    chosen: Chosen
    objects: Sequence[Any] | None
    numbers: np.ndarray
    ids: np.ndarray

    def parts(self, one_by_one: bool) -> Iterator[tuple[int, Chosen]]:
        """What runs at once, and the number of its first example: the batch, or each example."""
        if not one_by_one:
            yield 0, self.chosen
            return
        for number in range(len(self.chosen)):
            yield number, self.chosen.part(number, 1)

    def outputs(self, merged: Sequence[Merged]) -> Outputs:
        """What comes out of the batch, which ran in so many parts."""
        if len(merged) == 1:
            return merged[0].outputs
        return self.chosen.wirings.outputs.select(self.chosen.indices)


def as_ids(ids: Any, count: int) -> np.ndarray:
    """The caller's ids of a batch's examples.

    Raises:
        ArrowTypeError: they are no integers.
        ArrowValueError: there are more or fewer than examples.
    """
    found = np.asarray(ids)
    if found.dtype.kind not in "iu" or found.ndim != 1:
        raise ArrowTypeError(
            message("cannot tell examples apart", reason=f"expected one integer an example, got {ids!r}")
        )
    if len(found) != count:
        raise ArrowValueError(f"{len(found)} ids for {count} examples")
    return found


def as_examples(examples: Any, what: str) -> Sequence[Any]:
    """A batch as a sequence of examples.

    Raises:
        ArrowTypeError: it is not iterable, or looks like a single example.
    """
    if isinstance(examples, (str, bytes, Mapping)) or not isinstance(examples, Iterable):
        raise ArrowTypeError(
            message(
                f"cannot {what}",
                reason=f"expected a list of examples, got {type(examples).__name__}",
                hint="a single example makes a batch of one: [example]",
            )
        )
    return examples if isinstance(examples, (list, tuple)) else list(examples)


class Intake:
    """Takes examples for a model.

    Args:
        plan: the model's plan.
        lowerer: lowers for it.
    """

    def __init__(self, plan: Plan, lowerer: Lowerer) -> None:
        self.plan, self.lowerer = plan, lowerer

    def given(self, examples: Any, what: str, ids: Any) -> Given:
        """A batch, lowered; `what` is to be done with it, and `ids` are the caller's."""
        if isinstance(examples, Prepared):
            examples = examples[:]
        objects = None
        if isinstance(examples, Batch):
            self._check(examples.prepared)
            chosen, places = examples.chosen, examples.indices
        else:
            objects = as_examples(examples, what)
            chosen = Chosen.all(self.lowerer.lower_all(objects))
            places = chosen.indices
        return Given(chosen, objects, places, places if ids is None else as_ids(ids, len(chosen)))

    def prepare(self, examples: Any, processes: int) -> Prepared:
        """As `Model.prepare`."""
        processes = checked_processes(processes)
        if isinstance(examples, Prepared):
            self._check(examples)
            return examples
        if isinstance(examples, Batch):
            self._check(examples.prepared)
            wirings = examples.prepared.wirings.select(examples.indices)
        else:
            wirings = self.lowerer.lower_all(as_examples(examples, "prepare examples"), processes)
        return Prepared.numbered(self.plan, wirings, self.lowerer.fingerprint)

    def _check(self, prepared: Prepared) -> None:
        if not prepared.fits(self.plan, self.lowerer.fingerprint):
            raise ArrowValueError("these examples were prepared by another model; prepare them with this one")
