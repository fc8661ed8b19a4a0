"""All that only a GPU needs; who runs on the CPU never opens it.

A program for kernels (`KERNELS`) becomes a loop over steps in which nearly every line is one launch
(`region.py`): of a kernel in C, or of a matrix product (`products.py`).  `kernels.py` writes the kernel of an
instruction, one source for the GPU and for the host's compiler: `writer.py` reads numbers of values,
`reductions.py` has those over a row, `segments.py` those over a sequence, `attention.py` that within one.
`launches.py` binds them to the arrays of a batch, by tables of words (`columns.py`).  `device.py` is CUDA,
through CuPy.
"""

from arrows.engine.cuda.kernels import in_c
from arrows.engine.cuda.products import table_index
from arrows.engine.cuda.reductions import is_reduction
from arrows.engine.cuda.region import emit_kernels
from arrows.engine.cuda.segments import segment_sum_kernel
from arrows.engine.program import Kernels

KERNELS = Kernels(in_c, is_reduction, emit_kernels)
"""What programs for a device with kernels have."""

__all__ = ["KERNELS", "segment_sum_kernel", "table_index"]
