"""Weights of layers without names: which changes of the expression loading notices, and which not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import arrows as ar
from arrows.training import SGD, load, load_state, read_metadata, save, save_state
from arrows.typesys.errors import ArrowValueError

pytestmark = pytest.mark.filterwarnings("ignore:.*these layers have the same shapes:UserWarning")


def layers(name_mu=None, name_sigma=None):
    encode = ar.FC(4)
    mu = ar.FC(2, name=name_mu)
    sigma = ar.FC(2, name=name_sigma)
    return ar.Vector(3) >> encode, mu, sigma


def test_layers_that_changed_places_are_noticed_and_nothing_is_loaded(tmp_path):
    x, mu, sigma = layers()
    save(ar.compile(x >> (mu & sigma)), tmp_path / "m")
    model = ar.compile(x >> (sigma & mu), seed=1)
    before = {name: array.copy() for name, array in model.params.items()}
    with pytest.raises(ArrowValueError) as caught:
        load(model, tmp_path / "m")
    lines = str(caught.value).splitlines()
    assert lines[0] == f"{tmp_path / 'm'} may not fit the model: layers without names have changed places"
    assert lines[1].startswith("  FC_2  made at test_unnamed_layers.py:") and lines[2].startswith("  FC_3  ")
    assert "give every layer a name" in str(caught.value) and "name='FC_2'" in str(caught.value)
    assert all((array == before[name]).all() for name, array in model.params.items())


def test_the_names_of_the_file_make_it_fit_again(tmp_path):
    x, mu, sigma = layers()
    saved = ar.compile(x >> (mu & sigma))
    save(saved, tmp_path / "m")
    x, mu, sigma = layers("FC_2", "FC_3")
    model = ar.compile(x >> (sigma & mu), seed=1)
    load(model, tmp_path / "m")
    assert (model.params["FC_2/weight"] == saved.params["FC_2/weight"]).all()
    for given, expected in zip(model([[1, 2, 3]]), reversed(saved([[1, 2, 3]])), strict=True):
        np.testing.assert_array_equal(given, expected)


def test_the_state_of_a_run_notices_it_too(tmp_path):
    x, mu, sigma = layers()
    save_state(tmp_path / "run", ar.compile(x >> (mu & sigma)), SGD(0.1))
    load_state(tmp_path / "run", ar.compile(x >> (mu & sigma), seed=0), SGD(0.1))
    with pytest.raises(ArrowValueError, match="layers without names have changed places"):
        load_state(tmp_path / "run", ar.compile(x >> (sigma & mu)), SGD(0.1))


def test_what_says_nothing_about_places_is_let_be(tmp_path):
    x, mu, sigma = layers()
    model = ar.compile(x >> (mu & sigma))
    save(model, tmp_path / "m", {"by": "us"})
    add = ar.Function(lambda a, b: ar.ops.sum(a) + ar.ops.sum(b))
    assert load(ar.compile(x >> (mu & sigma) >> add), tmp_path / "m") == {"by": "us"}  # around the layers
    again, mu, sigma = layers()
    load(ar.compile(again >> (mu & sigma)), tmp_path / "m")  # made anew
    sizes = ar.Vector(3) >> ar.FC(2) >> ar.FC(3)
    save(ar.compile(sizes), tmp_path / "sizes")
    last = ar.FC(3)
    first = ar.FC(2)
    load(ar.compile(ar.Vector(3) >> first >> last), tmp_path / "sizes")  # no weights could be exchanged


def test_layers_made_on_one_line_are_not_told_apart(tmp_path):
    mu, sigma = ar.FC(2), ar.FC(2)
    save(ar.compile(ar.Vector(2) >> (mu & sigma)), tmp_path / "m")
    load(ar.compile(ar.Vector(2) >> (sigma & mu)), tmp_path / "m")


def test_files_from_before_and_from_elsewhere_are_read(tmp_path):
    x, mu, sigma = layers()
    save(ar.compile(x >> (mu & sigma)), tmp_path / "m")
    save_file(load_file(tmp_path / "m"), tmp_path / "bare")
    assert load(ar.compile(x >> (sigma & mu)), tmp_path / "bare") == {}


def test_it_is_no_text_of_the_users(tmp_path):
    x, mu, sigma = layers()
    model = ar.compile(x >> (mu & sigma))
    save(model, tmp_path / "m", {"by": "us"})
    assert read_metadata(tmp_path / "m") == load(model, tmp_path / "m") == {"by": "us"}


def test_saving_layers_that_may_take_each_other_s_weights_says_so(tmp_path):
    x, mu, sigma = layers()
    with pytest.warns(UserWarning, match="^FC_2, FC_3: these layers have the same shapes") as caught:
        save(ar.compile(x >> (mu & sigma)), tmp_path / "m")
    assert caught[0].filename == __file__ and (tmp_path / "m").exists()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x, mu, sigma = layers("mu")
        save(ar.compile(x >> (mu & sigma)), tmp_path / "m")
        save(ar.compile(ar.Vector(3) >> ar.FC(2) >> ar.FC(3)), tmp_path / "m")
