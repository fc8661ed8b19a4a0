"""A part-of-speech tagger, written for one sentence: a sequence of words, which are sequences of characters.

A sentence is a list of words, and a word a dict `{"word": form}`, with `"tag": name` where the tag is known,
as `arrows.data.read_conllu` returns them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import arrows as ar
from arrows.combinators import AnyBlock
from arrows.data import TAGS, Sentence
from arrows.metrics import Accuracy
from arrows.models.sentiment import numbered
from arrows.ops.arrays import HostArray


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Numbers for words and characters, from 1; 0 stands for words and characters that are not in it.

    Attributes:
        words: form in lower case -> number.
        characters: character -> number.

    >>> lexicon = Lexicon.of([[{"word": "Trees"}, {"word": "trees"}, {"word": "grow"}]])
    >>> lexicon.words, lexicon.spelling("sex"), lexicon.number("Grow")
    ({'trees': 1}, [4, 3, 0], 0)
    """

    words: dict[str, int]
    characters: dict[str, int]

    @classmethod
    def of(cls, sentences: Iterable[Sentence], least: int = 2) -> Lexicon:
        """The lexicon of sentences: all characters, and the words that occur at least `least` times.

        By default words that occur once are left out: from them the model learns to tag unknown words by
        their spelling.
        """
        forms = [word["word"] for sentence in sentences for word in sentence]
        words = [word for word, count in Counter(map(str.lower, forms)).items() if count >= least]
        letters = dict.fromkeys("".join(forms))
        return cls(
            {word: i for i, word in enumerate(words, start=1)},
            {letter: i for i, letter in enumerate(letters, start=1)},
        )

    def number(self, form: str) -> int:
        """The number of a word."""
        return self.words.get(form.lower(), 0)

    def spelling(self, form: str) -> list[int]:
        """The numbers of a word's characters."""
        return [self.characters.get(letter, 0) for letter in form]


@dataclass(frozen=True, slots=True)
class Tagger:
    """Two blocks made of the same layers: one to train and one to predict with.

    Attributes:
        learn: reads sentences with tags; the metric `loss` is the cross-entropy of each word.
        judge: reads sentences with or without tags; returns the scores of each word,
            `Sequence(float32[tags])`.

    >>> len(tagger(Lexicon({}, {}), size=4).judge.eval([{"word": "a"}, {"word": "tree"}]))
    2
    """

    learn: AnyBlock
    judge: AnyBlock


def tagger(
    lexicon: Lexicon,
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
        lexicon: numbers for words and characters.
        size: size of the state over words, in each direction.
        embedding: size of the word vectors.
        character_size: size of the state over characters, in each direction.
        character_embedding: size of the character vectors.
        dropout: dropout rate of the input and of the output of the BiLSTM over words.
        tags: the parts of speech, in the order of a word's scores.

    >>> import arrows as ar
    >>> model = ar.compile(tagger(Lexicon({"trees": 1}, {"t": 1}), size=4).judge)
    >>> [len(sentence) for sentence in model([[{"word": "Trees"}, {"word": "grow"}], []])]
    [2, 0]
    """
    embed = ar.Embedding(len(lexicon.words) + 1, embedding, name="words")
    letter = ar.Embedding(len(lexicon.characters) + 1, character_embedding, name="characters")
    classify = ar.FC(len(tags), name="classify")

    def drop() -> AnyBlock:
        return ar.Dropout(dropout) if dropout else ar.Identity()

    def last(cell: ar.LSTMCell[Any, Any], *, reverse: bool = False) -> AnyBlock:
        """The last output of a cell over a sequence."""
        return ar.RNN(cell, reverse=reverse) >> ar.GetItem(1) >> ar.GetItem(0)

    spelling = (
        ar.InputTransform(lexicon.spelling)
        >> ar.Map(ar.Scalar("int32") >> letter)
        >> ar.AllOf(
            last(ar.LSTMCell(character_size, name="spelling_forward")),
            last(ar.LSTMCell(character_size, name="spelling_backward"), reverse=True),
        )
        >> ar.Concat()
    )
    number = ar.InputTransform(lexicon.number) >> ar.Scalar("int32")
    word = ar.GetItem("word") >> ar.AllOf(number >> embed, spelling) >> ar.Concat()
    states = (
        ar.Map(word >> drop())
        >> ar.Bidirectional(ar.LSTMCell(size, name="forward"), ar.LSTMCell(size, name="backward"))
        >> ar.GetItem(0)
    )
    label = ar.GetItem("tag") >> ar.Vocabulary(tags, unknown=None).block()
    loss = ar.SoftmaxCrossEntropy() >> ar.Metric("loss")
    learn = ar.AllOf(states >> ar.Map(drop() >> classify), ar.Map(label)) >> ar.ZipWith(loss)
    return Tagger(learn, states >> ar.Map(classify))


@ar.builder
def lexicon_tagger(
    words: Mapping[str, int],
    characters: Mapping[str, int],
    *,
    size: int = 100,
    embedding: int = 64,
    character_size: int = 32,
    character_embedding: int = 24,
    dropout: float = 0.0,
    tags: Sequence[str] = TAGS,
) -> Tagger:
    """A `tagger` whose arguments a model file can keep: the lexicon as its two tables.

    >>> import arrows as ar
    >>> model = ar.compile(lexicon_tagger({"trees": 1}, {"t": 1}, size=4).judge)
    >>> len(model.eval([{"word": "Trees"}]))
    1
    """
    lexicon = Lexicon(
        numbered("words", words, len(words)), numbered("characters", characters, len(characters))
    )
    return tagger(
        lexicon,
        size=size,
        embedding=embedding,
        character_size=character_size,
        character_embedding=character_embedding,
        dropout=dropout,
        tags=tags,
    )


@dataclass(frozen=True, slots=True)
class TagExamination:
    """Tagged sentences to measure a tagger with.

    Attributes:
        model: the compiled block `Tagger.judge`.
        prepared: the sentences, prepared once.
        labels: the numbers of the correct tags, of all words in order.
        in_lexicon: for each word, whether the lexicon has it.

    >>> lexicon = Lexicon({"trees": 1}, {})
    >>> model = ar.compile(tagger(lexicon, size=2, tags=["NOUN"]).judge)
    >>> TagExamination.of(model, [[{"word": "trees", "tag": "NOUN"}]], lexicon, ["NOUN"])()
    {'accuracy': 1.0, 'rare words': 0.0}
    """

    model: ar.Model
    prepared: ar.Prepared
    labels: HostArray
    in_lexicon: HostArray

    @classmethod
    def of(
        cls, model: ar.Model, sentences: list[Sentence], lexicon: Lexicon, tags: Sequence[str] = TAGS
    ) -> TagExamination:
        """Prepares sentences to measure a model with."""
        numbers = ar.Vocabulary(tags, unknown=None)
        words = [word for sentence in sentences for word in sentence]
        return cls(
            model=model,
            prepared=model.prepare(sentences),
            labels=np.array([numbers[word["tag"]] for word in words], np.int64),
            in_lexicon=np.array([lexicon.number(word["word"]) > 0 for word in words], bool),
        )

    def __call__(self, batch_size: int = 64) -> dict[str, float]:
        """The shares of correct tags among all words and among words not in the lexicon; 0 among none."""
        accuracy, rare = Accuracy(), Accuracy()
        word = 0
        for first in range(0, len(self.prepared), batch_size):
            scores = ar.to_numpy(self.model(self.prepared[first : first + batch_size]).values)
            words = slice(word, word + len(scores))
            word += len(scores)
            accuracy.update(scores, self.labels[words])
            unknown = ~self.in_lexicon[words]
            rare.update(scores[unknown], self.labels[words][unknown])
        return {"accuracy": _or_zero(accuracy), "rare words": _or_zero(rare)}


def _or_zero(accuracy: Accuracy) -> float:
    return accuracy.figures()["accuracy"] if accuracy.count else 0.0
