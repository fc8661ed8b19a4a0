"""The blocks that a user writes, and the core forms that they are made of: frozen values.

Each file holds a family: a core form, and the blocks that desugar into it. Inference, the engine and drawing
know the core forms alone (`core_forms.py`). `arrows` hands on what users write.
"""

from __future__ import annotations

from arrows.combinators.apply import (
    Apply as Apply,
    Concat as Concat,
    Function as Function,
    Layer as Layer,
    Written as Written,
    spread_items as spread_items,
)
from arrows.combinators.attention import Attention as Attention
from arrows.combinators.base.arguments import (
    function_name as function_name,
    require_flag as require_flag,
    set_name as set_name,
    wrong_argument as wrong_argument,
    wrong_value as wrong_value,
)
from arrows.combinators.base.block import (
    AnyBlock as AnyBlock,
    Block as Block,
    Identity as Identity,
    Pipe as Pipe,
    as_block as as_block,
    derived as derived,
)
from arrows.combinators.base.copying import parts_first as parts_first
from arrows.combinators.base.printing import brief as brief, title as title
from arrows.combinators.base.wires import Wire as Wire
from arrows.combinators.constant import (
    Constant as Constant,
    InferredZeros as InferredZeros,
    Void as Void,
    Zeros as Zeros,
    without_zero as without_zero,
)
from arrows.combinators.control_flow import (
    Choice as Choice,
    ForwardDeclaration as ForwardDeclaration,
    OneOf as OneOf,
    Optional as Optional,
    Reference as Reference,
    Token as Token,
    fix as fix,
)
from arrows.combinators.core_forms import CORE_FORMS as CORE_FORMS, core_form as core_form
from arrows.combinators.effects import (
    Metric as Metric,
    Shared as Shared,
    SideOutput as SideOutput,
    Tap as Tap,
    shared as shared,
)
from arrows.combinators.fanout import AllOf as AllOf, AndFan as AndFan, Fan as Fan, Record as Record
from arrows.combinators.folds import (
    RNN as RNN,
    Bidirectional as Bidirectional,
    Fold as Fold,
    Loop as Loop,
    Reduce as Reduce,
    Scan as Scan,
)
from arrows.combinators.inputs import (
    Input as Input,
    InputTransform as InputTransform,
    Length as Length,
    Read as Read,
    Scalar as Scalar,
    Tensor as Tensor,
    Unfit as Unfit,
    Vector as Vector,
)
from arrows.combinators.items import (
    GetItem as GetItem,
    GroupBy as GroupBy,
    Item as Item,
    NoItem as NoItem,
    Nth as Nth,
    Reverse as Reverse,
    Slice as Slice,
    attributes as attributes,
    has_attributes as has_attributes,
    take as take,
    take_of as take_of,
    take_or_default as take_or_default,
)
from arrows.combinators.message_passing import MessagePassing as MessagePassing
from arrows.combinators.notation import (
    Composition as Composition,
    Graph as Graph,
    Source as Source,
    arrow as arrow,
    unpack as unpack,
)
from arrows.combinators.onehot import OneHot as OneHot, OneHotFromList as OneHotFromList
from arrows.combinators.places import (
    At as At,
    Shift as Shift,
    Window as Window,
    options_written as options_written,
    window_steps as window_steps,
)
from arrows.combinators.reductions import (
    Max as Max,
    Mean as Mean,
    Min as Min,
    Reduction as Reduction,
    Stack as Stack,
    Sum as Sum,
)
from arrows.combinators.sequences import (
    Broadcast as Broadcast,
    Map as Map,
    NGrams as NGrams,
    Zip as Zip,
    ZipWith as ZipWith,
)
