"""What the subcommands of `arrows` do: each has its options and its work in one file.

>>> from arrows.commands import train_sentiment
"""

from arrows.commands import check, predict_sentiment, show, train_sentiment, train_tagger

__all__ = ["check", "predict_sentiment", "show", "train_sentiment", "train_tagger"]
