"""`compile`: from a block to a model; `evaluate`: one example by the reference."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from numbers import Integral
from typing import Any

from arrows.engine import reference
from arrows.engine.device import PRECISIONS, Device, available, get_device
from arrows.engine.model import Model
from arrows.engine.planning import SCHEDULES, make_params
from arrows.engine.reference import MAX_NODES
from arrows.engine.running import parse_memory, show_tapped
from arrows.engine.scheduling import checked_count
from arrows.inference import infer
from arrows.typesys import ArrowTypeError, ArrowValueError


def compile(
    block: object,
    *,
    loss: str | Mapping[str, float] | None = None,
    seed: int = 0,
    schedule: str = "strata",
    device: str | Device = "cpu",
    float_type: str | None = None,
    params: Mapping[str, Any] | None = None,
    max_nodes: int = MAX_NODES,
    jit: bool | None = None,
    precision: str = "float32",
    fingerprint: str | None = None,
    memory_limit: int | str | None = None,
) -> Model:
    """Type-checks a block and makes a model of it.

    Args:
        block: a block, or what goes for one (a layer, a dict or tuple of blocks).
        loss: what `Model.value_and_grad` differentiates: None for the block's own scalar result (the mean
            over the examples); the name of a `Metric`, or names and weights: the (weighted) sum of their
            values within an example, averaged over the examples.
        seed: first values of parameters depend on it and on their names.
        schedule: ``"strata"``: what stands outside of all recursion and folds runs once for the batch,
            depth counts only within them; ``"depth"``: operations at the same depth run together (Looks et
            al. 2017, section 2.1); ``"agenda"``: of the operations with ready nodes, the one whose nodes
            lie least deep runs next (Neubig et al. 2017, section 3.2); ``"none"``: one node at a time, one
            example after the other, which is what batching is measured against.
        device: ``"cpu"`` (NumPy), ``"cuda"`` or, of several GPUs, ``"cuda:1"`` (CuPy); ``"auto"``: a GPU if
            CuPy finds one, else the CPU.  `Model.to` moves the model later.
        float_type: every float of the block becomes this type, say ``"float64"``.
        params: another model's ``params``: its live arrays are used for the layers that both models have; a
            plain mapping: values by name.
        max_nodes: an example with more nodes (values read, functions and layers run; functions that follow
            one another may be one), or more calls of recursive blocks, counts as endless.  Calls may nest
            500,000 deep, or a twentieth of ``max_nodes`` if that is more: each level holds some 2 KB while
            an example is read.
        jit: compile runs of element-wise operations on float32 to fused loops, on the CPU: False: not; True:
            do, which takes numba (``pip install 'arrows[jit]'``); left out: where numba is installed,
            unless the environment variable ``ARROWS_JIT`` is 0.  The first compilation takes a second or so
            for each operation; it is kept on disk, in the folder ``ARROWS_CACHE``, else ``arrows`` in the
            user's folder for caches.  The folder is the user's alone (mode 0700); another one is not used,
            with a warning.
        precision: on a GPU, to what matrix products of float32 round the numbers that they multiply:
            ``"float32"`` (not at all), ``"tf32"``, ``"bfloat16"`` or ``"float16"``, which tensor cores
            multiply several times as fast; sums stay float32.  On the CPU nothing is rounded.
        fingerprint: stands for the data that the block's functions read examples with, a vocabulary say: a
            prepared set of another model, or from a file, is taken where both models say the same, whatever
            their functions hold.  Say something else when the data changes.  Left out: functions are compared
            by their code and the plain data that they hold; where they hold something else (an object of a
            class of yours, an open file, a model), prepared sets cannot be pickled or kept in a file.
        memory_limit: bytes, or a text such as ``"8GB"`` or ``"512MiB"``, that a batch may take on the device
            beside the parameters and an optimizer's state; results and gradients that a call gives count.  A
            larger batch is cut into parts of fewer
            examples, which run one after another: results, metrics, loss and gradients are those of the
            whole batch, sums but for rounding.  An example that takes more all alone is refused.  It may be
            set later: ``model.memory_limit = "2GB"``.

    Returns:
        The model.  Nothing of it is kept on the block, which can be compiled again and used elsewhere.

    Raises:
        ArrowTypeError: the block is ill-typed, its result is nothing a model can give, or an argument has a
            wrong type.
        ArrowValueError: an argument that cannot be.

    Example:
        >>> import arrows as ar
        >>> model = ar.compile(ar.Map(ar.Scalar()) >> ar.Sum())
        >>> model([[1, 2, 3], [], [10]]).tolist()
        [6.0, 0.0, 10.0]
    """
    seed = check_arguments(schedule, seed, params, float_type)
    max_nodes = checked_count("max_nodes", max_nodes)
    if fingerprint is not None and not isinstance(fingerprint, str):
        raise ArrowTypeError(f"fingerprint must be a text, not {fingerprint!r}")
    _check_choice("precision", precision, PRECISIONS)
    chosen = get_device(device)
    use_jit(jit, chosen.name)  # refuses what cannot be
    typed = infer(block, float_type=float_type)
    return Model(
        typed,
        loss=loss,
        seed=seed,
        schedule=schedule,
        device=chosen,
        float_type=float_type,
        params=params,
        max_nodes=max_nodes,
        jit=use_jit(jit, "cpu"),
        precision=precision,
        fingerprint=fingerprint,
        memory_limit=parse_memory(memory_limit),
    )


def check_arguments(schedule: object, seed: object, params: object, float_type: object) -> int:
    """Checks the arguments that all models have; returns the seed.

    Raises:
        ArrowTypeError, ArrowValueError: one that cannot be.
    """
    _check_choice("schedule", schedule, SCHEDULES)
    _check_choice("float_type", float_type, (None, "float16", "float32", "float64"))
    if isinstance(seed, bool) or not isinstance(seed, Integral) or int(seed) < 0:
        raise ArrowValueError(f"the seed must be an integer from 0 on, not {seed!r}")
    if params is not None and not isinstance(params, Mapping):
        raise ArrowTypeError(f"params must be another model's params, or arrays by name, not {params!r}")
    return int(seed)


def _check_choice(name: str, value: object, choices: Collection[object]) -> None:
    if value not in choices:
        raise ArrowValueError(f"the {name} must be one of {', '.join(map(repr, choices))}, not {value!r}")


def use_jit(jit: bool | None, device: str) -> bool:
    """Whether element-wise chains are to be compiled; arguments as those of `compile`.

    >>> use_jit(False, "cpu"), use_jit(None, "cuda")
    (False, False)
    """
    if jit is not None and not isinstance(jit, bool):
        raise ArrowValueError(f"jit must be True, False or left out, not {jit!r}")
    if jit and device != "cpu":
        raise ArrowValueError(f"jit=True compiles for the CPU, and the device is {device!r}; leave it out")
    if jit and not available():
        raise ArrowValueError("jit=True needs numba, which is not installed: pip install 'arrows[jit]'")
    if jit is None:
        return device == "cpu" and os.environ.get("ARROWS_JIT") != "0" and available()
    return jit


def evaluate(block: object, example: object) -> Any:
    """The result of a block on one example by the reference, with first values of parameters (seed 0).

    Unlike a model's, the result may hold Python objects and endless sequences.

    Args:
        block: a block, or what goes for one.
        example: a Python object.

    Raises:
        ArrowTypeError: the block is ill-typed.
        InputError: the example does not fit.

    Example:
        >>> import arrows as ar
        >>> evaluate(ar.InputTransform(len), "tree")
        4
    """
    typed = infer(block)
    params = make_params(typed, get_device("cpu"), 0, None)
    outcome = reference.evaluate(typed, example, params.host)
    show_tapped(outcome.tapped)
    return outcome.value
