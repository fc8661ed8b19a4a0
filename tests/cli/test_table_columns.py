"""What columns hold, and what a word for a missing value means in them."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from arrows.cli.table_columns import column_notes, column_types, field_of, is_missing, separator_of
from arrows.data import FileExamples

WORDS = ["", "NA", "n/a", "<NA>", "NaN", "-nan", "NULL", "None", "?", "-", ".", "missing", "1.#QNAN"]
spaced = st.sampled_from(WORDS).flatmap(lambda word: st.sampled_from([word, f" {word}", f"{word} "]))
NUMBERS = {
    "number": st.integers(-(10**6), 10**6).map(str)
    | st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: f"{x:.3f}"),
    "boolean": st.sampled_from(["true", "False", "TRUE"]),
}


@pytest.mark.parametrize("kind", [*NUMBERS])
def test_words_for_missing_values_leave_a_column_its_type(kind):
    @given(st.lists(NUMBERS[kind], min_size=1, max_size=8), st.lists(spaced, max_size=4), st.randoms())
    def check(filled, missing, rng):
        texts = [*filled, *missing]
        rng.shuffle(texts)
        rows = FileExamples(
            [{"x": text} for text in texts], places=[f"t.csv:{n}" for n in range(len(texts))], skipped=[]
        )
        types = column_types(rows)
        assert types == {"x": kind}
        values = [field_of(types["x"], row["x"]) for row in rows]
        assert [value is None for value in values] == [is_missing(text) for text in texts]
        assert sum(value is None for value in values) == len(missing)
        notes = column_notes(rows, types)
        assert len(notes) == bool(missing)
        assert not missing or f"has {len(missing)} missing value" in notes[0]

    check()


def test_a_column_of_words_keeps_them():
    rows = [{"country": text} for text in ("NA", "DE", "None", "1")]
    types = column_types(rows)
    assert types == {"country": "text"}
    assert [field_of("text", row["country"]) for row in rows] == ["NA", "DE", "None", "1"]
    assert column_types([{"x": "NA"}, {"x": ""}]) == {"x": "text"}
    whole = field_of("number", " 12")
    assert whole == 12 and isinstance(whole, int)  # few whole numbers may be codes


def test_a_word_among_numbers_is_said():
    rows = FileExamples(
        [{"x": str(n)} for n in range(30)] + [{"x": "1,000"}],
        places=[f"t.csv:{n + 2}" for n in range(31)],
        skipped=[],
    )
    (warning,) = column_notes(rows, column_types(rows))
    assert warning == (
        "warning: the column 'x' holds 31 numbers, and is read as text because of '1,000' in t.csv:32"
    )


@pytest.mark.parametrize(
    ("header", "separator"),
    [
        ("a,b", ","),
        ("a;b", ";"),
        ("a\tb", "\t"),
        ('"a;b;c",d', ","),
        ('"a, b";c', ";"),
        ("a", ","),
        ("", ","),
    ],
)
def test_a_table_is_told_by_its_first_line(tmp_path, header, separator):
    path = tmp_path / "x.csv"
    path.write_text(f"{header}\n1\n")
    assert separator_of(path) == separator
    (tmp_path / "x.tsv").write_text("a;b\n")
    assert separator_of(tmp_path / "x.tsv") == "\t"
