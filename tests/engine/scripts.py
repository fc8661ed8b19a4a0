"""Holds the models of one block to the reference, whatever is asked of them in whatever order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations, starmap
from typing import Any

import numpy as np
from hypothesis import strategies as st

import arrows as ar
from arrows.engine.planning import SCHEDULES
from arrows.engine.reference import ArraySemantics, interpret, unwrap
from arrows.engine.values import collate
from arrows.training import SGD
from tests.agree import plain
from tests.compare import close, dense, tape_meets_kink
from tests.generate import Case
from tests.generation.build import Draw
from tests.reference_gradients import loss_terms

Setting = tuple[str, bool]  # schedule, whether element-wise chains are fused
KINDS = ("gradients", "results", "gradients", "training", "optimizer", "refused", "step", "move")
RATE = 0.05


@dataclass(frozen=True)
class Action:
    """One thing asked of a model.

    Attributes:
        setting: which of the models.
        kind: "gradients", "results" of a prediction or "training", "refused" (one example does not fit),
            "optimizer" (one that notes and spoils what it is given), "step" (of SGD: the parameters change),
            "move" (to the other device, with all models that share its parameters).
        order: the examples.
        inputs: whether gradients of named inputs are asked for.
        prepared: where the examples come from: "list", "set" (a prepared one, kept), "part" (a set prepared
            of a batch of that).
        spoil: whether what is handed out is overwritten afterwards.
    """

    setting: Setting
    kind: str
    order: tuple[int, ...]
    inputs: bool
    prepared: str
    spoil: bool


@st.composite
def scripts(draw: Draw, count: int, device: str, least: int, most: int) -> list[Action]:
    """Up to `most` actions on models of several schedules, with batches of `count` examples."""
    fused = (False,) if device != "cpu" else (False, True)
    # few models and many batches each: what one batch leaves behind is what the next may find
    settings = st.tuples(st.sampled_from(SCHEDULES), st.sampled_from(fused))
    models = draw(st.lists(settings, min_size=1, max_size=4, unique=True))
    return draw(
        st.lists(
            st.builds(
                Action,
                st.sampled_from(models),
                st.sampled_from(KINDS),
                st.lists(st.integers(0, count - 1), max_size=5).map(tuple) if count else st.just(()),
                inputs=st.sampled_from((True, False)),
                prepared=st.sampled_from(("list", "set", "part")),
                spoil=st.booleans(),
            ),
            min_size=least,
            max_size=most,
        )
    )


@dataclass(frozen=True, eq=False)
class Alone:
    """What the reference says of one example.

    Attributes:
        value, metrics: as in `ReferenceResult`.
        loss: its share.
        parameters: gradients of the loss, by owner and name.
        inputs: gradients of the loss by the name of the input, in the order of the visits.
        kink: whether a gradient is a matter of rounding.
    """

    value: Any
    metrics: Mapping[str, list[Any]]
    loss: float
    parameters: Mapping[Any, Any]
    inputs: Mapping[str, list[Any]]
    kink: bool


class Noting:
    """An optimizer that changes nothing: it calls the model, notes what it was given, and may spoil it."""

    def __init__(self, spoil: bool, call: Callable[[], object]) -> None:
        self.spoil, self.call = spoil, call
        self.given: Mapping[str, Any] = {}
        self.noted: dict[str, Any] = {}

    def step(self, model: Any, grads: Mapping[str, Any], /) -> None:
        self.call()
        self.given = grads
        self.noted = {name: dense(gradient).copy() for name, gradient in grads.items()}
        if self.spoil:
            spoil(grads)


def spoil(grads: Mapping[str, Any]) -> None:
    """Overwrites gradients, as one may do with what one was given."""
    for array in arrays_of(tuple(grads.values())):
        if array.dtype.kind == "f":
            array[...] = np.nan


def arrays_of(result: Any) -> list[Any]:
    """The arrays of numbers in what a model on the CPU hands out."""
    if isinstance(result, tuple):
        return [array for item in result for array in arrays_of(item)]
    if isinstance(result, ar.ops.RowSparse):
        return [result.rows, result.values]
    return arrays_of(result.values) if isinstance(result, ar.Ragged) else [] if result is None else [result]


class Models:
    """The models of one block, which share their parameters; each is compiled when first asked.

    Args:
        case: the block, and the examples.
        device: "cpu" or "fake".
        float_type: of all models.
        tolerance: of the comparison.
        fused: whether chains are; None: as the script says.
    """

    def __init__(
        self,
        case: Case,
        device: str,
        float_type: str = "float64",
        tolerance: float = 1e-9,
        fused: bool | None = None,
    ) -> None:
        self.case, self.examples, self.device = case, case.examples, device
        self.float_type, self.tolerance, self.fused = float_type, tolerance, fused
        self._models: dict[Setting, ar.Model] = {}
        self._prepared: dict[Setting, Any] = {}
        self._alone: dict[int, Alone] = {}
        self._handed_out: list[tuple[Any, Any]] = []

    def model(self, setting: Setting) -> ar.Model:
        if setting not in self._models:
            first = next(iter(self._models.values()), None)
            self._models[setting] = ar.compile(
                self.case.block,
                loss=self.case.loss or None,
                float_type=self.float_type,
                device=self.device,
                schedule=setting[0],
                seed=3,
                jit=(setting[1] if self.fused is None else self.fused) if self.device == "cpu" else None,
                params=None if first is None else first.params,
            )
        return self._models[setting]

    def alone(self, model: ar.Model, number: int) -> Alone:
        """The reference on one example; remembered while the parameters stay as they are."""
        if number not in self._alone:
            arrays = ArraySemantics(
                model.typed,
                lambda owner, spec: ar.to_numpy(model.params.of(owner, spec)),
                self.float_type,
                record=True,
            )
            value = interpret(model.typed, self.examples[number], arrays, max_nodes=10**6)
            seeds = [] if self.case.loss == "" else loss_terms(arrays, value, self.case.loss)
            found = arrays.evaluation.backward(
                [(seed, np.full(seed.array.shape, weight, seed.dtype)) for seed, weight in seeds]
            )
            self._alone[number] = Alone(
                unwrap(model.typed.output, value),
                {name: [v.array for v in values] for name, values in arrays.metrics.items()},
                sum(weight * float(seed.array.sum()) for seed, weight in seeds),
                {key: gradient for key, gradient in found.items() if isinstance(key, tuple)},
                {
                    name: [found.get(v, np.zeros_like(v.array)) for v in values]
                    for name, values in arrays.inputs.items()
                },
                tape_meets_kink(arrays.evaluation, self.tolerance * 1e3),
            )
        return self._alone[number]

    def do(self, action: Action) -> int | None:
        """Does it and compares; gives the number of examples that were compared; None: no numbers were."""
        model = self.model(action.setting)
        order = [i for i in action.order if not self.alone(model, i).kink]
        alone = [self.alone(model, i) for i in order]
        if action.kind == "move":
            self.device = {"cpu": "fake", "fake": "cpu"}[self.device]
            model.to(self.device)
            assert all(each.device is model.device for each in self._models.values())
            assert all(map(model.device.is_array, model.params.values())) and model.held_memory == 0
            return None
        if action.kind == "refused":
            self._refused(model, order)
            return None
        batch: Any = [self.examples[i] for i in order]
        if action.prepared != "list":
            if action.setting not in self._prepared:
                self._prepared[action.setting] = model.prepare(self.examples)
            batch = self._prepared[action.setting][order]
            batch = model.prepare(batch) if action.prepared == "part" else batch
        if action.kind in ("results", "training") or self.case.loss == "":
            found = model(batch, training=action.kind == "training")
            wanted = collate(model.typed.output, [one.value for one in alone])
            assert self.close(plain(found), plain(wanted)), "results"
            if self.device == "cpu" and action.spoil:
                for array in arrays_of(found):
                    array[...] = 0
            elif self.device == "cpu":
                self._handed_out += [(array, array.copy()) for array in arrays_of(found)]
        else:
            self._differentiated(model, batch, action, alone)
        self._metrics(model, alone)
        return len(order)

    def close(self, found: Any, wanted: Any) -> bool:
        return close(found, wanted, self.tolerance)

    def at_the_end(self) -> None:
        """What was handed out is still as it was."""
        for given, was in self._handed_out:
            assert np.array_equal(dense(given), was, equal_nan=True), "a result or a gradient has changed"

    def _metrics(self, model: ar.Model, alone: list[Alone]) -> None:
        for name, found in model.metrics.items():
            values = ar.to_numpy(found)
            assert len(values) == len(alone)
            for given, one in zip(values, alone, strict=True):
                assert self.close(list(given), one.metrics.get(name, [])), f"metric {name}"

    def _differentiated(self, model: ar.Model, batch: Any, action: Action, alone: list[Alone]) -> None:
        asked = action.inputs and action.kind == "gradients"
        names = tuple(n for n in self.case.inputs if asked and any(n in one.inputs for one in alone))
        before = {name: ar.to_numpy(array).copy() for name, array in model.params.items()}
        grads: Mapping[str, Any] = {}

        def call(*_: Any) -> None:
            """Runs another batch, which takes the memory that this one took."""
            model(self.examples * 2)
            model.value_and_grad(self.examples * 2)

        if action.kind == "gradients":
            value, grads = model.value_and_grad(batch, inputs=names)
            if self.device == "cpu":
                arrays = [*arrays_of(tuple(grads.values())), *model.params.values()]
                assert not any(starmap(np.shares_memory, combinations(arrays, 2))), "memory of two gradients"
        elif action.kind == "optimizer":
            noting = Noting(action.spoil and self.device == "cpu", call)
            value = model.train_step(batch, noting, check=call)
            grads = noting.noted
            if not noting.spoil:  # an optimizer may keep it
                self._handed_out += [(noting.given[name], grads[name]) for name in grads]
        else:
            value = model.train_step(batch, SGD(RATE), check=call)
        share = 1.0 / max(len(alone), 1)
        assert self.close(float(ar.to_numpy(value)), share * sum(one.loss for one in alone)), "loss"
        for name in model.params:
            owner, spec = model.params.owner(name)
            if not spec.has_gradient:
                assert name not in grads and np.array_equal(before[name], ar.to_numpy(model.params[name]))
                continue
            zero = np.zeros(spec.shape, self.float_type)
            wanted = share * sum((one.parameters.get((owner, spec.name), zero) for one in alone), start=zero)
            if action.kind == "step":
                moved = before[name] - ar.to_numpy(model.params[name])
                assert self.close(moved / RATE, wanted), f"step of {name}"
            else:
                assert self.close(dense(grads[name]), wanted), f"gradient of {name}"
        for name in names:
            given = ar.to_numpy(grads[name])
            assert len(given) == len(alone)
            for found, one in zip(given, alone, strict=True):
                assert self.close(list(found), [share * g for g in one.inputs.get(name, [])]), f"input {name}"
        if action.kind == "step":
            self._alone.clear()
        elif action.kind == "gradients" and action.spoil and self.device == "cpu":
            spoil(grads)
        elif action.kind == "gradients":
            self._handed_out += [
                (grads[name], dense(grads[name]).copy()) for name in grads if name not in names
            ]

    def _refused(self, model: ar.Model, order: list[int]) -> None:
        """A batch whose last example may not fit: it fails, or it does not; later batches must not mind."""
        examples = [*(self.examples[i] for i in order), object()]
        for call in (model, model.value_and_grad)[: 1 + (self.case.loss != "")]:
            message = ""
            try:
                call(examples)
            except ar.InputError as error:
                message = str(error)
            except IndexError:
                assert self.device != "cpu", "a device looks up unchecked, and the strict fake stops there"
            assert not message or f"example {len(order)}" in message
