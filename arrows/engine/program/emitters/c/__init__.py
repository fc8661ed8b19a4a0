"""Kernels in C: `c_kernel` writes that of an instruction, for the GPU and for the host's compiler.

`functions` has the element-wise primitives, `places` the arithmetic of indices, `writer` how numbers are read
and computed, `rows` reductions over a row, `lanes` those over a long one, `segments` those over a sequence,
`attention` that within one; `source` puts kernels together.
"""

from arrows.engine.program.emitters.c.lanes import is_shared
from arrows.engine.program.emitters.c.rows import is_reduction
from arrows.engine.program.emitters.c.segments import add_rows_kernel, segment_sum_kernel
from arrows.engine.program.emitters.c.source import (
    CKernel,
    c_kernel,
    in_c,
    in_columns,
    is_short,
)

__all__ = [
    "CKernel",
    "add_rows_kernel",
    "c_kernel",
    "in_c",
    "in_columns",
    "is_reduction",
    "is_shared",
    "is_short",
    "segment_sum_kernel",
]
