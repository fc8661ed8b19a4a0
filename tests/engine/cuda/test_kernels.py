"""Kernels in C, run through the host's compiler, compute what NumPy does: every primitive, fused layers, and
scores that are infinite.

All functions of a test are one model, so that their kernels are compiled at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import arrows as ar
from arrows import ops
from arrows.engine.cuda import device as cuda
from arrows.engine.cuda.kernels import c_kernel
from arrows.engine.cuda.products import step_product, summed_product
from arrows.engine.cuda.reductions import WARP
from arrows.engine.device.kernel import PRELUDE
from arrows.engine.program import Program
from arrows.engine.program.instructions import (
    Accumulate,
    Instruction,
    LoadKeys,
    RowMap,
    SumRows,
    is_product,
    is_view,
)
from arrows.ops import Equation
from arrows.ops.extend import Primitive, bind, register, unregister
from arrows.testing import host_kernels
from arrows.testing.host_kernels import HostLibrary
from arrows.training import Adam
from arrows.typesys import types as T
from tests.marks import needs_compiler
from tests.ops.table import CASES
from tests.profile import at_night

pytestmark = needs_compiler

Entry = tuple[Any, Sequence[T.Type]]
"""A function of tensors, and the types that it is called on."""


def read(type: T.Type) -> Any:
    """The block that reads a value of a type; an input of floats has the name of its type."""
    if isinstance(type, T.Tuple):
        return ar.AllOf(*(ar.GetItem(n) >> read(item) for n, item in enumerate(type.items)))
    if isinstance(type, T.Sequence):
        return ar.Map(read(type.element))
    assert isinstance(type, T.Tensor)
    return ar.Tensor(list(type.shape), type.dtype, name=str(type) if type.floating else None)


def values(rng: np.random.Generator, type: T.Type) -> Any:
    if isinstance(type, T.Tuple):
        return tuple(values(rng, item) for item in type.items)
    if isinstance(type, T.Sequence):
        return [values(rng, type.element) for _ in range(rng.integers(0, 4))]
    assert isinstance(type, T.Tensor)
    return rng.normal(size=type.shape) if type.floating else rng.integers(0, 3, type.shape)


def blocks(entries: Mapping[Any, Entry]) -> list[Any]:
    return [
        ar.GetItem(key)
        >> (read(T.Tuple(types)) if len(types) > 1 else ar.GetItem(0) >> read(types[0]))
        >> ar.Function(function)
        for key, (function, types) in entries.items()
    ]


def programs(model: ar.Model, **options: Any) -> list[Program]:
    return [code.program for code in model.executors.get(**options).codes.values()]


def close(found: Any, wanted: Any, tolerance: float) -> None:
    if isinstance(wanted, tuple):
        for one, other in zip(found, wanted, strict=True):
            close(one, other, tolerance)
        return
    found, wanted = (ar.to_numpy(getattr(value, "values", value)) for value in (found, wanted))
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, tolerance, tolerance * max(1, np.abs(wanted).max(initial=0)))


# ---------------------------------------------------------------------------------------------- primitives


def primitives(float_type: str) -> Iterator[tuple[Entry, Callable[[np.random.Generator], Any]]]:
    """Each row of the table of primitives, and what makes an example of its operands' numbers."""
    for name, operands, attributes in CASES:
        primitive = ops.get(name)
        attributes = {k: float_type if v == "float64" else v for k, v in attributes.items()}
        if attributes.get("default", 0) is None:
            attributes["default"] = 0.5  # some sequence is empty
        arrays = [x.astype(float_type) if x.dtype.kind == "f" else x for x in operands]
        sequences = 0 if not primitive.segmented else 1 if primitive.collapses else len(arrays)
        if name == "segment_broadcast":
            arrays, sequences = [np.zeros(5, "float32"), *arrays], 1
        types: list[T.Type] = [T.Tensor(x.shape[n < sequences :], x.dtype.name) for n, x in enumerate(arrays)]
        if sequences:  # their elements stand side by side
            inside = types[:sequences]
            types[:sequences] = [T.Sequence(inside[0] if sequences == 1 else T.Tuple(inside))]

        def run(*xs: Any, name: str = name, attributes: Any = attributes, sequences: int = sequences) -> Any:
            if name == "segment_broadcast":
                return ops.segment_broadcast(xs[1], xs[0])
            flat = (*xs[0], *xs[1:]) if sequences > 1 else xs
            return bind(ops.get(name), *flat, **attributes)

        def example(rng: np.random.Generator, arrays: Any = arrays, sequences: int = sequences) -> Any:
            mixed = [rng.permutation(x.reshape(-1)).reshape(x.shape) for x in arrays]
            if not sequences:
                return mixed
            length = int(rng.integers(0, 6))
            first = [x[:length] for x in mixed[:sequences]]
            return [list(zip(*first, strict=True)) if sequences > 1 else first[0], *mixed[sequences:]]

        yield (run, types), example


def of_primitives(float_type: str, device: str) -> tuple[ar.Model, list[Any]]:
    """A model of all primitives, and examples."""
    made = dict(enumerate(primitives(float_type)))
    block = ar.AllOf(*blocks({number: entry for number, (entry, _) in made.items()}))
    rng = np.random.default_rng(0)
    examples = [{number: example(rng) for number, (_, example) in made.items()} for _ in range(4)]
    return ar.compile(block, device=device), examples


def is_launched(program: Program, instruction: Instruction) -> bool:
    """Whether an instruction with rows is a launch, or none, and not a call of the array module.

    Args:
        program: with memory, for kernels.
        instruction: of any region but ``once``.
    """
    match instruction:
        case LoadKeys() | Accumulate():
            return True
        case Equation() if is_view(instruction):
            return True
        case Equation() if is_product(instruction):
            return step_product(program, instruction) is not None
        case SumRows():
            return summed_product(program, instruction) is not None
    return c_kernel(program, instruction) is not None


LEFT_TO_THE_ARRAY_MODULE = {
    *("argmax", "floor_divide", "matmul_each", "mod", "scatter_row", "segment_attention"),
    *("segment_attention_gradient", "uniform"),
}
"""And products of matrices that both have rows, and reductions of whole numbers, or along an axis."""


def is_along_an_axis(equation: Equation) -> bool:
    """Whether a matrix is reduced along one of its axes, so that more than one number comes out."""
    primitive, x = equation.primitive, equation.operands[0].type
    if primitive.name in ("softmax", "log_softmax"):
        return x.ndim > 1
    reduces = primitive.name == "norm" or (primitive.reduces is not None and not primitive.collapses)
    return reduces and equation.result.type.size > 1


@pytest.mark.parametrize("float_type", ["float32", at_night("float64")])
def test_every_primitive(float_type: str) -> None:
    (kernels, examples), (cpu, _) = (of_primitives(float_type, device) for device in ("fake-kernels", "cpu"))
    for row, found, wanted in zip(CASES, kernels(examples), cpu(examples), strict=True):
        try:
            close(found, wanted, 2e-6 if float_type == "float32" else 1e-14)
        except AssertionError as error:
            raise AssertionError(f"{row[0]} {row[2]}") from error
    for program in programs(kernels):
        for each in program.region("step"):
            is_kernel = isinstance(each, (Equation, RowMap)) and not is_product(each) and not is_view(each)
            if is_kernel and all(var.type.size for var in each.writes + each.reads):
                equations = each.equations if isinstance(each, RowMap) else (each,)
                names = {equation.primitive.name for equation in equations}
                left = names & LEFT_TO_THE_ARRAY_MODULE or (each.writes[0].type.ndim and "matmul" in names)
                whole = names & {"sum", "max", "min"} and not each.writes[0].type.floating
                whole = whole or any(map(is_along_an_axis, equations))
                whole = whole or (float_type == "float64" and "norm" in names)
                assert is_launched(program, each) == (not left and not whole), f"{names} in\n{program}"


def test_a_primitive_of_a_user_reads_what_kernels_load() -> None:
    """Gathered rows, side by side too, and gradients that readers of a row have left; it has no kernel."""
    derivative = lambda g, _, x, y: (bind(times, g, y), bind(times, g, x))  # noqa: E731
    times = Primitive("times", lambda x, y: x, lambda xp: xp.multiply, derivative, elementwise=True)
    register(times)

    class Scale(ar.LayerNorm):
        def forward(self, parameters: Any, x: Any) -> Any:
            return bind(times, x, parameters["gain"] * 2.0)

    try:
        step = ar.Function(lambda state, x: bind(times, state * 0.3 + bind(times, x, x), x))
        fold = ar.Map(vector := ar.Vector(2, name="x")) >> ar.Fold(step, ar.Zeros([2]))
        for block in (fold, ar.GetItem(0) >> (vector & vector) >> ar.Concat() >> Scale()):
            both = [ar.compile(block >> ar.Function(ops.sum), device=on) for on in ("fake-kernels", "cpu")]
            pairs = [model.value_and_grad([[[1, 2], [3, 4]], [[2, 1]]], inputs=["x"]) for model in both]
            close(*((value, *grads.values()) for value, grads in pairs), 1e-6)
    finally:
        unregister("times")


# -------------------------------------------------------------------------------------------------- layers


def vector(size: int, dtype: str = "float32") -> T.Tensor:
    return T.Tensor((size,), dtype)


def matrix(rows: int, columns: int) -> T.Tensor:
    return T.Tensor((rows, columns), "float32")


def lstm(z: Any, c: Any) -> Any:
    i, f, o, u = (z[8 * n : 8 * n + 8] for n in range(4))
    new = ops.sigmoid(i) * ops.tanh(u) + ops.sigmoid(f) * c
    return ops.sigmoid(o) * ops.tanh(new), new


def attention(q: Any, keys: Any) -> Any:
    weights = ops.softmax((keys @ q) / 3.0)
    return (keys * ops.reshape(weights, (-1, 1))).sum(axis=0)


def attend(xs: Any, q: Any) -> Any:
    weights = ops.segment_softmax((xs * ops.segment_broadcast(q, xs)).sum())
    return ops.segment_sum(xs * ops.reshape(weights, (1,)))


WORD, WORDS, QUERY = T.Tensor((), "int32"), T.Sequence(vector(5)), vector(5)
HEADS = T.Sequence(T.Tuple([vector(6), vector(6), vector(9)]))
LAYERS: list[Entry] = [
    (lstm, (vector(32), vector(8))),
    (lambda x, i: -ops.pick(ops.log_softmax(x), i), (vector(200), WORD)),
    (lambda x: ops.standardize(x) * 2.0 + 0.5, (vector(300),)),
    (ops.normalize, (vector(100),)),
    (attention, (vector(6), matrix(4, 6))),
    (lambda x: ops.softmax(ops.transpose(x.reshape((3, 4, 2)), (1, 0, 2)), -1).reshape((24,)), (vector(24),)),
    (lambda x: ops.dropout(ops.dropout(x, 0.5) * 2.0, 0.25), (vector(40),)),
    (lambda x: ops.gelu(x) + ops.silu(x) * ops.tanh(ops.softplus(x)) + ops.elu(x), (vector(9),)),
    (lambda x, y: ops.tanh(ops.concat([x, y * 2.0], 1)[:, 1:4]).sum(axis=0), (matrix(3, 2), matrix(3, 3))),
    (lambda xs: (ops.segment_max(ops.tanh(xs), default=0.0), ops.segment_mean(xs * 2.0)), (WORDS,)),
    (attend, (WORDS, QUERY)),
    (lambda xs: ops.segment_softmax(xs - ops.segment_softmax(xs * 3.0)), (WORDS,)),
    (lambda xs: ops.concat([ops.segment_softmax(ops.exp(xs)), xs])[1:-1] * 2.0, (WORDS,)),
    (lambda x: x.T @ ops.segment_softmax(x.T * 0.5), (T.Sequence(matrix(3, 3)),)),
    (lambda xs: ops.tanh(xs * 2.0 - ops.segment_broadcast(ops.segment_mean(xs * 2.0), xs)), (WORDS,)),
    (lambda xs: xs * ops.segment_broadcast(ops.segment_sum(ops.tanh(xs[0])), xs), (WORDS,)),
    (lambda xs, q: q * ops.segment_sum(ops.tanh(xs[0]) * 2.0), (WORDS, vector(70))),
    (lambda xs, ys: ops.segment_broadcast(ops.segment_sum(ops.tanh(xs)), ys) * ys, (WORDS, WORDS)),
    (lambda xs: ops.segment_sum(xs * ops.cast(ops.segment_position(xs), "float32")), (WORDS,)),
    (lambda xs: ops.segment_attention(ops.tanh(xs), xs, xs * 2.0, 2, True) * xs, (T.Sequence(vector(6)),)),
    (lambda qkv: ops.segment_attention(*qkv, 3), (HEADS,)),
    (lambda xs: ops.segment_attention(xs, xs, xs), (T.Sequence(vector(1)),)),
    (lambda xs, y: ops.segment_sum(-ops.log_softmax(xs * ops.segment_broadcast(y, xs))[2]), (WORDS, QUERY)),
]


def scored(type: T.Type) -> Any:
    """The sum of the squares of all numbers of a value."""
    if isinstance(type, T.Tuple):
        return ar.AllOf(*(ar.GetItem(n) >> scored(item) for n, item in enumerate(type.items))) >> ar.Sum()
    if isinstance(type, T.Sequence):
        return ar.Map(scored(type.element)) >> ar.Sum()
    return ar.Function(lambda x: ops.sum(x * x))


def of_layers(device: str) -> tuple[ar.Model, list[Any]]:
    """A model of all layers, and examples."""
    entries = dict(enumerate(LAYERS))
    parts = [block >> scored(ar.infer(block).output) for block in blocks(entries)]
    rng = np.random.default_rng(0)
    examples = [{n: [values(rng, t) for t in types] for n, (_, types) in entries.items()} for _ in range(6)]
    return ar.compile(ar.AllOf(*parts) >> ar.Sum(), device=device), examples


def test_layers_and_their_gradients() -> None:
    (kernels, examples), (cpu, _) = map(of_layers, ("fake-kernels", "cpu"))
    names = sorted({str(t) for _, types in LAYERS for t in types if getattr(t, "floating", False)})
    names.append("float32[5]")  # of words
    found, wanted = (model.value_and_grad(examples, inputs=names) for model in (kernels, cpu))
    assert float(ar.to_numpy(found[0])) == pytest.approx(float(wanted[0]), 1e-5)
    for name in names:
        assert wanted[1][name].values.any()
        close(found[1][name], wanted[1][name], 1e-5)
    # A thread goes over a sequence once for each sum, and not again for each element.
    codes = kernels.executors.get(training=True, gradients=True).codes.values()
    for code in codes:
        for source in [each.source for each in code.kernels]:
            around: list[bool] = []  # of each open block, whether it is a loop over elements
            for line in source.text.partition("KERNEL(")[2].splitlines():
                loops = "for (long long v" in line
                assert not (loops and any(around)), line
                around += [loops] * line.count("{")
                del around[len(around) - line.count("}") :]


# ------------------------------------------------------------------------------------ indices out of range

TABLE = ar.Embedding(4, 2, name="table")
IDS: dict[str, tuple[Any, list[Any]]] = {
    "in a vector": (ar.Vector(2, "int32") >> TABLE, [[0, 3], [1, -1]]),
    "in a sequence": (
        ar.Map(ar.Scalar("int32")) >> ar.Function(lambda ids: ops.segment_sum(TABLE(ids))),
        [[0, 3], [1, 4]],
    ),
    "constant": (ar.Constant(7, "int32") >> TABLE, [0, 1]),
    "computed of an index": (ar.Scalar("int32") >> ar.Function(lambda i: i * 2 + 1) >> TABLE, [1, 2]),
    "computed of a float": (
        ar.Scalar() >> ar.Function(lambda x: ops.cast(x * 3.0, "int32")) >> TABLE,
        [1, 2],
    ),
    "in the steps of a fold": (
        ar.Map(ar.Scalar("int32")) >> ar.Fold(ar.Function(lambda h, i: h + TABLE(i + 1)), ar.Zeros([2])),
        [[0, 2], [1, 3]],
    ),
}


@pytest.mark.parametrize("source", IDS)
def test_an_index_out_of_range_is_refused_as_on_the_cpu(source: str) -> None:
    block, examples = IDS[source]
    said = []
    for device in ("cpu", "fake-kernels"):
        model = ar.compile(block >> ar.Function(lambda x: (x * x).sum()), device=device)
        before = ar.to_numpy(model.params["table/weight"]).copy()
        for call in (model, lambda batch, model=model: model.train_step(batch, Adam(0.1))):
            with pytest.raises(ar.InputError, match="out of range for an axis of size 4") as refused:
                call(examples)
            said.append(str(refused.value))
        np.testing.assert_array_equal(ar.to_numpy(model.params["table/weight"]), before)
    assert len(set(said)) == 1


# ---------------------------------------------------------------------------------------- infinite scores


def reduction(name: str, width: int) -> Entry:
    return (lambda x: getattr(ops, name)(x), (vector(width),))


# The widths are those of a thread, of a line of one, and of the lanes of a warp.
RUNNING: list[Entry] = [
    *(reduction(name, width) for name in ("softmax", "log_softmax", "logsumexp") for width in (1, 3, 80)),
    *(reduction(name, 80) for name in ("max", "min")),
    *(
        (lambda x, name=name: getattr(ops, name)(x * 1.0) + 0.0, (vector(80),))
        for name in ("softmax", "logsumexp")
    ),
    (lambda x: ops.softmax(x, axis=0), (matrix(3, 2),)),
    (lambda xs: ops.segment_softmax(xs), (T.Sequence(vector(2)),)),
    (lambda qkv: ops.segment_attention(*qkv, 2), (T.Sequence(T.Tuple([vector(2)] * 3)),)),
]
SCORES = st.sampled_from([-np.inf, np.inf, np.nan, -3e38, 3e38, 1e20, -1e20, 0.0, 1.0, -2.0, 0.5])


@pytest.fixture(scope="module")
def running() -> list[ar.Model]:
    block = ar.AllOf(*blocks(dict(enumerate(RUNNING))))
    return [ar.compile(block, device=device) for device in ("fake-kernels", "cpu")]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(few=st.lists(SCORES, min_size=1, max_size=4), seed=st.integers(0, 2**20))
def test_infinite_and_huge_scores(running: list[ar.Model], few: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)

    def some(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(some(item) for item in value)
        value = value.astype("float32")
        special = rng.random(value.shape) < 0.4
        value[special] = rng.choice(np.array(few, "float32"), value.shape)[special]
        return value

    examples = [
        {n: some([values(rng, t) for t in types]) for n, (_, types) in enumerate(RUNNING)} for _ in range(4)
    ]
    for found, wanted in zip(*(model(examples) for model in running), strict=True):
        found, wanted = (ar.to_numpy(getattr(each, "values", each)) for each in (found, wanted))
        np.testing.assert_allclose(found, wanted, 2e-5, 1e-6)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_whose_first_score_is_minus_infinity_is_finite(causal: bool) -> None:
    scores = ar.Map(ar.Vector(4)) >> ar.MultiHeadAttention(2, causal=causal, name="m")
    block = scores >> ar.Sum() >> ar.Function(lambda v: ops.sum(v))
    results = []
    for device in ("cpu", "fake-kernels"):
        model = ar.compile(block, seed=1, device=device, jit=False)
        value, gradients = model.value_and_grad([[[1e20, 1, 1, 1], [1, 1, 1, 1]]])
        results.append([ar.to_numpy(each) for each in (value, *gradients.values())])
    for cpu, kernels in zip(*results, strict=True):
        np.testing.assert_array_equal(np.isfinite(cpu), np.isfinite(kernels))
        np.testing.assert_allclose(kernels, cpu, 1e-5, 1e-5)


# --------------------------------------------------------------------------------------------------- lanes

# Each lane is a thread; an exchange is two barriers around an array of what the lanes hold.  Every number
# that lanes exchange fits into a double.
THREADS = """\
#define _GNU_SOURCE
#include <pthread.h>
#define LANES 32
static pthread_barrier_t barrier;
static double held[LANES];
static __thread int lane;
static double swapped(double x, int s) {
  held[lane] = x;
  pthread_barrier_wait(&barrier);
  const double other = held[lane ^ s];
  pthread_barrier_wait(&barrier);
  return other;
}
#define LANE_SWAP(x, s) swapped(x, s)
"""
ITEMS = "\n#undef ITEMS\n#define ITEMS(i, count) for (long long i = lane; i < (count); i += LANES)\n"
RUN = """
static void* run_{name}(void* words) {{
  lane = (int)((long long*)words)[{words}];
  {name}((const long long*)words);
  return 0;
}}
void warp_{name}(const long long* words) {{
  long long own[LANES][{words} + 1];
  pthread_t threads[LANES];
  pthread_barrier_init(&barrier, 0, LANES);
  for (int n = 0; n < LANES; ++n) {{
    for (int w = 0; w < {words}; ++w) own[n][w] = words[w];
    own[n][{words}] = n;
    pthread_create(&threads[n], 0, run_{name}, own[n]);
  }}
  for (int n = 0; n < LANES; ++n) pthread_join(threads[n], 0);
  pthread_barrier_destroy(&barrier);
}}
"""


SHARED: dict[str, Any] = {
    "sums": lambda x: x * x.sum() + ops.sum(ops.tanh(x)),
    "extremes": lambda x: (x - ops.max(x)) * ops.min(x),
    "softmax": lambda x: ops.softmax(x) * ops.logsumexp(x) - ops.log_softmax(x * 2.0),
    "layer norm": lambda x: ops.standardize(x) * 2.0,
    "dot": lambda x: ops.tanh(x) * ops.dot(x, x[::-1]),
    "pieces": lambda x: (ops.tanh(x[:40]) * x.sum(), x[40:] * ops.max(x), x.sum()),
}


class Warps:
    """A library whose functions run as warps, played by threads of the host."""

    def __init__(self, text: str, defined: Sequence[str]) -> None:
        kernels = re.findall(r"\nKERNEL\((kernel_\w+), (\d+)\)", text)
        runs = "".join(RUN.format(name=name, words=words) for name, words in kernels)
        self.swaps = text.count("LANE_SWAP")
        self.library = HostLibrary(THREADS + PRELUDE + ITEMS + text.removeprefix(PRELUDE) + runs)

    def function(self, name: str) -> Any:
        return self.library.function(f"warp_{name}")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_lanes_find_together(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A number that is none reaches all lanes."""
    block = ar.Tensor([70], dtype) >> ar.AllOf(*map(ar.Function, SHARED.values()))
    rows = np.random.default_rng(0).normal(size=(5, 70)).astype(dtype)
    rows[2, 50] = np.nan
    wanted = ar.compile(block)(list(rows))
    libraries: list[Warps] = []

    def warps(text: str, defined: Sequence[str]) -> Warps:
        libraries.append(Warps(text, defined))
        return libraries[-1]

    monkeypatch.setattr(host_kernels, "HostLibrary", warps)
    found = ar.compile(block, device="fake-kernels")(list(rows))
    close(found, wanted, 5e-6 if dtype == "float32" else 1e-13)
    assert sum(library.swaps for library in libraries) > 10


def test_blocks_are_made_of_whole_warps() -> None:
    """Else the lanes of a warp would work on different rows, and wait for threads that are not there."""
    assert cuda._THREADS % WARP == 0


def test_a_view_of_gathered_rows_that_lie_together_already() -> None:
    """Which a call of the array module reads: it read the memory that they would be copied to."""
    square = ar.Function(lambda v: ops.outer(v, ops.tanh(v)))
    block = ar.Map(ar.Vector(3) >> square) >> ar.Map(ar.Function(lambda m: (ops.transpose(m) @ m)[0]))
    here, there = (ar.compile(block, device=device) for device in ("cpu", "fake-kernels"))
    examples = [[[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]]]
    np.testing.assert_allclose(ar.to_numpy(there(examples).values), here(examples).values, rtol=1e-5)
