"""Sequences, sequences of sequences and tuples in them as results: ragged values, and nested lists."""

from __future__ import annotations

from typing import Any

import numpy as np

import arrows as ar
from tests.agree import agree

WORD = ar.Record({"id": ar.Scalar("int32"), "x": ar.Vector(2, name="x"), "nothing": ar.Void()})
TEXT = ar.Map(ar.Map(WORD))  # a text is a list of sentences


def word(number: int) -> dict[str, Any]:
    return {"id": number, "x": [number / 2, -number], "nothing": None}


TEXTS = [[[word(1), word(2)], [], [word(3)]], [], [[]], [[word(4)]]]


def test_a_sequence_of_sequences_of_records() -> None:
    agree(TEXT, TEXTS, loss="-")
    found = ar.compile(TEXT)(TEXTS)
    assert (len(found), found.offsets.tolist()) == (4, [0, 3, 3, 4, 5])
    sentences = found.values
    assert sentences.offsets.tolist() == [0, 2, 2, 3, 3, 4]
    assert sentences.values["id"].tolist() == [1, 2, 3, 4] and sentences.values["id"].dtype == np.int32
    assert sentences.values["x"].shape == (4, 2) and sentences.values["nothing"] is None
    listed = found.tolist()
    assert [len(text) for text in listed] == [3, 0, 1, 1]
    assert listed[0][2][0] == (3, [1.5, -3.0], None) and listed[0][2][0]["x"] == [1.5, -3.0]
    assert found[0][0]["id"].tolist() == [1, 2]
