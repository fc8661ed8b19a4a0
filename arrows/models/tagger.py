"""A part-of-speech tagger, written for one sentence: a sequence of words, which are sequences of characters.

A sentence is a list of words, and a word a dict `{"word": form}`, with `"tag": name` where the tag is known,
as `arrows.data.read_conllu` returns them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

import arrows as ar
from arrows.combinators import AnyBlock
from arrows.data import TAGS, Sentence, Vocabulary


def tagger_vocabularies(sentences: Iterable[Sentence], *, min_freq: int = 2) -> tuple[Vocabulary, Vocabulary]:
    """The vocabulary of words, in lower case, and that of characters.

    By default words that occur once are unknown: from them the model learns to tag unknown words by their
    spelling.

    >>> words, characters = tagger_vocabularies([[{"word": "Trees"}, {"word": "trees"}, {"word": "grow"}]])
    >>> words.words, characters["T"]
    (('<unknown>', 'trees'), 4)
    """
    forms = [word["word"] for sentence in sentences for word in sentence]
    return Vocabulary.of(map(str.lower, forms), min_freq=min_freq), Vocabulary.of(chain.from_iterable(forms))


@dataclass(frozen=True, slots=True)
class Tagger:
    """Two blocks made of the same layers: one to train and one to predict with.

    Attributes:
        learn: reads sentences with tags; the metric `loss` is the cross-entropy of each word.
        judge: reads sentences with or without tags; returns the scores of each word,
            `Sequence(float32[tags])`.

    >>> len(tagger(Vocabulary([]), Vocabulary([]), size=4).judge.eval([{"word": "a"}, {"word": "tree"}]))
    2
    """

    learn: AnyBlock
    judge: AnyBlock


@ar.builder
def tagger(
    words: Vocabulary,
    characters: Vocabulary,
    *,
    size: int = 100,
    embedding: int = 64,
    character_size: int = 32,
    character_embedding: int = 24,
    dropout: float = 0.0,
    tags: Sequence[str] = TAGS,
) -> Tagger:
    """A BiLSTM over words; a word is its embedding and the last states of a BiLSTM over its characters.

    Ling et al., "Finding Function in Form: Compositional Character Models for Open Vocabulary Word
    Representation", EMNLP 2015; Plank, Søgaard, Goldberg, "Multilingual Part-of-Speech Tagging with
    Bidirectional Long Short-Term Memory Models and Auxiliary Loss", ACL 2016.

    Args:
        words: the words in lower case, with a number for unknown ones.
        characters: the characters of words; likewise.
        size: size of the state over words, in each direction.
        embedding: size of the word vectors.
        character_size: size of the state over characters, in each direction.
        character_embedding: size of the character vectors.
        dropout: dropout rate of the input and of the output of the BiLSTM over words.
        tags: the parts of speech, in the order of a word's scores.

    >>> import arrows as ar
    >>> model = ar.compile(tagger(Vocabulary(["trees"]), Vocabulary("t r e s".split()), size=4).judge)
    >>> [len(sentence) for sentence in model([[{"word": "Trees"}, {"word": "grow"}], []])]
    [2, 0]
    """
    embed = ar.Embedding(len(words), embedding, name="words")
    letter = ar.Embedding(len(characters), character_embedding, name="characters")
    classify = ar.FC(len(tags), name="classify")

    def drop() -> AnyBlock:
        return ar.Dropout(dropout) if dropout else ar.Identity()

    def last(cell: ar.LSTMCell, *, reverse: bool = False) -> AnyBlock:
        """The last output of a cell over a sequence."""
        return ar.RNN(cell, reverse=reverse) >> ar.GetItem(1) >> ar.GetItem(0)

    spelling = (
        ar.InputTransform(partial(_spelling, characters))
        >> ar.Map(ar.Scalar("int32") >> letter)
        >> ar.AllOf(
            last(ar.LSTMCell(character_size, name="spelling_forward")),
            last(ar.LSTMCell(character_size, name="spelling_backward"), reverse=True),
        )
        >> ar.Concat()
    )
    number = ar.InputTransform(str.lower) >> words.block()
    word = ar.GetItem("word") >> ar.AllOf(number >> embed, spelling) >> ar.Concat()
    states = (
        ar.Map(word >> drop())
        >> ar.Bidirectional(ar.LSTMCell(size, name="forward"), ar.LSTMCell(size, name="backward"))
        >> ar.GetItem(0)
    )
    label = ar.GetItem("tag") >> Vocabulary(tags, unknown=None).block()
    loss = ar.SoftmaxCrossEntropy() >> ar.Metric("loss")
    learn = ar.AllOf(states >> ar.Map(drop() >> classify), ar.Map(label)) >> ar.ZipWith(loss)
    return Tagger(learn, states >> ar.Map(classify))


def _spelling(characters: Vocabulary, form: str) -> list[int]:
    """The numbers of a word's characters."""
    return characters.numbers(list(form))
