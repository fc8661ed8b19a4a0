"""Complete models, ready to train; each file can be read as an example.

>>> from arrows.models import sentiment
"""

from typing import TYPE_CHECKING

from arrows.models.documents import DocumentModel as DocumentModel
from arrows.models.documents import document_classifier as document_classifier
from arrows.models.documents import document_regressor as document_regressor
from arrows.models.sentiment import Examination as Examination
from arrows.models.sentiment import Sentiment as Sentiment
from arrows.models.sentiment import accuracies as accuracies
from arrows.models.sentiment import node_labels as node_labels
from arrows.models.sentiment import sentiment as sentiment
from arrows.models.tagger import Tagger as Tagger
from arrows.models.tagger import tagger as tagger
from arrows.models.tagger import tagger_vocabularies as tagger_vocabularies
from arrows.typesys import exports

if not TYPE_CHECKING:  # a type checker goes by the imports
    __all__ = list(exports.exported(globals()))
