"""Complete models, ready to train; each file can be read as an example.

>>> from arrows.models import sentiment
"""

from typing import TYPE_CHECKING

from arrows.models.documents import (
    DocumentModel as DocumentModel,
    average_of as average_of,
    document_classifier as document_classifier,
    document_regressor as document_regressor,
)
from arrows.models.sentiment import (
    Examination as Examination,
    Sentiment as Sentiment,
    accuracies as accuracies,
    node_labels as node_labels,
    sentiment as sentiment,
)
from arrows.models.tagger import (
    Tagger as Tagger,
    tagger as tagger,
    tagger_vocabularies as tagger_vocabularies,
)
from arrows.typesys import names

if not TYPE_CHECKING:  # a type checker goes by the imports
    __all__ = list(names.exported(globals(), inner=["average_of"]))
