"""Takes what a caller hands to a model as a batch: plain examples, which it reads, and prepared ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from arrows.engine.reading import ExampleReader, Fingerprint, Outputs, checked_processes, fingerprint
from arrows.engine.scheduling.merge import Merged
from arrows.engine.scheduling.prepared_set import Batch, Prepared, WiredBatch
from arrows.typesys.errors import ArrowTypeError, ArrowValueError, message

Examples: TypeAlias = Any
"""A batch, as users hand it in: an iterable of Python objects, a `Prepared` or a `Batch`."""


@dataclass(frozen=True, eq=False, slots=True)
class BatchInput:
    """A batch as a model takes it.

    Attributes:
        wired: the examples, lowered.
        objects: the examples themselves; None if they are not at hand.
        numbers: what each example is called in messages: its place in the prepared set, else in the batch.
        ids: what tells each example apart for dropout: the same, if the caller does not say.
    """

    wired: WiredBatch
    objects: Sequence[Any] | None
    numbers: np.ndarray
    ids: np.ndarray

    def parts(self, one_by_one: bool) -> Iterator[tuple[int, WiredBatch]]:
        """What runs at once, and the number of its first example: the batch, or each example."""
        if not one_by_one:
            yield 0, self.wired
            return
        for number in range(len(self.wired)):
            yield number, self.wired.part(number, 1)

    def outputs(self, merged: Sequence[Merged]) -> Outputs:
        """What comes out of the batch, which ran in so many parts."""
        if len(merged) == 1:
            return merged[0].outputs
        return self.wired.wirings.outputs.select(self.wired.indices)


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
    """A batch as a sequence of examples: of whatever can be gone over, or indexed from 0.

    Args:
        examples: the batch; what has a length and items, and no iterator of its own, such as a PyTorch
            `Dataset`, is asked for each item by its number.
        what: what is to be done with it, for messages.

    Raises:
        ArrowTypeError: it is neither, or looks like a single example or a table of columns.

    >>> as_examples(iter("ab"), "run a model")
    ['a', 'b']
    """
    if isinstance(examples, (list, tuple)):
        return examples
    listed, asked = hasattr(examples, "__iter__"), hasattr(examples, "__getitem__")
    single = isinstance(examples, (str, bytes, bytearray, Mapping, type)) or not (listed or asked)
    if single or (not listed and hasattr(examples, "keys")):  # a mapping that does not say so
        raise _no_batch(what, _short_type(examples), "a single example makes a batch of one: [example]")
    if getattr(examples, "shape", None) == ():
        raise _no_batch(what, "an array without axes", "a single example makes a batch of one: [example]")
    if hasattr(examples, "columns") and (hasattr(examples, "shape") or hasattr(examples, "num_rows")):
        raise _no_batch(
            what,
            f"{_short_type(examples)}, which is a table of columns",
            "its rows as dicts: table.to_dict('records') in pandas, to_dicts() in Polars, to_pylist() in "
            "PyArrow",
        )
    if not listed and hasattr(examples, "__len__"):
        return [examples[number] for number in range(len(examples))]
    return list(examples)


def _no_batch(what: str, found: str, hint: str) -> ArrowTypeError:
    return ArrowTypeError(
        message(f"cannot {what}", reason=f"expected a list of examples, got {found}", hint=hint)
    )


def _short_type(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


class BatchReader:
    """Takes examples for a model.

    Args:
        reader: lowers for it.
        stated: what the user says of the data of its functions; None: they are looked at.
    """

    def __init__(self, reader: ExampleReader, stated: str | None) -> None:
        self.reader, self.stated = reader, stated

    def read(self, examples: Any, what: str, ids: Any) -> BatchInput:
        """A batch, lowered; `what` is to be done with it, and `ids` are the caller's."""
        if isinstance(examples, Prepared):
            examples = examples[:]
        objects = None
        if isinstance(examples, Batch):
            self._check(examples.prepared)
            wired, places = examples.wired, examples.indices
        else:
            objects = as_examples(examples, what)
            wired = WiredBatch.all(self.reader.read_all(objects))
            places = wired.indices
        return BatchInput(wired, objects, places, places if ids is None else as_ids(ids, len(wired)))

    def prepare(self, examples: Any, processes: int) -> Prepared:
        """As `Model.prepare`."""
        processes = checked_processes(processes)
        if isinstance(examples, Prepared):
            self._check(examples)
            return examples
        if isinstance(examples, Batch):
            self._check(examples.prepared)
            wirings = examples.prepared.wirings.select(examples.indices)
            known = examples.prepared.fingerprint
        else:
            wirings = self.reader.read_all(as_examples(examples, "prepare examples"), processes)
            known = self._fingerprint()
        return Prepared.numbered(self.reader.plan, wirings, known)

    def _fingerprint(self) -> Fingerprint:
        """How the model reads examples now."""
        return fingerprint(self.reader.description, self.reader.plan.lowered.source.names, self.stated)

    def _check(self, prepared: Prepared) -> None:
        """Sets that this model has made or taken are its own; others must be what it would make now."""
        plan = self.reader.plan
        if plan in prepared.plans:
            return
        reason = self._fingerprint().difference(prepared.fingerprint)
        if reason is not None:
            raise ArrowValueError(
                message(
                    "cannot use these examples",
                    reason=f"they were prepared by another model, and {reason}",
                    hint="prepare them with this model: model.prepare(examples)",
                )
            )
        prepared.plans.add(plan)
