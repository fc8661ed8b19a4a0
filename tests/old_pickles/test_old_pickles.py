"""Pickles of earlier versions are refused with words.

The files were written before the modules moved: a chain of blocks, a layer, a recursion, a set, results.
"""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("block", "pickled a block here; build it again from its source"),
        ("layer", "pickled a block here; build it again from its source"),
        ("fix", "pickled a block here; build it again from its source"),
        ("prepared", r"pickled a prepared set here; prepare the examples again: model.prepare\(examples\)"),
        ("ragged", "pickled results here; compute them again"),
        ("labelled", "pickled results here; compute them again"),
    ],
)
def test_pickles_of_earlier_versions_are_refused(name, words):
    with pytest.raises(pickle.UnpicklingError, match=f"an earlier version of arrows {words}"):
        pickle.loads((HERE / f"{name}.pickle").read_bytes())


@pytest.mark.parametrize(
    "module", ["arrows.engine.prepared", "arrows.engine.results", "arrows.combinators.copying"]
)
def test_other_names_are_missing_as_ever(module):
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        exec(f"from {module} import nothing")
