"""A model as a module of PyTorch: `from arrows.torch import Module`, with ``pip install 'arrows[torch]'``.

The parameters of a `Module` are the model's own memory, lent by DLPack. A forward of a batch is one function
of PyTorch's autograd: the engine runs the batch, keeps it, and takes it back when gradients of the outputs
come.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from arrows.arrays import Array, HostArray, quiet
from arrows.engine import Model, Ragged
from arrows.engine.device import Arena, Device
from arrows.engine.planning import Plan, input_names, read_sites
from arrows.engine.reading import Column
from arrows.engine.running import (
    Gradient,
    ModelCall,
    ParameterKey,
    PartialRun,
    add_gradients,
    collect_result,
    copy_rows,
)
from arrows.engine.scheduling import BatchInput, Examples, Merged, WiredBatch, naming_places
from arrows.engine.values import Recursion, import_array, mapped
from arrows.ops import RowSparse
from arrows.typesys import ArrowTypeError, ArrowValueError, message

try:
    import torch
    from torch.autograd import Function
    from torch.autograd.function import once_differentiable
    from torch.nn import Module as TorchModule
except ImportError:  # the reference is written without it, too
    Function, TorchModule, once_differentiable = object, object, staticmethod

__all__ = ["Module"]

Tensor: TypeAlias = "torch.Tensor"


class Module(TorchModule):
    """A model as a `torch.nn.Module`: PyTorch calls it, differentiates it, trains it and saves it.

    Its parameters have the names of ``model.params`` and are the same memory, without a copy: a step of a
    PyTorch optimizer, `load_state_dict` or an initializer of `torch.nn.init` changes the model. So does the
    other way round: what ``model.params["fc/bias"][...] = 0`` or `arrows.training.load` writes is in the
    module.

    A call takes examples as the model does, a list of Python objects or a batch of a prepared set, and gives
    the block's results with tensors in the place of arrays; the result of a sequence is a `Ragged` whose
    ``values`` and ``offsets`` are tensors, as `torch.nested.nested_tensor_from_jagged` takes them. Metrics
    are tensors too: `metrics` has those of the last call. Gradients flow from all of these into parameters,
    and into the tensors of named inputs (below), once: there are no gradients of gradients.

    Dropout acts after `train()`, and each such call draws anew; after `eval()` it does not act. A call keeps
    memory for its way back until PyTorch drops its graph: call it under `torch.no_grad()` to predict.

    Args:
        model: what `arrows.compile` made, on the CPU or on a GPU. It may be used as before, too.
        sparse: whether tables of embeddings get sparse gradients, of the rows that were read, as
            `torch.nn.Embedding(sparse=True)`: `torch.optim.SGD` and `torch.optim.SparseAdam` take them.

    Attributes:
        model: the model.
        metrics: for each `Metric` of the block, a `Ragged` of one sequence an example.

    Raises:
        ImportError: PyTorch is not installed.
        ArrowTypeError: that is no model; or `double()`, `half()` or `to(dtype)` would take the parameters
            from it: compile the block with ``float_type=``. `cuda()` and `cpu()` move the model.

    Example:
        >>> import arrows as ar, torch
        >>> from arrows.torch import Module
        >>> vectors = ar.Map(ar.Vector(2, name="x") >> ar.FC(1, name="fc"))
        >>> module = Module(ar.compile(vectors))
        >>> out = module([[[1, 2], [3, 4]], [[5, 6]]])
        >>> out.values.shape, out.offsets
        (torch.Size([3, 1]), tensor([0, 2, 3]))
        >>> out.values.sum().backward()
        >>> dict(module.named_parameters())["fc/weight"].grad
        tensor([[ 9.], [12.]])
        >>> x = torch.ones(3, 2, requires_grad=True)  # in the place of the three vectors above
        >>> module([[[1, 2], [3, 4]], [[5, 6]]], x=x).values.sum().backward()
        >>> x.grad.shape
        torch.Size([3, 2])
    """

    def __init__(self, model: Model, *, sparse: bool = False) -> None:
        if TorchModule is object:
            raise ImportError("arrows.torch needs PyTorch: pip install 'arrows[torch]'")
        if not isinstance(model, Model):
            raise ArrowTypeError(f"Module takes a model, as arrows.compile makes it, not {model!r:.60}")
        super().__init__()
        self.model, self.sparse = model, sparse
        self.metrics: dict[str, Ragged] = {}
        self._arenas: list[Arena] = []
        self._lent: dict[str, tuple[Array, int]] = {}
        for name, array in model.params.items():
            learned = model.params.owner(name)[1].has_gradient
            parameter = torch.nn.Parameter(torch.from_dlpack(array), learned)
            self.register_parameter(_torch_name(name), parameter)
        self._share()

    def forward(self, examples: Examples, /, **tensors: Tensor) -> Any:
        """The block's results for a batch.

        Args:
            examples: as a model takes them.
            tensors: by the name of an input (``Vector(300, name="word")``), a tensor or an array
                ``[reads, *shape]`` of its element type, in the place of what the examples hold there, which
                must fit the input still. It has a row for each time that the input is read, example by
                example, in the order of the visits: the order of the gradients of `Model.value_and_grad`. A
                tensor of a GPU passes through the host, as what the examples hold does.

        Raises:
            InputError, ArrowTypeError, MemoryError: as `Model.__call__`.
            ArrowValueError: no input has the name, or its tensor does not fit; the message says why.
        """
        if torch.compiler.is_compiling():  # it would trace the engine's NumPy
            return torch.compiler.disable(self._forward)(examples, tensors)
        return self._forward(examples, tensors)

    def _forward(self, examples: Examples, tensors: Mapping[str, Tensor]) -> Any:
        model = self.model
        names, given = input_names(tensors, model.params), map(torch.as_tensor, tensors.values())
        with model.params.lock.mutex:
            self._share()
            parameters = [self._parameters[_torch_name(name)] for name in model.params]
            result, metrics, *outputs = _Batch.apply(
                self, examples, names, torch.is_grad_enabled(), *given, *parameters
            )
        rest = iter(outputs)
        result = _mapped(result, lambda _: next(rest))
        self.metrics = {name: _mapped(values, lambda _: next(rest)) for name, values in metrics.items()}
        return result

    def loss(self, examples: Examples, /, **tensors: Tensor) -> Tensor:
        """The loss of a batch, as `Model.value_and_grad` defines it: the mean over the examples.

        Args:
            examples, tensors: as for a call.

        Raises:
            ArrowTypeError: the block has no loss; and as for a call.

        Example:
            >>> import arrows as ar, torch
            >>> from arrows.torch import Module
            >>> pair = ar.GetItem(0) >> ar.Vector(2) >> ar.FC([]) & ar.GetItem(1) >> ar.Scalar()
            >>> module = Module(ar.compile(pair >> ar.SquaredError()))
            >>> optimizer = torch.optim.Adam(module.parameters(), lr=0.1)
            >>> for _ in range(100):
            ...     optimizer.zero_grad()
            ...     loss = module.loss([([1, 0], 1), ([0, 1], 2)])
            ...     loss.backward()
            ...     _ = optimizer.step()
            >>> loss.item() < 0.01
            True
        """
        weights = self.model.executors.weights
        if weights.missing is not None:
            raise ArrowTypeError(weights.missing)
        result = self(examples, **tensors)
        if weights.result is not None:
            return result.sum() * (weights.result / max(len(result), 1))
        metrics = list(self.metrics.values())
        terms = [metrics[m].values.sum() * (w / max(len(metrics[m]), 1)) for m, w in weights.metrics.items()]
        return sum(terms[1:], terms[0])

    def extra_repr(self) -> str:
        return repr(self.model)

    def _share(self) -> None:
        """Sees to it that parameters and model are one memory, whatever was done to either.

        The model may have moved; and some functions of PyTorch give a parameter other memory, such as
        ``load_state_dict(assign=True)`` and `torch.nn.utils.vector_to_parameters`.
        """
        for name, array in self.model.params.items():
            parameter, lent = self._parameters[_torch_name(name)], self._lent.get(name)
            if not isinstance(parameter, torch.nn.Parameter):
                raise ArrowTypeError(
                    f"the parameter {name!r} is a model's memory: no other tensor stands for it"
                )
            if lent is None or lent[0] is not array or lent[1] != parameter.data_ptr():
                tensor = torch.from_dlpack(array)
                if lent is not None and lent[0] is array:
                    tensor.copy_(parameter.detach())
                parameter.data = tensor
                self._lent[name] = array, tensor.data_ptr()

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Module:
        """Moves the model where `to`, `cuda` and `cpu` want its parameters; refuses to cast these."""
        places = set()
        for parameter in self.parameters():
            wanted = fn(torch.empty(0, dtype=parameter.dtype, device=parameter.device))
            if wanted.dtype != parameter.dtype or wanted.device.type not in ("cpu", "cuda"):
                raise ArrowTypeError(
                    message(
                        f"cannot make {wanted.dtype} on {wanted.device} of this module's parameters",
                        reason=f"they are the memory of a model, {parameter.dtype} on {parameter.device}",
                        hint="ar.compile(block, float_type='float64') makes a model of another type",
                    )
                )
            places.add(str(wanted.device))
        for place in places - {str(parameter.device) for parameter in self.parameters()}:
            self.model.to(place)
            self._share()
            for parameter in self.parameters():
                parameter.grad = None if parameter.grad is None else fn(parameter.grad)
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Module:
        """A module of a model of its own, with the same values."""
        model, names = self.model, "loss seed schedule device float_type max_nodes memory_limit"
        if id(model) not in memo:
            memo[id(model)] = Model(
                model.typed,
                params=dict(model.params),
                jit=model.executors.jit,
                precision=model.executors.precision,
                fingerprint=model.batches.stated,
                **{name: getattr(model, name) for name in names.split()},
            )
        memo[id(self)] = copied = type(self).__new__(type(self))
        state = self.__dict__ | {"_lent": {}, "_arenas": [], "metrics": {}}
        copied.__dict__.update(copy.deepcopy(state, memo))
        copied._share()
        return copied


class _Batch(Function):
    """A batch that runs forwards and, when gradients come, backwards."""

    @staticmethod
    def forward(
        ctx: Any, module: Module, examples: Examples, names: tuple[str, ...], kept: bool, *tensors: Tensor
    ) -> tuple[Any, ...]:
        given = dict(zip(names, tensors[: len(names)], strict=True))
        kept = kept and any(ctx.needs_input_grad)
        model = module.model
        if kept or given:
            result, metrics, ctx.way_back = _run(module, examples, given)
        else:
            result, metrics = model(examples, training=module.training), model.metrics
        if kept:
            ctx.save_for_backward(*tensors)  # so that PyTorch refuses to go back with others
            ctx.set_materialize_grads(False)
        arrays: list[Array] = []
        for part in (result, *metrics.values()):
            _mapped(part, arrays.append)
        outputs = [torch.from_dlpack(array) for array in arrays]
        ctx.mark_non_differentiable(*(each for each in outputs if not each.is_floating_point()))
        return result, metrics, *outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, _result: None, _metrics: None, *gradients: Tensor | None) -> tuple[Any, ...]:
        ctx.saved_tensors  # noqa: B018 - PyTorch checks here that none of them has changed
        return None, None, None, None, *ctx.way_back(gradients, ctx.needs_input_grad[4:])


def _way_back(
    model: Model, sparse: bool, runs: Sequence[PartialRun], inputs: Sequence[str]
) -> Callable[[Sequence[Tensor | None], Sequence[bool]], list[Tensor | None]]:
    """From the gradients of a batch's results and metrics to those of named inputs, then of parameters.

    Args:
        model: whose batch it was.
        sparse: whether tables get sparse gradients.
        runs: the batch, in memory of its own.
        inputs: the names.
    """
    params, plan, updates = model.params, model.plan, model.params.lock.updates

    def way_back(outputs: Sequence[Tensor | None], needs: Sequence[bool]) -> list[Tensor | None]:
        sums: dict[ParameterKey, Gradient] = {}
        found: dict[str, list[Tensor]] = {name: [] for name, need in zip(inputs, needs, strict=False) if need}
        with params.lock.mutex:
            if params.lock.updates != updates:
                raise RuntimeError("the model's parameters have changed since this batch ran: run it again")
            device = runs[0].run.executor.device
            arrays = [None if each is None else import_array(device, each.detach()) for each in outputs]
            starts = [0] * len(arrays)
            for each in runs:
                each.run.clear_gradients()
                for number, (slab, rows) in enumerate(_output_rows(plan, each.run.merged)):
                    array, target = arrays[number], each.run.gradients[slab]
                    first, starts[number] = starts[number], starts[number] + len(rows)
                    if array is not None and target is not None:
                        index = device.to_device(rows.astype(device.index_dtype))
                        added = RowSparse(index, array[first : starts[number]], target.shape)
                        quiet(added.add_to)(target, device.xp)
                add_gradients(device, sums, each.run.flow())
                for name, pieces in found.items():
                    sites = [site.index for site in read_sites(plan, name)]
                    pieces.append(torch.from_dlpack(each.run.input_gradients(each.part, sites)[0]))
        gradients = [torch.cat(found[name]) if name in found else None for name in inputs]
        for name, need in zip(params, needs[len(inputs) :], strict=True):
            owner, spec = params.owner(name)
            total = sums.get((id(owner), spec.name)) if need else None
            gradients.append(None if total is None else _gradient(device, total, sparse))
        return gradients

    return way_back


def _output_rows(plan: Plan, merged: Merged) -> list[tuple[int, HostArray]]:
    """For each leaf of the result, then for each metric, its slab and its rows there."""
    outputs, leaves = merged.outputs, plan.lowered.streams.result.leaves
    rows = [(plan.results[number], outputs.results[number].values) for number in leaves]
    return rows + [(slab, of.values) for slab, of in zip(plan.metrics, outputs.metrics, strict=True)]


def _gradient(device: Device, gradient: Gradient, sparse: bool) -> Tensor:
    if not isinstance(gradient, RowSparse):
        return torch.from_dlpack(gradient)
    if not sparse:
        return torch.from_dlpack(gradient.to_dense(device.xp))
    rows = torch.from_dlpack(gradient.rows).long()[None]
    values = torch.from_dlpack(gradient.values)
    return torch.sparse_coo_tensor(rows, values, gradient.shape, check_invariants=False)


def _run(
    module: Module, examples: Examples, given: Mapping[str, Tensor]
) -> tuple[Any, Mapping[str, Ragged], Callable[..., list[Tensor | None]]]:
    """Runs a batch in memory of its own; with its results and metrics, the way back."""
    model = module.model
    plan, names = model.plan, tuple(given)
    seeds = {plan.results[number] for number in plan.lowered.streams.result.leaves} | {*plan.metrics}
    executor = model.executors.get(names, training=module.training, seeds=frozenset(seeds))
    arenas: list[Arena] = []

    def arena() -> Arena:
        free = [each for each in module._arenas if each.device is model.device]
        module._arenas = free[:-1]
        arenas.append(free[-1] if free else Arena(model.device))
        return arenas[-1]

    with naming_places(examples):
        batch = _with_values(model, model.batches.read(examples, "differentiate", None), given)
        call = ModelCall(examples=examples, ids=None, seed=model.seed, step=model.step)
        runs = list(model.runner.runs(executor, batch, call, own=arena))
    parts = [copy_rows(each.run, result=True) for each in runs]
    outputs = batch.outputs([part.outputs for part in parts])
    result = collect_result(plan, model.device, parts, outputs)
    record = model.runner.record(parts, outputs)
    model.step += module.training
    way_back = _way_back(model, module.sparse, runs, names)
    weakref.finalize(way_back, _give_back, weakref.ref(module), arenas)
    return model.noted(result, record, outputs), record.metrics, way_back


def _give_back(module: weakref.ref[Module], arenas: list[Arena]) -> None:
    """Keeps memory for the next batches: of two, since the last graph often lives while the next is made."""
    owner = module()
    if owner is not None:
        owner._arenas = (owner._arenas + arenas)[-2:]


def _with_values(model: Model, batch: BatchInput, given: Mapping[str, Tensor]) -> BatchInput:
    """A batch whose named inputs have other values than the examples.

    Raises:
        ArrowValueError: there are more or fewer than the examples read, or they are of another type.
    """
    if not given:
        return batch
    plan = model.plan
    wirings = batch.wired.wirings.select(batch.wired.indices)
    raw, site = list(wirings.raw), wirings.site.values
    for name, tensor in given.items():
        sites = read_sites(plan, name)
        (row,) = sites[0].outputs
        operation = int(plan.sites.operation[sites[0].index])
        stream = next(each.stream for each in plan.streams if each.index == operation)
        wanted = np.isin(site[plan.sites.operation[site] == operation], [each.index for each in sites])
        values: HostArray = tensor.detach().cpu().numpy()
        expected = int(wanted.sum()), *row.shape
        if values.shape != expected or values.dtype.name != row.dtype:
            raise ArrowValueError(
                message(
                    f"cannot give the input {name!r} a tensor of {values.dtype.name}{list(values.shape)}",
                    reason=f"these {len(batch.wired)} examples read it {expected[0]} times, so it must be "
                    f"{row.dtype}{list(expected)}",
                )
            )
        column = raw[stream].values.copy()
        column[wanted] = values
        raw[stream] = Column(column, raw[stream].offsets)
    return replace(batch, wired=WiredBatch.all(replace(wirings, raw=tuple(raw))))


def _mapped(result: Any, change: Callable[[Any], Any]) -> Any:
    """A result with another thing in the place of each array, in their order."""

    def changed(part: Any) -> Recursion[Any]:
        if isinstance(part, Ragged):
            return Ragged((yield mapped.call(changed, part.values)), torch.as_tensor(part.offsets))
        return change(part)

    return mapped(changed, result)


def _torch_name(name: str) -> str:
    """A parameter's name without dots, which PyTorch keeps for modules in modules."""
    return name.replace(".", "/")
