"""Puts the examples of an epoch into batches: so many examples, so many nodes, or examples of like size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from arrows.arrays import HostArray
from arrows.engine.scheduling import AtOnce, ByNodes, batch_stops, checked_count
from arrows.typesys import ArrowTypeError


@dataclass(frozen=True, slots=True)
class EpochBatches:
    """The batches of an epoch.

    Attributes:
        order: places in the set, in the order in which they are trained on, ``[examples]``.
        stops: where each batch ends in that order, ``[batches]``.
    """

    order: HostArray
    stops: HostArray

    def stop(self, position: int, batches: int = 1) -> int:
        """Where the batch that begins at a position ends, or the last of so many.

        >>> EpochBatches(np.arange(5), np.array([2, 4, 5])).stop(2, 2)
        5
        """
        first = int(np.searchsorted(self.stops, position, side="right"))
        return int(self.stops[min(first + batches, len(self.stops)) - 1])


@dataclass(frozen=True, slots=True)
class Bucketed:
    """Batches of examples of like size: for ``train(batch_size=Bucketed(64))``.

    The examples of an epoch are shuffled and cut into pools of many batches. Each pool is sorted by size and
    cut into batches, and these are shuffled. Nothing is padded here, whatever is in a batch; but examples of
    like size take as many steps, so that each step has many rows. Torchtext's `BucketIterator` did the same.

    Args:
        batch_size: examples in a batch, or `ByNodes`.
        pool: batches in a pool: with more, sizes are more alike, and order is less random.

    Raises:
        ArrowTypeError, ArrowValueError: arguments that cannot be.

    >>> Bucketed(ByNodes(20_000))
    Bucketed(batch_size=ByNodes(nodes=20000), pool=100)
    """

    batch_size: int | ByNodes
    pool: int = 100

    def __post_init__(self) -> None:
        if not isinstance(self.batch_size, ByNodes):
            size = checked_count("Bucketed: batch_size", self.batch_size, ", or ByNodes(...)")
            object.__setattr__(self, "batch_size", size)
        object.__setattr__(self, "pool", checked_count("Bucketed: pool", self.pool))


BatchSize: TypeAlias = int | ByNodes | Bucketed


def _in_random_order(rule: BatchSize, nodes: HostArray, random: np.random.Generator) -> EpochBatches:
    order = random.permutation(len(nodes))
    if not isinstance(rule, Bucketed):
        return EpochBatches(order, batch_stops(rule, nodes[order]))
    batches: list[HostArray] = []
    start = 0
    for stop in batch_stops(rule.batch_size, nodes[order], rule.pool).tolist():
        pool = order[start:stop]
        pool = pool[np.argsort(nodes[pool], kind="stable")]
        batches += np.split(pool, batch_stops(rule.batch_size, nodes[pool])[:-1])
        start = stop
    batches = [batches[number] for number in random.permutation(len(batches))]
    stops = np.cumsum([len(batch) for batch in batches], dtype=np.intp)
    return EpochBatches(np.concatenate([order[:0], *batches]), stops)


def at_once_of(batch_size: BatchSize) -> int | ByNodes:
    """The most that a batch holds.

    >>> at_once_of(Bucketed(ByNodes(10)))
    ByNodes(nodes=10)
    """
    return batch_size.batch_size if isinstance(batch_size, Bucketed) else batch_size


def share_of(at_once: AtOnce, ranks: int) -> AtOnce:
    """The most that each of so many ranks runs at a time.

    >>> share_of(5, 2), share_of(ByNodes(100), 2)
    (3, ByNodes(nodes=50))
    """
    if isinstance(at_once, ByNodes):
        return ByNodes(-(-at_once.nodes // ranks))
    return None if at_once is None else -(-at_once // ranks)


def checked_batch_size(owner: str, batch_size: object) -> BatchSize:
    """A batch size or a rule for batches.

    Raises:
        ArrowTypeError, ArrowValueError: it is neither.
    """
    if isinstance(batch_size, ByNodes | Bucketed):
        return batch_size
    return checked_count(f"{owner}: batch_size", batch_size, ", or ByNodes(...) or Bucketed(...)")


def epoch_batches(
    batch_size: BatchSize,
    prepared: object,
    count: int,
    seed: tuple[int, int],
    before: Sequence[tuple[BatchSize, int]] = (),
) -> EpochBatches:
    """The batches of an epoch.

    A run that was resumed within the epoch may have another batch size from there on.  The examples that are
    left keep their order then: a `Bucketed` sorts and shuffles them from the next epoch on.

    Args:
        batch_size: examples in a batch, or the rule.
        prepared: the examples; a rule asks them how many nodes each has.
        count: how many examples there are.
        seed: what the order depends on, and nothing else.
        before: batch sizes that the epoch had before this one, each with the position up to which.

    Raises:
        ArrowTypeError: the examples do not say how many nodes they have.
    """
    nodes: HostArray = np.zeros(count, np.int64)
    first, position = (before[0][0], before[-1][1]) if before else (batch_size, 0)
    rule = next((size for size in (first, batch_size) if isinstance(size, ByNodes | Bucketed)), None)
    if rule is not None:
        known: HostArray | None = getattr(prepared, "nodes", None)
        if known is None:
            raise ArrowTypeError(
                f"train: {rule} needs to know how many nodes each example has, and these do not say (a "
                "program on the fly shows it only as it runs); batch_size=64 takes so many examples"
            )
        nodes = known
    epoch = _in_random_order(first, nodes, np.random.default_rng(seed))
    if not before:
        return epoch
    rest = batch_stops(at_once_of(batch_size), nodes[epoch.order[position:]])
    return EpochBatches(epoch.order, np.concatenate([epoch.stops[epoch.stops <= position], rest + position]))


def batch_size_of(plain: object) -> BatchSize:
    """A batch size or rule from plain JSON, as `dataclasses.asdict` writes it.

    Raises:
        ArrowTypeError, ArrowValueError: this is none.

    >>> batch_size_of({"batch_size": {"nodes": 10}, "pool": 2})
    Bucketed(batch_size=ByNodes(nodes=10), pool=2)
    """
    match plain:
        case {"nodes": nodes}:
            return ByNodes(nodes)
        case {"batch_size": {"nodes": nodes}, "pool": pool}:
            return Bucketed(ByNodes(nodes), pool)
        case {"batch_size": size, "pool": pool}:
            return Bucketed(size, pool)
    return checked_count("batch_size", plain)
