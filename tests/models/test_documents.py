"""Models of documents: saved, they predict the same; their rows have the names of classes."""

from __future__ import annotations

import numpy as np

import arrows as ar

POSTS = [{"n": n, "deep": {"kind": ["a", "b"][n % 2], "y": float(n)}} for n in range(30)]


def test_a_classifier_is_saved_and_loaded(tmp_path):
    decisions = ar.infer_block(POSTS, width=4, ignore=["deep"]).decisions
    blocks = ar.models.document_classifier(decisions, ["deep", "kind"], ["a", "b"], dropout=0.5)
    model = ar.compile(blocks.learn)
    assert np.isfinite(model.value_and_grad(POSTS)[0])
    judge = ar.compile(blocks.judge, params=model.params)
    ar.save_model(judge, tmp_path / "model.safetensors")
    again = ar.load_model(tmp_path / "model.safetensors")
    rows = again.predict([{"n": 3}, {}])
    assert rows == judge.predict([{"n": 3}, {}])
    assert set(rows[0]) == {"a", "b"} and abs(sum(rows[0].values()) - 1) < 1e-6
    scores = ar.compile(blocks.scores, params=model.params)([{"n": 3}])[0]
    assert abs(rows[0]["a"] - np.exp(scores[0]) / np.exp(scores).sum()) < 1e-6


def test_a_regressor_gives_numbers_of_the_label(tmp_path):
    decisions = ar.infer_block(POSTS, width=4, ignore=["deep"]).decisions
    blocks = ar.models.document_regressor(decisions, ["deep", "y"], 1e9, 10.0)
    model = ar.compile(blocks.judge)
    (row,) = model.predict([{"n": 3}])
    assert set(row) == {"y"} and abs(row["y"] - 1e9) < 100
    loss = ar.compile(blocks.learn)([{"n": 3, "deep": {"y": 1e9 + 10}}])
    assert np.isfinite(loss).all()
