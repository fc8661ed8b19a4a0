"""What tests are skipped without, and the devices that they run on."""

from __future__ import annotations

import pytest

from arrows.engine.device import available
from arrows.testing.host_kernels import host_compiler

needs_compiler = pytest.mark.skipif(host_compiler() is None, reason="the host has no C compiler")
numba = pytest.mark.skipif(not available(), reason="numba is not installed")
KERNELS = pytest.param("fake-kernels", marks=needs_compiler)
CUDA = pytest.param("cuda", marks=pytest.mark.gpu)
