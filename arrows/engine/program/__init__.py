"""What an operation does, as data: a `Program` of instructions.

Passes improve it (`make_program`; `pipeline.py` lists them), `region.py` turns it into code (`make_code`).  A
`Clock` between the instructions gives the `Profile` of a batch.  `print(program)` shows a program as text.
"""

from __future__ import annotations

from arrows.engine.program.instructions import (
    Accumulate as Accumulate,
    Gather as Gather,
    Instruction as Instruction,
    LoadKeys as LoadKeys,
    Pull as Pull,
    Region as Region,
    RowMap as RowMap,
    Scatter as Scatter,
    Store as Store,
    SumRows as SumRows,
    attribute as attribute,
    is_product as is_product,
    is_view as is_view,
    overlap as overlap,
    subscript as subscript,
)
from arrows.engine.program.numbers import (
    FUNCTIONS as FUNCTIONS,
    INDEXING as INDEXING,
    TYPES as TYPES,
    CodeBlock as CodeBlock,
    NotInC as NotInC,
    NumberWriter as NumberWriter,
    RowPlace as RowPlace,
    are_in_c as are_in_c,
    c_type as c_type,
    column as column,
    element_lines as element_lines,
    is_in_c as is_in_c,
    join as join,
    number as number,
    pieces as pieces,
    place as place,
    split as split,
)
from arrows.engine.program.pipeline import (
    OperationCode as OperationCode,
    ProgramTick as ProgramTick,
    ScatterGroup as ScatterGroup,
    make_code as make_code,
    make_program as make_program,
)
from arrows.engine.program.profile import Clock as Clock, Profile as Profile, profile as profile
from arrows.engine.program.program import (
    Place as Place,
    Program as Program,
    Programs as Programs,
    Slot as Slot,
)
from arrows.engine.program.region import (
    Argument as Argument,
    CKernel as CKernel,
    DistinctIndices as DistinctIndices,
    Frame as Frame,
    PlacesOfRows as PlacesOfRows,
    RegionCode as RegionCode,
    RegionWriter as RegionWriter,
    RowIndex as RowIndex,
    SegmentBounds as SegmentBounds,
    StepRefused as StepRefused,
    Tick as Tick,
    once as once,
    suffix as suffix,
)
