"""Kernels in C: `c_kernel` writes that of an instruction, for the GPU and for the host's compiler.

`functions` has the element-wise primitives, `places` the arithmetic of indices, `writer` how numbers are read
and computed, `reductions` those over a row, `segments` those over a sequence, `attention` that within one;
`source` puts kernels together.
"""

from arrows.engine.program.emitters.c.reductions import is_reduction
from arrows.engine.program.emitters.c.segments import add_rows_kernel, segment_sum_kernel
from arrows.engine.program.emitters.c.source import (
    CKernel,
    c_kernel,
    in_c,
    in_columns,
)

__all__ = [
    "CKernel",
    "add_rows_kernel",
    "c_kernel",
    "in_c",
    "in_columns",
    "is_reduction",
    "segment_sum_kernel",
]
