"""The loss of a batch and its gradients, summed over the runs that the batch takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from arrows.engine.planning import LossWeights, Params, read_sites
from arrows.engine.running.execute import Executor, Run, Seeds
from arrows.engine.running.gradients import Gradient, ParameterKey, add_gradients, own
from arrows.engine.running.outputs import OutputRows, copy_rows, join_rows
from arrows.engine.scheduling import WiredBatch
from arrows.engine.values import Ragged
from arrows.ops.arrays import Array, HostArray


@dataclass(frozen=True, eq=False, slots=True)
class Differentiated:
    """A loss and its gradients.

    Attributes:
        loss: a scalar of the device.
        grads: by parameter name; they are the engine's memory, until the next call.
        inputs: for each named input the gradients of what was read there.
        parts: the rows that each run hands out.
    """

    loss: Array
    grads: dict[str, Gradient]
    inputs: dict[str, Ragged]
    parts: list[OutputRows]


def differentiate(
    executor: Executor,
    runs: Iterable[tuple[Run, WiredBatch]],
    *,
    weights: LossWeights,
    params: Params,
    inputs: Sequence[str],
    examples: int,
) -> Differentiated:
    """Sums losses and gradients of the runs of a batch.

    Args:
        executor: of the runs.
        runs: after their forward pass; each is done with before the next takes its memory.
        weights: of what the loss is made of.
        params: the model's parameters.
        inputs: the named inputs whose gradients are wanted.
        examples: how many are in the batch; the loss is the mean over them.
    """
    plan, device = executor.plan, executor.device
    seeds = Seeds(
        {metric: weight / max(examples, 1) for metric, weight in weights.metrics.items()},
        None if weights.result is None else weights.result / max(examples, 1),
    )
    loss: Array | None = None
    sums: dict[ParameterKey, Gradient] = {}
    parts: list[OutputRows] = []
    pieces: dict[str, list[tuple[Array, HostArray]]] = {name: [] for name in inputs}
    for run, batch in runs:
        parts.append(copy_rows(run, result=False))
        part = run.loss(seeds)
        loss = part if loss is None else loss + part
        for key, gradient in run.backward(seeds).items():
            if key in sums:
                sums[key] = add_gradients(device, sums[key], gradient)
            else:  # one run after another writes to the same memory
                sums[key] = own(gradient) if plan.schedule == "none" else gradient
        for name in inputs:
            sites = [site.index for site in read_sites(plan, name)]
            pieces[name].append(run.input_gradients(batch, sites))
    grads = {
        name: sums[key] if key in sums else executor.no_gradient(*params.owner(name))
        for name, key in params.keys_by_name().items()
        if params.owner(name)[1].has_gradient
    }
    if loss is None:
        loss = device.zeros((), weights.dtype)
    return Differentiated(
        loss=loss,
        grads=grads,
        inputs={name: _joined(executor, name, pieces[name]) for name in inputs},
        parts=parts,
    )


def _joined(executor: Executor, name: str, pieces: Sequence[tuple[Array, HostArray]]) -> Ragged:
    """The gradients of a named input, of all runs."""
    lengths = np.concatenate([np.zeros(0, np.int64), *(np.diff(offsets) for _, offsets in pieces)])
    (row,) = read_sites(executor.plan, name)[0].outputs
    values = join_rows(executor.device, [values for values, _ in pieces], row)
    return Ragged(values, np.concatenate(([0], np.cumsum(lengths))))


def only_reads(optimizer: object) -> bool:
    """Whether an optimizer only reads gradients and keeps none: one of this package, with a rule of its own.

    Only these see gradients in the engine's memory; others get copies.
    """
    says = getattr(type(optimizer), "only_reads_gradients", None)
    return says is not None and says(optimizer) is True
