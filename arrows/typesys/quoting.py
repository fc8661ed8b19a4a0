"""Quoting of foreign text for a terminal: control characters are escaped, and long texts are cut.

Words of a data file, names in a model's file, paths and options may hold any characters, so they are printed
by these functions.
"""

from __future__ import annotations

import re

QUOTED = 60  # the most characters of a text that a message quotes

# Control characters, lone surrogates, characters that change the direction of writing, line separators, and
# two that XML forbids.
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\u2028\u2029\ufffe\uffff]")

_HALF = re.compile("[\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Escapes the control characters and line breaks of a text, so that no file can steer the terminal.

    >>> print(printable("a\x1b[31m\n\ud800"))
    a\x1b[31m\x0a\ud800
    """
    return _UNFIT.sub(lambda match: _spelt(ord(match[0])), text)


def printable_lines(text: str) -> str:
    r"""As `printable`, for a text of several lines: line feeds and tabs stay.

    >>> print(printable_lines("a\x1b[31m\nb"))
    a\x1b[31m
    b
    """
    return _UNFIT.sub(lambda match: match[0] if match[0] in "\n\t" else _spelt(ord(match[0])), text)


def quoted(text: str, most: int = QUOTED) -> str:
    """A text in quotes, as `repr` writes it; of a text longer than `most`, the beginning and the length.

    >>> quoted("film")
    "'film'"
    >>> print(quoted("x" * 10_000_000, 5))
    'xxxxx'... (10,000,000 characters)
    """
    return repr(text) if len(text) <= most else f"{text[:most]!r}... ({len(text):,} characters)"


def shortened(text: str, most: int) -> str:
    """A text as it is, or, if it is longer than `most` characters, its beginning and its length.

    >>> shortened("film", 60), shortened("x" * 1_000_000, 3)
    ('film', 'xxx... (1,000,000 characters)')
    """
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"


def counted(count: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "example"), counted(1200, "example")
    ('1 example', '1,200 examples')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def message_of(error: BaseException, most: int = 2000) -> str:
    r"""The message of an error that quotes what a file holds: shortened, without control characters.

    >>> print(message_of(ValueError("a\x1b[31m" + 10 * "b"), 8))
    a\x1b[31mbb... (16 characters)
    """
    return printable_lines(shortened(str(error), most))


def escaped(text: str, most: int = 1000) -> str:
    """Shortens a text from a file and escapes its control characters, so that a message can quote it.

    >>> escaped("a\\x1b[31m \\u202e", 12), escaped("naïve")
    ('a\\\\x1b[31m \\\\u202e', 'naïve')
    """
    return printable(shortened(text, most))


def unwritable(text: str) -> str:
    r"""Says why no file can store a name; empty if a file can.

    >>> unwritable("weight")
    ''
    >>> unwritable("a\0")
    "'a\\x00' holds a null character, which no file can store"
    """
    if "\0" in text:
        return f"{quoted(text)} holds a null character, which no file can store"
    if _HALF.search(text):
        return f"{quoted(text)} holds half a character (a surrogate), which no file can store"
    return ""


def _spelt(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
