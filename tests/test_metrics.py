"""Metrics give what their definitions say, whatever batches the data come in."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import arrows as ar
from arrows.engine.device import get_device
from arrows.metrics import (
    Accuracy,
    AttachmentScores,
    ConfusionMatrix,
    MeanAbsoluteError,
    MeanSquaredError,
    SpanF1,
    StreamingMetric,
)

CLASSES = 3
TAGS = ["O", "B-a", "I-a", "E-a", "S-a", "B-b", "I-b"]
pairs = st.lists(st.tuples(st.integers(0, CLASSES - 1), st.integers(0, CLASSES - 1)), max_size=12)
reals = st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)), max_size=12)
sentences = st.lists(
    st.lists(st.tuples(st.sampled_from(range(len(TAGS))), st.sampled_from(range(len(TAGS)))), max_size=6),
    max_size=4,
)


# A model's scores, where it gives no classes.
scored = st.lists(
    st.tuples(
        st.lists(st.floats(-9, 9), min_size=CLASSES, max_size=CLASSES).map(np.array),
        st.integers(0, CLASSES - 1),
    ),
    max_size=12,
)


def columns(rows: list[tuple[Any, Any]]) -> tuple[Any, list[Any]]:
    """Predictions and answers; predictions that are arrays are the rows of one array."""
    first, second = [row[0] for row in rows], [row[1] for row in rows]
    return (np.stack(first) if first and isinstance(first[0], np.ndarray) else first), second


def same(left: dict[str, float], right: dict[str, float]) -> bool:
    return left.keys() == right.keys() and all(
        left[name] == right[name] or (math.isnan(left[name]) and math.isnan(right[name])) for name in left
    )


# By name: what makes a metric, and the rows that it counts.
METRICS: dict[str, tuple[Callable[[], StreamingMetric], Any]] = {
    "Accuracy": (Accuracy, pairs),
    "Accuracy of scores": (Accuracy, scored),
    "AttachmentScores": (AttachmentScores, pairs),
    "ConfusionMatrix": (lambda: ConfusionMatrix(CLASSES), pairs),
    "MeanAbsoluteError": (MeanAbsoluteError, reals),
    "MeanSquaredError": (MeanSquaredError, reals),
    "SpanF1": (lambda: SpanF1(TAGS), sentences.map(lambda rows: [columns(row) for row in rows])),
}


@pytest.mark.parametrize("name", METRICS)
def test_batches_do_not_matter(name):
    make, data = METRICS[name]

    @given(data, st.integers(0, 12), st.randoms())
    def check(rows: Any, cut: int, random: Any) -> None:
        whole, parts = make(), make()
        whole.update(*columns(rows))
        mixed = random.sample(rows, len(rows))
        parts.update(*columns(mixed[:cut]))
        parts.update(*columns(mixed[cut:]))
        assert same(whole.figures(), parts.figures())

    check()


@given(pairs)
def test_classes_against_their_definition(rows):
    matrix, accuracy = ConfusionMatrix(CLASSES), Accuracy()
    for metric in (matrix, accuracy):
        metric.update(*columns(rows))
    for predicted in range(CLASSES):
        for correct in range(CLASSES):
            assert matrix.counts[correct, predicted] == rows.count((predicted, correct))
    share = sum(p == c for p, c in rows) / len(rows) if rows else math.nan
    assert same({"a": matrix.figures()["accuracy"]}, {"a": share})
    assert same(accuracy.figures(), {"accuracy": share})
    for name, f1 in matrix.f1().items():
        precision, recall = matrix.precision()[name], matrix.recall()[name]
        if precision + recall > 0:
            assert f1 == pytest.approx(2 * precision * recall / (precision + recall))


@given(st.lists(st.floats(-1e300, 1e300)))
def test_means_are_exact(numbers):
    error = MeanAbsoluteError()
    for first in range(0, len(numbers), 3):
        part = numbers[first : first + 3]
        error.update(part, np.zeros(len(part)))
    exact = sum((abs(Fraction(x)) for x in numbers), Fraction())
    (value,) = error.figures().values()
    assert (math.isnan(value) and not numbers) or value == float(exact) / len(numbers)


def test_errors_that_are_not_finite():
    error = MeanSquaredError()
    error.update([1e200], [0.0])
    assert error.figures() == {"mean squared error": math.inf}
    error.update([math.nan], [0.0])
    assert math.isnan(error.figures()["mean squared error"])


def spans_of(tags: list[str]) -> set[tuple[int, int, str]]:
    """A transcription of conlleval's rules, tag by tag."""
    spans, start, previous = set(), None, "O"
    for place, tag in enumerate([*tags, "O"]):
        (prefix, _, kind), (before, _, kind_before) = tag.partition("-"), previous.partition("-")
        new = tag != "O" and (previous == "O" or prefix in "BS" or before in "ES" or kind != kind_before)
        if start is not None and (new or tag == "O"):
            spans.add((start, place, kind_before))
            start = None
        if new:
            start = place
        previous = tag
    return spans


@given(sentences)
def test_spans_against_conlleval(rows):
    metric = SpanF1(TAGS)
    predicted, correct = [[p for p, _ in row] for row in rows], [[c for _, c in row] for row in rows]
    metric.update(predicted, [[TAGS[c] for c in row] for row in correct])
    left, right = (
        {(n, *span) for n, row in enumerate(tags) for span in spans_of([TAGS[t] for t in row])}
        for tags in (predicted, correct)
    )
    both, figures = len(left & right), metric.figures()
    assert same(
        figures,
        {
            "span precision": both / len(left) if left else math.nan,
            "span recall": both / len(right) if right else math.nan,
            "span F1": 2 * both / (len(left) + len(right)) if left or right else math.nan,
        },
    )
    for kind, f1 in metric.f1().items():
        predicted_spans, correct_spans = (
            {span for span in spans if span[3] == kind} for spans in (left, right)
        )
        if predicted_spans or correct_spans:
            assert f1 == 2 * len(predicted_spans & correct_spans) / (
                len(predicted_spans) + len(correct_spans)
            )


def test_spans_by_sentence_of_a_model():
    scores = np.eye(len(TAGS))[[1, 2, 1, 0]]
    ragged = ar.Ragged(scores, np.array([0, 1, 4]))
    metric = SpanF1(TAGS)
    metric.update(ragged, [["B-a"], ["B-a", "B-a", "O"]])
    assert metric.figures()["span F1"] == 1.0  # an inside that begins a sentence begins a span
    metric.update([scores[:1], scores[1:]], [["O"], ["O", "O", "O"]])
    assert metric.figures()["span F1"] == 2 * 3 / 9


def test_sentences_of_texts_are_sentences():
    """An inside at the begin of a sentence begins a span, also where the sentences of a text lie together."""
    tags, lengths = np.array([1, 2, 2, 0, 2]), np.array([0, 2, 4, 5])
    sentences, metric = ar.Ragged(tags, lengths), SpanF1(TAGS)
    texts = ar.Ragged(sentences, np.array([0, 2, 3]))
    metric.update(texts, sentences)
    metric.update(texts, [[["O", "I-a"], ["I-a", "O"]], [["I-a"]]])
    assert metric.figures() == {"span precision": 5 / 6, "span recall": 5 / 6, "span F1": 5 / 6}


def test_a_column_of_classes_is_classes():
    accuracy = Accuracy()
    accuracy.update(np.array([[1], [0], [2]]), [1, 0, 2])
    assert accuracy.figures() == {"accuracy": 1.0}


def test_scores_lists_and_devices():
    scores = np.array([[0.0, 1.0], [2.0, 1.0], [1.0, 1.0]], np.float32)
    accuracy = Accuracy()
    accuracy.update(scores, [1, 0, 0])
    accuracy.update(get_device("fake").to_device(scores), np.array([1, 0, 1]))
    accuracy.update(ar.Ragged(scores, np.array([0, 2, 3])), [[1, 0], [0]])
    accuracy.update([np.int64(1), True], [[1], [0]])
    assert (accuracy.right, accuracy.count) == (9, 11)


def test_answers_to_ignore():
    for metric in (Accuracy(ignore_index=-1), ConfusionMatrix(2, ignore_index=-1)):
        metric.update([0, 1, 1], [-1, 1, 0])
        assert metric.figures()["accuracy"] == 0.5


def as_list(column: list[list[Any]]) -> Any:
    return [list(sentence) for sentence in column]


def as_tuple(column: list[list[Any]]) -> Any:
    return tuple(tuple(sentence) for sentence in column)


def as_arrays(column: list[list[Any]]) -> Any:
    return [np.array(sentence) for sentence in column]


def as_words(column: list[list[Any]]) -> Any:
    return [word for sentence in column for word in sentence]


def as_ragged(column: list[list[Any]]) -> Any:
    return ar.Ragged(np.array(as_words(column)), np.cumsum([0, *map(len, column)]))


containers = st.sampled_from([as_list, as_tuple, as_arrays, as_words, as_ragged])


@given(
    st.lists(
        st.lists(
            st.tuples(*[st.integers(0, 3)] * 2, *[st.sampled_from(["root", "det", "nsubj"])] * 2), min_size=1
        ),
        min_size=1,
        max_size=4,
    ),
    st.lists(containers, min_size=4, max_size=4),
    st.booleans(),
)
def test_attachment_scores_are_their_definition_in_every_container(sentences, makers, numbered):
    words = [word for sentence in sentences for word in sentence]
    attached = [head == right for head, right, _, _ in words]
    labelled = [head == right and name == known for head, right, name, known in words]
    columns = [[[word[k] for word in sentence] for sentence in sentences] for k in range(4)]
    if numbered:
        columns[2:] = [[[len(name) for name in sentence] for sentence in column] for column in columns[2:]]
    given = [make(column) for make, column in zip(makers, columns, strict=True)]
    scores, heads_alone = AttachmentScores(), AttachmentScores()
    scores.update(*given)
    heads_alone.update(*given[:2])
    assert scores.figures() == {"UAS": sum(attached) / len(words), "LAS": sum(labelled) / len(words)}
    assert heads_alone.figures() == {"UAS": sum(attached) / len(words)}


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (([[1]], [[1]], [["a"]]), "relations are either predicted and known"),
        ((([[1]], [["a"]]), ([[1]], [["b"]])), "whole numbers.*relations are arguments of their own"),
        (([[0.5]], [[1]]), "predicted heads should be whole numbers, not float64"),
        (([[1, 2]], [[1], [2]]), "sentence 0 has 2 predicted heads and 1 correct heads"),
        (([[1, 2], [3]], ((1,), (2, 3))), "sentence 0 has 2 predicted heads and 1 correct heads"),
        (([[1, 2]], [[1, 2]], [["a"]], [["a", "b"]]), "sentence 0 has 2 correct heads and 1 predicted rel"),
        (([1, 2], [1, 2], ["a"], ["a"]), "2 correct heads and 1 predicted relations"),
        (([1], [1], [1], ["a"]), "all numbers or all names"),
        (([1], [1], [b"a"], ["a"]), "texts or bytes"),
        ((np.ones((2, 3), int), np.ones((2, 3), int)), r"one number for each word, not \[2, 3\]"),
        (([np.ones((2, 3), int)], [np.ones((2, 3), int)]), r"one number for each word, not \[2, 3\]"),
        (([[1, 2]], [[1, 2]], np.ones((2, 1), int), [[1, 1]]), r"predicted relations.*not \[2, 1\]"),
    ],
)
def test_attachment_scores_refuse_columns_that_do_not_fit(columns, words):
    scores = AttachmentScores()
    with pytest.raises((ar.ArrowTypeError, ar.ArrowValueError), match=words):
        scores.update(*columns)
    assert scores.words == 0 and set(scores.figures()) == {"UAS"}


@pytest.mark.parametrize(
    ("metric", "predicted", "correct", "words"),
    [
        (Accuracy(), [1], [1, 2], "1 predictions and 2 correct answers"),
        (Accuracy(), [0.5], [1], r"numbers of classes, of an integer type, not float64; .*score > 0"),
        (Accuracy(), np.zeros((2, 2, 2)), [1, 1], r"\[n\] or \[n, classes\], .* not \[2, 2, 2\] and \[2\]"),
        (Accuracy(), np.zeros((2, 0)), [1, 1], r"not \[2, 0\]"),
        (Accuracy(), np.zeros((2, 1)), [1, 1], r"of an integer type, not float64; .*\(score > 0\)"),
        (Accuracy(), {1: 2}, [1], "arrays, ragged values and lists, not dict"),
        (Accuracy(), "ab", [1, 2], "arrays, ragged values and lists, not str"),
        (Accuracy(), 3, [3], "many values at once, not 3"),
        (MeanSquaredError(), [1.0], np.array(1.0), r"many values at once, not 1\.0"),
        (Accuracy(), ["a"], ["a"], "numbers of classes"),
        (ConfusionMatrix(2), [2], [1], "a predicted class is 2, and the 2 classes are 0 to 1"),
        (ConfusionMatrix(2), [1], [-1], "a correct class is -1"),
        (MeanSquaredError(), np.zeros((2, 1)), np.zeros((2, 3)), r"predictions \[2, 1\] and correct"),
        (SpanF1(TAGS), [1], [1], "by sentence"),
        (SpanF1(TAGS), [[[1, 2], [1]]], [[1, 2, 1]], "sentence 0 has 2 predicted tags and 3 correct tags"),
        (SpanF1(TAGS), [[1]], [["B-c"]], "'B-c' is none of the tags"),
        (SpanF1(TAGS), [[1], [2]], [[1], [2, 3]], "sentence 1 has 1 predicted tags and 2 correct"),
        (SpanF1(TAGS), [[7]], [[1]], "a predicted tag is 7"),
    ],
)
def test_what_does_not_fit_is_refused(metric: StreamingMetric, predicted, correct, words):
    before = metric.figures()
    with pytest.raises((ar.ArrowTypeError, ar.ArrowValueError), match=words):
        metric.update(predicted, correct)
    assert same(metric.figures(), before)


def test_classes_have_names_of_their_own():
    for classes in ([], ["a", "a"], 0):
        with pytest.raises(ar.ArrowValueError, match="at least one class"):
            ConfusionMatrix(classes)
    with pytest.raises(ar.ArrowTypeError, match="number or a list of names"):
        ConfusionMatrix("ab")
    with pytest.raises(ar.ArrowValueError, match="neither 'O' nor 'B-kind'"):
        SpanF1(["O", "NOUN"])
