"""Runs kernels whose memory is watched: `python -m tests.engine.device.sanitized CASES`, under `LD_PRELOAD`.

The host's compiler adds checks of every address (AddressSanitizer) and of what C leaves undefined: numbers
out of range, and addresses that are no multiple of their number's size, which a GPU refuses.
"""

from __future__ import annotations

import sys

import numpy as np
from hypothesis import HealthCheck, given, settings, strategies as st

import arrows as ar
from arrows.engine.device import kernel_source
from arrows.testing import host_kernels
from arrows.testing.fake import FakeKernelsDevice
from arrows.training import Adam

SANITIZERS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
FAULTS = {
    "outside": "ITEMS(i, WORD(0)) ((float*)WORD(1))[i + 4] = 1;",
    "misaligned": "ITEMS(i, WORD(0)) *(double*)(WORD(1) + 4) = 1;",
}


def random_models(count: int) -> None:
    """Values and gradients of random models, held to running each example alone."""
    from tests.agree import check
    from tests.engine.test_batching import cases, order_of

    device = FakeKernelsDevice()

    @settings(max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def run(data: st.DataObject) -> None:
        case = data.draw(cases())
        check(case, order_of(data, case), "float64", 1e-9, device, "strata")

    run()


def training() -> None:
    """Steps of training of the models of `test_gpu`, in float32."""
    from tests.engine.test_gpu import MODELS

    for make in MODELS.values():
        block, examples = make()
        model = ar.compile(block, loss="loss", device=FakeKernelsDevice())
        optimizer = Adam(0.05)
        for batch in (examples, examples[:1], []):
            model.train_step(batch, optimizer)


def fault(name: str) -> None:
    """A kernel that must be stopped: it writes to the wrong address."""
    device = FakeKernelsDevice()
    array = device.to_device(np.zeros(4, "float32"))
    source = kernel_source(FAULTS[name], words=2, columns=1)
    device.compile([source])[source.name].bind(np.array([[1, device.address(array)]]))(0)


if __name__ == "__main__":
    host_kernels.FLAGS.extend(SANITIZERS)
    if sys.argv[1] in FAULTS:
        fault(sys.argv[1])
    else:
        training()
        random_models(int(sys.argv[1]))
    print("nothing was found")
