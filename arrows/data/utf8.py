"""Decodes a line of a UTF-8 file; its errors name file, line and column."""

from __future__ import annotations

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE

from arrows.typesys import InputError


def decoded(raw: bytes, source: object, line: int) -> str:
    r"""A line of UTF-8 as text, without the byte-order mark that the first line may have.

    Args:
        raw: the bytes of the line.
        source: the name of the text in errors, a file's name for example.
        line: the line's number, from 1.

    Raises:
        InputError: bytes that are not UTF-8; it names source, line and column (in characters, from 1).

    >>> decoded("\ufeffé".encode(), "words.txt", 1)
    'é'
    >>> decoded(b"ab\xff", "words.txt", 3)
    Traceback (most recent call last):
    ...
    arrows.typesys.errors.InputError: words.txt:3:3: this byte is not UTF-8: 0xff
    """
    raw = raw.removeprefix(BOM_UTF8) if line == 1 else raw
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        column = len(raw[: error.start].decode("utf-8")) + 1
        byte = raw[error.start]
        wide = line == 1 and raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
        hint = "; the file begins as UTF-16 does, and UTF-8 is wanted" if wide else ""
        raise InputError(f"{source}:{line}:{column}: this byte is not UTF-8: 0x{byte:02x}{hint}") from error
