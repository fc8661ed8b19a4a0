"""The models of the package by names that `arrows check` and `arrows show` find."""

from arrows.models import sentiment, tagger
from arrows.models.tagger import Lexicon

tree = sentiment({"good": 1}, size=300)
tags = tagger(Lexicon({"tree": 1}, {"t": 1}))
