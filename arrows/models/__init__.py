"""Complete models, ready to train; each file can be read as an example.

>>> from arrows.models import sentiment
"""

from arrows.models.sentiment import Examination, Sentiment, accuracies, node_labels, sentiment
from arrows.models.tagger import Lexicon, TagExamination, Tagger, lexicon_tagger, tagger

__all__ = [
    "Examination",
    "Lexicon",
    "Sentiment",
    "TagExamination",
    "Tagger",
    "accuracies",
    "lexicon_tagger",
    "node_labels",
    "sentiment",
    "tagger",
]
