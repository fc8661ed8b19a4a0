"""What the subcommands of `arrows` do: each has its options and its work in one file.

>>> from arrows.commands import train_sentiment
"""

from arrows.commands import predict_sentiment, train_sentiment, train_tagger

__all__ = ["predict_sentiment", "train_sentiment", "train_tagger"]
