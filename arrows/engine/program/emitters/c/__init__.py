"""Kernels in C: `c_kernel` writes that of an instruction, for the GPU and for the host's compiler.

`writer` reads numbers of values, `reductions` has those over a row, `segments` those over a sequence,
`attention` that within one; `source` puts kernels together.
"""

from arrows.engine.program.emitters.c.reductions import is_reduction
from arrows.engine.program.emitters.c.segments import add_rows_kernel, segment_sum_kernel
from arrows.engine.program.emitters.c.source import (
    CKernel,
    c_kernel,
    in_c,
)

__all__ = [
    "CKernel",
    "add_rows_kernel",
    "c_kernel",
    "in_c",
    "is_reduction",
    "segment_sum_kernel",
]
