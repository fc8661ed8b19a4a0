"""What an operation does, as data: a `Program` of instructions.

Passes improve it (`make_program`; `pipeline.py` lists them), emitters turn it into code (`make_code`).  A
`Clock` between the instructions gives the `Profile` of a batch.  `print(program)` shows a program as text.
"""

from __future__ import annotations

from arrows.engine.program.elements import ELEMENT_FUNCTIONS as ELEMENT_FUNCTIONS
from arrows.engine.program.elements import are_in_c as are_in_c
from arrows.engine.program.elements import element_lines as element_lines
from arrows.engine.program.emitters.arrays import Argument as Argument
from arrows.engine.program.emitters.arrays import CKernel as CKernel
from arrows.engine.program.emitters.arrays import DistinctIndices as DistinctIndices
from arrows.engine.program.emitters.arrays import Frame as Frame
from arrows.engine.program.emitters.arrays import PlacesOfRows as PlacesOfRows
from arrows.engine.program.emitters.arrays import RowIndex as RowIndex
from arrows.engine.program.emitters.arrays import SegmentBounds as SegmentBounds
from arrows.engine.program.emitters.arrays import StepRefused as StepRefused
from arrows.engine.program.emitters.functions import FUNCTIONS as FUNCTIONS
from arrows.engine.program.emitters.functions import TYPES as TYPES
from arrows.engine.program.emitters.functions import NotInC as NotInC
from arrows.engine.program.emitters.functions import c_type as c_type
from arrows.engine.program.emitters.functions import is_in_c as is_in_c
from arrows.engine.program.emitters.functions import number as number
from arrows.engine.program.emitters.loops import pieces as pieces
from arrows.engine.program.emitters.numbers import INDEXING as INDEXING
from arrows.engine.program.emitters.numbers import CodeBlock as CodeBlock
from arrows.engine.program.emitters.numbers import NumberWriter as NumberWriter
from arrows.engine.program.emitters.numbers import RowPlace as RowPlace
from arrows.engine.program.emitters.numbers import column as column
from arrows.engine.program.emitters.numbers import join as join
from arrows.engine.program.emitters.numbers import place as place
from arrows.engine.program.emitters.numbers import split as split
from arrows.engine.program.emitters.numpy import RegionCode as RegionCode
from arrows.engine.program.emitters.numpy import RegionWriter as RegionWriter
from arrows.engine.program.emitters.numpy import Tick as Tick
from arrows.engine.program.emitters.numpy import once as once
from arrows.engine.program.emitters.values import suffix as suffix
from arrows.engine.program.instructions import Accumulate as Accumulate
from arrows.engine.program.instructions import Gather as Gather
from arrows.engine.program.instructions import Instruction as Instruction
from arrows.engine.program.instructions import LoadKeys as LoadKeys
from arrows.engine.program.instructions import Pull as Pull
from arrows.engine.program.instructions import Region as Region
from arrows.engine.program.instructions import RowMap as RowMap
from arrows.engine.program.instructions import Scatter as Scatter
from arrows.engine.program.instructions import Store as Store
from arrows.engine.program.instructions import SumRows as SumRows
from arrows.engine.program.instructions import attribute as attribute
from arrows.engine.program.instructions import is_product as is_product
from arrows.engine.program.instructions import is_view as is_view
from arrows.engine.program.instructions import overlap as overlap
from arrows.engine.program.instructions import subscript as subscript
from arrows.engine.program.pipeline import ProgramTick as ProgramTick
from arrows.engine.program.pipeline import make_code as make_code
from arrows.engine.program.pipeline import make_program as make_program
from arrows.engine.program.profile import Clock as Clock
from arrows.engine.program.profile import Profile as Profile
from arrows.engine.program.profile import profile as profile
from arrows.engine.program.program import Place as Place
from arrows.engine.program.program import Program as Program
from arrows.engine.program.program import Programs as Programs
from arrows.engine.program.program import RowCounts as RowCounts
from arrows.engine.program.program import Slot as Slot
from arrows.engine.program.program import row_counts as row_counts
from arrows.engine.program.slab_memory import separate_memory as separate_memory
from arrows.engine.program.slab_memory import shared_memory as shared_memory
