"""Quoting of foreign text: no text steers a terminal, and a long one is cut."""

from __future__ import annotations

import sys
import unicodedata

from arrows.typesys.errors import printable, printable_lines, quoted


def test_every_control_character_is_spelt_out():
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    left = {unicodedata.category(c) for c in printable(everything)}
    assert not left & {"Cc", "Cs", "Zl", "Zp"}
    printable(everything).encode("utf-8")
    assert not set("\u202e\u2066") & set(printable(everything))


def test_words_stay_as_they_are():
    for text in ("film", "木の葉", "no\xa0break", "\u200dé🙂", "back\\slash", ""):
        assert printable(text) == text


def test_lines_stay_lines():
    assert printable_lines("a\n\tb\r\n") == "a\n\tb\\x0d\n"


def test_quotes_are_short_and_say_how_long_the_text_is():
    assert quoted("a\n'b'") == repr("a\n'b'")
    assert quoted("x" * 60) == repr("x" * 60)
    assert quoted("\ud800" * 61) == "'" + "\\ud800" * 60 + "'... (61 characters)"
