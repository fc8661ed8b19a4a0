"""Complete models, ready to train; each file can be read as an example.

>>> from arrows.models import sentiment
"""

from arrows.models.examination import Examination, accuracies, node_labels
from arrows.models.sentiment import Sentiment, sentiment
from arrows.models.tagger import Lexicon, TagExamination, Tagger, tagger

__all__ = [
    "Examination",
    "Lexicon",
    "Sentiment",
    "TagExamination",
    "Tagger",
    "accuracies",
    "node_labels",
    "sentiment",
    "tagger",
]
