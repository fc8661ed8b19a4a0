"""The reader of CoNLL-U files: what it accepts, and its errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from arrows.data import read_conllu
from arrows.typesys import InputError


def row(identity: object, form: str = "tree", tag: str = "NOUN") -> str:
    return "\t".join([str(identity), form, "_", tag, *"______"])


def write(folder: Path, *lines: str) -> Path:
    path = folder / "words.conllu"
    path.write_bytes("\n".join(lines).encode("utf-8"))
    return path


def test_words_and_tags(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "# text = a",
        row(1),
        row(2, "grow", "VERB"),
        "",
        "# x",
        row(1, "New\u00a0York", "PROPN"),
        "",
    )
    first, second = read_conllu(path).to_list()
    assert first == [{"word": "tree", "tag": "NOUN"}, {"word": "grow", "tag": "VERB"}]
    assert second == [{"word": "New\u00a0York", "tag": "PROPN"}]


def test_ranges_and_empty_nodes_are_no_words(tmp_path: Path) -> None:
    path = write(
        tmp_path, row("1-2", "don't", "_"), row(1, "do", "AUX"), row(2, "n't", "PART"), row("2.1", "_", "_")
    )
    assert [word["word"] for word in read_conllu(path).to_list()[0]] == ["do", "n't"]


def test_a_form_may_hold_blanks_and_what_unicode_calls_line_ends(tmp_path: Path) -> None:
    assert read_conllu(write(tmp_path, row(1, "20 000"), row(2, "a\u2028b"))).to_list() == [
        [{"word": "20 000", "tag": "NOUN"}, {"word": "a\u2028b", "tag": "NOUN"}]
    ]


def test_lines_may_end_as_on_windows_and_the_last_blank_line_be_missing(tmp_path: Path) -> None:
    path = tmp_path / "words.conllu"
    path.write_bytes("\r\n".join([row(1), "", "", row(1)]).encode())
    assert len(read_conllu(path).to_list()) == 2


def test_nothing_is_no_sentence(tmp_path: Path) -> None:
    assert read_conllu(write(tmp_path, "")).to_list() == []


@pytest.mark.parametrize(
    ("lines", "place", "reason"),
    [
        (["1\ttree\t_\tNOUN"], "1", "expected 10 columns with tabs between them, got 4"),
        ([row(1) + "\tmore"], "1", "expected 10 columns with tabs between them, got 11"),
        (["1 tree _ NOUN _ _ _ _ _ _"], "1", "expected 10 columns with tabs between them, got 1"),
        ([row(1), row(3)], "2", "expected the number 2 of the next word, got '3'"),
        ([row("one")], "1", "expected the number 1 of the next word, got 'one'"),
        ([row("²")], "1", "expected the number 1 of the next word, got '²'"),
        ([row(1, "")], "1", "this word has no form"),
        (
            ["# a", row(1, "tree", "NOUNS")],
            "2",
            "expected a universal part of speech such as NOUN, got 'NOUNS'",
        ),
        ([row(1, "tree", "_")], "1", "expected a universal part of speech such as NOUN, got '_'"),
        (["", "# empty", "# more", "", row(1)], "2", "the sentence that begins here has no words"),
        ([row("1-2"), ""], "1", "the sentence that begins here has no words"),
        ([row(1), "# late", row(2)], "2", "a comment stands inside a sentence"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(
    tmp_path: Path, lines: list[str], place: str, reason: str
) -> None:
    path = write(tmp_path, *lines)
    with pytest.raises(InputError) as caught:
        read_conllu(path).to_list()
    assert str(caught.value).startswith(f"{path}:{place}: {reason}")
    assert "\n" not in str(caught.value)


def arc(number: int, head: object, relation: str = "dep") -> str:
    return "\t".join([str(number), "tree", "_", "NOUN", "_", "_", str(head), relation, "_", "_"])


def test_trees_are_read_where_they_are_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path, arc(1, 2, "nsubj:pass"), row("1-2"), arc(2, 0, "root"))
    assert read_conllu(path, trees=True).to_list() == [
        [
            {"word": "tree", "tag": "NOUN", "head": "2", "relation": "nsubj:pass"},
            {"word": "tree", "tag": "NOUN", "head": "0", "relation": "root"},
        ]
    ]
    assert read_conllu(path).to_list() == [[{"word": "tree", "tag": "NOUN"}] * 2]


@pytest.mark.parametrize(
    ("lines", "place", "reason"),
    [
        ([row(1)], "1", "expected the number of the head, or 0 for the root, got '_'"),
        ([arc(1, "01")], "1", "expected the number of the head, or 0 for the root, got '01'"),
        ([arc(1, 0), arc(2, 3)], "2", "the head is word 3, and the sentence has 2 words"),
        ([arc(1, 0, "_")], "1", "this word has no relation to its head"),
        ([arc(1, 0), arc(2, 2)], "2", "the heads form a cycle"),
        ([arc(1, 2), arc(2, 3), arc(3, 1)], "1", "the heads form a cycle"),
    ],
)
def test_what_is_no_tree_is_said_with_its_place(
    tmp_path: Path, lines: list[str], place: str, reason: str
) -> None:
    path = write(tmp_path, *lines)
    with pytest.raises(InputError) as caught:
        read_conllu(path, trees=True).to_list()
    assert str(caught.value) == f"{path}:{place}: {reason}"
