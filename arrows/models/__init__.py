"""Complete models, ready to train; each file can be read as an example.

>>> from arrows.models import sentiment
"""

from arrows.models.documents import DocumentModel, document_classifier, document_regressor
from arrows.models.sentiment import Examination, Sentiment, accuracies, node_labels, sentiment
from arrows.models.tagger import Tagger, tagger, tagger_vocabularies

__all__ = [
    "DocumentModel",
    "Examination",
    "Sentiment",
    "Tagger",
    "accuracies",
    "document_classifier",
    "document_regressor",
    "node_labels",
    "sentiment",
    "tagger",
    "tagger_vocabularies",
]
