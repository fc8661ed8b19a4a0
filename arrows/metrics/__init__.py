"""Figures that say how good predictions are: exact, and the same in whatever batches the data come.

A metric counts what `update` shows it, batch by batch, and `figures` gives numbers by name, as
`train(evaluate=)` takes them.  Metrics of parts of the data, of several processes say, are put together by
`merge`; nothing is rounded before the last division.

>>> from arrows.metrics import Accuracy, ConfusionMatrix
"""

import sys
from typing import TYPE_CHECKING, NoReturn

from arrows.metrics.attachment import AttachmentScores
from arrows.metrics.classification import Accuracy, ClassF1, ConfusionMatrix
from arrows.metrics.exact_sum import ExactSum
from arrows.metrics.metric import StreamingMetric
from arrows.metrics.ranking import RocAuc
from arrows.metrics.regression import MeanAbsoluteError, MeanSquaredError
from arrows.metrics.spans import SpanF1
from arrows.typesys.did_you_mean import likely_name, missing_name

if not TYPE_CHECKING:  # a type checker would accept any misspelt name

    def __getattr__(name: str) -> NoReturn:
        raise missing_name("arrows.metrics", name, lambda: likely_name(name, __all__), sys._getframe(1))


__all__ = [
    "Accuracy",
    "AttachmentScores",
    "ClassF1",
    "ConfusionMatrix",
    "ExactSum",
    "MeanAbsoluteError",
    "MeanSquaredError",
    "RocAuc",
    "SpanF1",
    "StreamingMetric",
]
