"""Whole models, ready to train; each file reads as an example.

>>> from arrows.models import sentiment
"""

from arrows.models.sentiment import Sentiment, sentiment

__all__ = ["Sentiment", "sentiment"]
