"""Whole models, ready to train; each file reads as an example.

>>> from arrows.models import sentiment
"""

from arrows.models.examination import Examination, accuracies, node_labels
from arrows.models.sentiment import Sentiment, sentiment

__all__ = ["Examination", "Sentiment", "accuracies", "node_labels", "sentiment"]
