"""All that only a GPU needs; who runs on the CPU never opens it.

A program for kernels (`KERNELS`) becomes a loop over steps in which nearly every line is one launch
(`region.py`): of a kernel in C, or of a matrix product (`products.py`).  `kernels.py` writes the kernel of an
instruction, one source for the GPU and for the host's compiler: `writer.py` reads numbers of values,
`reductions.py` has those over a row, `segments.py` those over a sequence.
`launches.py` binds them to the arrays of a batch, by tables of words (`columns.py`).  `device.py` is CUDA,
through CuPy.
"""

from arrows.engine.cuda.kernel_device import KERNELS, WRITE_RANGES, KernelDevice
from arrows.engine.cuda.segments import segment_sum_kernel

__all__ = ["KERNELS", "WRITE_RANGES", "KernelDevice", "segment_sum_kernel"]
