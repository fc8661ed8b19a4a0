"""Kernels in C: `c_kernel` writes that of an instruction, for the GPU and for the host's compiler.

`functions` has the element-wise primitives, `places` the arithmetic of indices, `writer` how numbers are read
and computed, `rows` reductions over a row, `segments` those over a sequence; `source` puts kernels together.
"""

from arrows.engine.program.emitters.c.rows import is_reduction
from arrows.engine.program.emitters.c.segments import segment_sum_kernel
from arrows.engine.program.emitters.c.source import SHORT_ROW, CKernel, c_kernel, in_c, in_columns

__all__ = [
    "SHORT_ROW",
    "CKernel",
    "c_kernel",
    "in_c",
    "in_columns",
    "is_reduction",
    "segment_sum_kernel",
]
