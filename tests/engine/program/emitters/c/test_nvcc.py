"""The GPU's compiler takes the kernels too, where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from arrows.engine.device.kernel import PRELUDE
from arrows.engine.program.emitters.c import segment_sum_kernel
from arrows.typesys import types as T
from tests.engine.program.emitters.c.batches import kernels_of
from tests.engine.program.emitters.c.test_lanes import FUNCTIONS
from tests.engine.program.emitters.c.test_primitives import cases
from tests.engine.program.emitters.c.test_programs import fused

NVCC = shutil.which("nvcc")

# NVRTC, which compiles on users' machines, reads no headers, so that these names are not defined there.
NO_HEADERS = "#undef INFINITY\n#undef NAN\n"


@pytest.mark.nightly
@pytest.mark.skipif(NVCC is None, reason="nvcc is not installed")
def test_one_unit_of_all_primitives(tmp_path: Path) -> None:
    assert NVCC is not None
    texts = {}
    done_with = set()
    for name, program, _ in cases("float32"):
        kernels = {} if name in done_with else kernels_of(program)
        for kernel in kernels.values():
            texts[kernel.source.name] = kernel.source.text
            done_with.add(name)
    shared = fused(FUNCTIONS["softmax"], T.Tensor((70,), "float32"), gradients=False)
    for kernel in kernels_of(shared).values():
        assert "LANE_SWAP(v" in kernel.source.text
        texts[kernel.source.name] = kernel.source.text
    sums = segment_sum_kernel(3, "float32")
    source = tmp_path / "kernels.cu"
    source.write_text(NO_HEADERS + PRELUDE + "".join(texts.values()) + sums.text)
    for architecture in ("compute_80", "compute_90"):
        out = tmp_path / f"{architecture}.ptx"
        done = subprocess.run(
            [NVCC, "-ptx", f"-arch={architecture}", "-o", out, source],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[:2000]
        assert out.read_text().count(".entry") == len(texts) + 1
