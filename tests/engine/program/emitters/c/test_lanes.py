"""The lanes of a warp, played by threads of the host, find together what one thread finds alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arrows import ops
from arrows.engine.device import cuda
from arrows.engine.device.host_compiler import HostLibrary, host_compiler
from arrows.engine.device.kernel import PRELUDE
from arrows.engine.program.emitters.c.lanes import WARP
from arrows.engine.program.program import Program
from arrows.typesys import types as T
from tests.engine.program.emitters.batches import plainly
from tests.engine.program.emitters.c.batches import KernelRun, a_batch, close, kernels_of
from tests.engine.program.emitters.c.test_programs import fused

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

FUNCTIONS: dict[str, Any] = {
    "sums": lambda x: x * x.sum() + ops.sum(ops.tanh(x)),
    "extremes": lambda x: (x - ops.max(x)) * ops.min(x),
    "softmax": lambda x: ops.softmax(x) * ops.logsumexp(x) - ops.log_softmax(x * 2.0),
    "layer norm": lambda x: ops.standardize(x) * 2.0,
    "dot": lambda x: ops.tanh(x) * ops.dot(x, x[::-1]),
    "pieces": lambda x: (ops.tanh(x[:40]) * x.sum(), x[40:] * ops.max(x), x.sum()),
}


class Warps:
    """A library whose functions run as warps."""

    def __init__(self, program: Program) -> None:
        kernels = {each.source.name: each.source for each in kernels_of(program).values()}
        assert all(each.columns == WARP for each in kernels.values())
        runs = "".join(RUN.format(name=each.name, words=each.words) for each in kernels.values())
        texts = "".join(each.text for each in kernels.values())
        self.library = HostLibrary(THREADS + PRELUDE + ITEMS + texts + runs)

    def function(self, name: str) -> Any:
        return self.library.function(f"warp_{name}")


@pytest.mark.skipif(host_compiler() is None, reason="the host has no C compiler")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_what_lanes_find(name: str, dtype: str) -> None:
    program = fused(FUNCTIONS[name], T.Tensor((70,), dtype), gradients=False)
    library: Any = Warps(program)
    batch = a_batch(program)
    close(
        KernelRun(program, batch, library).run(),
        plainly(program, batch),
        5e-6 if dtype == "float32" else 1e-13,
    )


@pytest.mark.skipif(host_compiler() is None, reason="the host has no C compiler")
def test_a_number_that_is_none_reaches_all_lanes() -> None:
    program = fused(lambda x: x * ops.max(x), T.Tensor((70,), "float32"), gradients=False)
    batch = a_batch(program)
    batch.slabs[0][batch.rows[0][2], 50] = np.nan
    library: Any = Warps(program)
    (result,) = KernelRun(program, batch, library).run().results
    rows = np.array(batch.rows[0]) == batch.rows[0][2]
    assert np.isnan(result[rows]).all() and np.isfinite(result[~rows]).all()


def test_blocks_are_made_of_whole_warps() -> None:
    """Else the lanes of a warp would work on different rows, and wait for threads that are not there."""
    assert cuda._THREADS % WARP == 0
