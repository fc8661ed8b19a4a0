"""The form of messages, and construction sites."""

from __future__ import annotations

import copy
import pickle
import sys
from types import SimpleNamespace

import pytest

from arrows.typesys.errors import (
    WIDTH,
    ArrowTypeError,
    ArrowValueError,
    Side,
    SourceLine,
    input_message,
    message,
)


def test_the_form_of_the_design() -> None:
    text = message(
        "cannot compose embed >> classify",
        [
            Side("embed", "Input -> float32[300]", SourceLine("/x/model.py", 41)),
            Side("classify", "float32[128] -> float32[5]", SourceLine("/x/model.py", 12)),
        ],
        "tree > case 'leaf' > step 2 of 3",
        "axis 0 is 300 on the left, fixed by Embedding(9000, 300) at model.py:38,\n"
        "and 128 on the right, fixed by its use at model.py:20",
        "put FC(128) between them, or use another FC here",
    )
    assert text.splitlines() == [
        "cannot compose embed >> classify",
        "  embed     Input -> float32[300]       model.py:41",
        "  classify  float32[128] -> float32[5]  model.py:12",
        "  at        tree > case 'leaf' > step 2 of 3",
        "  axis 0 is 300 on the left, fixed by Embedding(9000, 300) at model.py:38,",
        "  and 128 on the right, fixed by its use at model.py:20",
        "  hint      put FC(128) between them, or use another FC here",
    ]


def test_long_reasons_wrap() -> None:
    text = message("cannot", reason="word " * 100, hint="word " * 100)
    assert all(len(line) <= WIDTH for line in text.splitlines())


def test_input_errors() -> None:
    assert (
        input_message(17, "tree > right > word", "expected int, got None")
        == "example 17: tree > right > word: expected int, got None"
    )
    assert input_message(None, "", "no").splitlines() == ["no"]


def test_sites() -> None:
    site = SourceLine.here()
    assert site.file == __file__ and str(site) == f"test_errors.py:{site.line}"
    assert str(SourceLine("<unknown>", 0)) == "<unknown>"


def test_a_line_of_a_notebook_names_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = {"/tmp/ipykernel_7/123.py": ("Cell", "In[3]")}
    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=cells.get))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert str(SourceLine("/tmp/ipykernel_7/123.py", 2)) == "In[3]:2"
    assert str(SourceLine("/x/model.py", 41)) == "model.py:41"
    shell = None  # IPython is imported, but this is no notebook
    assert str(SourceLine("/tmp/ipykernel_7/123.py", 2)) == "123.py:2"


def test_the_parts_of_an_error_can_be_read_one_by_one():
    sides = [Side("f", "Input -> float32", SourceLine("/a/model.py", 3)), Side("g", "Void -> Void")]
    error = ArrowTypeError(message("cannot compose f >> g", sides, "step 1 of 2", "because", "drop g"))
    for same in (error, pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        told = same.details
        assert str(same) == str(error) == told
        assert (told.attempt, told.sides, told.at) == ("cannot compose f >> g", tuple(sides), "step 1 of 2")
        assert (told.reason, told.hint) == ("because", "drop g")


@pytest.mark.parametrize("error", [ArrowTypeError("in one line"), ArrowValueError("in one line")])
def test_a_text_without_parts_is_its_own_attempt(error):
    assert (error.details.attempt, error.details.sides, error.details.hint) == ("in one line", (), "")


def test_an_error_without_a_text_has_empty_details():
    assert ArrowTypeError().details == ""
