"""Readers of files, compressed ones too: the examples, where each stood, and what was left out and why."""

from __future__ import annotations

import gzip
import io
import warnings
import zlib
from array import array
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Generic, SupportsIndex, TypeAlias, TypeVar, cast, overload

from arrows.storage import require_path
from arrows.typesys import ArrowTypeError, ArrowValueError, InputError, cached_property

T = TypeVar("T")

Source: TypeAlias = str | Path | BinaryIO
"""A path, or an open binary file, such as `sys.stdin.buffer`."""

Lines: TypeAlias = Iterator[tuple[int, bytes]]
"""Lines with their numbers, from 1, without the line feeds."""

Parse: TypeAlias = Callable[[Lines, str], Iterable[tuple[int, Callable[[], T]]]]
"""From lines, and the file's name, to the line where each example begins, and a function that reads it."""


class FileReader(Iterable[T]):
    """The examples of a file, one after the other; each `for` reads the file anew.

    So the file may be larger than memory. `to_list` gives a list, which has a length and slices. Errors of
    `Model.prepare`, `train` and `Model.predict` name the place of an example.

    Attributes:
        places: where each example begins, file and line, of those that the latest `for` has given so far.
        skipped: with `errors="skip"`, why the others have been left out so far.

    Raises:
        InputError: an example is wrong, and `errors` is "stop"; it names file and line.
        ArrowValueError: an open file is read twice.
        OSError: the file cannot be read.

    >>> import io
    >>> from arrows.data import read_json_lines
    >>> reader = read_json_lines(io.BytesIO(b"[1]\\n\\n[2]"))
    >>> list(reader), list(reader.places)
    ([[1], [2]], ['input:1', 'input:3'])
    """

    def __init__(self, function: str, file: Source, parse: Parse[T], errors: str) -> None:
        """A reader for the public `function`; `parse` knows the format.

        Raises:
            ArrowTypeError, ArrowValueError: no file can have that name, it is open as text, or `errors` is
                neither "stop" nor "skip".
        """
        if errors not in ("stop", "skip"):
            raise ArrowValueError(f"errors is {errors!r}, and should be 'stop' or 'skip'")
        if isinstance(file, io.TextIOBase):
            raise ArrowTypeError(f"{function}: the file is open as text; open it by open(path, 'rb')")
        is_open = callable(getattr(file, "read", None))
        self._file = cast("BinaryIO", file) if is_open else require_path(f"{function}: path", file)
        self._name = str(getattr(file, "name", "input") if is_open else file)
        self._parse, self._skips, self._was_read = parse, errors == "skip", False
        self.places: Sequence[str] = ()
        self.skipped: list[InputError] = []

    def __iter__(self) -> Iterator[T]:
        return self._examples(stacklevel=2)

    def to_list(self) -> FileExamples[T]:
        """All examples, in a list that knows their places, after `shuffle` and in slices too."""
        examples = list(self._examples(stacklevel=3))
        return FileExamples(examples, places=self.places, skipped=self.skipped)

    def _examples(self, stacklevel: int) -> Iterator[T]:
        if self._was_read and not isinstance(self._file, Path):
            raise ArrowValueError(f"{self._name}: an open file is read once; to_list() keeps its examples")
        self._was_read = True
        places, skipped = _Places(self._name), list[InputError]()
        self.places, self.skipped = places, skipped
        # What `_parse` itself raises, such as damage to compressed data, ends the reading in either case.
        for line, read in self._parse(lines_of(self._file, self._name), self._name):
            try:
                example = read()
            except InputError as error:
                if not self._skips:
                    raise
                skipped.append(error)
                continue
            places.append(line)
            yield example
        if skipped:
            warnings.warn(
                f"{self._name}: left out {len(skipped)} of {len(skipped) + len(places)} examples, "
                f"which are listed in .skipped; the first: {skipped[0]}",
                stacklevel=stacklevel,
            )


def by_line(function: str, file: Source, read: Callable[[str, str, int], T], errors: str) -> FileReader[T]:
    """A reader of a file with an example in each line that is not blank.

    Args:
        function: its name.
        file: as of `FileReader`.
        read: reads an example from a line, the file's name and the line's number.
        errors: "stop" or "skip".
    """

    def example(raw: bytes, name: str, number: int) -> T:
        return read(decoded(raw, name, number), name, number)

    def parse(lines: Lines, name: str) -> Iterator[tuple[int, Callable[[], T]]]:
        for number, raw in lines:
            if raw.strip(b" \t\r\f\v"):
                yield number, partial(example, raw, name, number)

    return FileReader(function, file, parse, errors)


class _Places(Sequence[str]):
    """File and line of examples; each takes eight bytes."""

    def __init__(self, name: str) -> None:
        self._name, self._lines = name, array("q")

    def append(self, line: int) -> None:
        self._lines.append(line)

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, number: Any, /) -> Any:
        return f"{self._name}:{self._lines[number]}"


class _Origin(Generic[T]):
    """The examples of a file in its order, which a list and its slices share."""

    def __init__(self, examples: Sequence[T], places: Sequence[str]) -> None:
        self.examples, self.places = tuple(examples), places  # the tuple keeps identities from being reused

    @cached_property
    def numbers(self) -> dict[int, list[int]]:
        """From an example's identity to its numbers: a file may give one object, such as None, many times."""
        numbers: dict[int, list[int]] = {}
        for number, example in enumerate(self.examples):
            numbers.setdefault(id(example), []).append(number)
        return numbers


class FileExamples(list[T]):
    """The examples of a file: a list that knows where each of them stood, after `shuffle` and in slices too.

    Errors of `Model.prepare` and `train` name the place of an example.

    Attributes:
        skipped: the errors of what was left out, with `errors="skip"`.

    >>> examples = FileExamples([[3], [4]], places=["numbers.txt:1", "numbers.txt:2"])
    >>> examples.reverse()
    >>> examples.places, examples[1:].places
    (['numbers.txt:2', 'numbers.txt:1'], ['numbers.txt:1'])
    """

    def __init__(
        self, examples: Iterable[T], *, places: Sequence[str], skipped: Sequence[InputError] = ()
    ) -> None:
        super().__init__(examples)
        self._origin = _Origin(self, places)
        self.skipped = list(skipped)

    @property
    def places(self) -> list[str]:
        """Where each example begins, file and line: of one that was put in later, an empty text.

        Of examples that are the same object, such as None, the first here counts as the first in the file.
        """
        places, seen = list[str](), Counter[int]()
        for example in self:
            numbers = self._origin.numbers.get(id(example), [])
            number = numbers[min(seen[id(example)], len(numbers) - 1)] if numbers else None
            places.append("" if number is None else self._origin.places[number])
            seen[id(example)] += 1
        return places

    @overload
    def __getitem__(self, key: SupportsIndex, /) -> T: ...
    @overload
    def __getitem__(self, key: slice, /) -> FileExamples[T]: ...
    def __getitem__(self, key: Any, /) -> Any:
        found = super().__getitem__(key)
        if not isinstance(key, slice):
            return found
        part: FileExamples[T] = FileExamples.__new__(FileExamples)
        part.extend(cast("list[T]", found))
        part._origin, part.skipped = self._origin, self.skipped
        return part

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (list(self), self.places, self.skipped)  # a copy's examples are other objects


def _rebuilt(examples: list[T], places: list[str], skipped: list[InputError]) -> FileExamples[T]:
    return FileExamples(examples, places=places, skipped=skipped)


def lines_of(file: Path | BinaryIO, name: str) -> Lines:
    """Yields the lines of a file; one whose name ends in `.gz` is decompressed while it is read.

    Raises:
        InputError: compressed data that are damaged or cut off; it names the file and the line.
        OSError: the file cannot be read.
    """
    if not isinstance(file, Path):
        yield from _numbered(file)
        return
    number = 0
    with file.open("rb") as raw:
        zipped = file.suffix == ".gz"
        try:
            if zipped and not raw.peek(1):
                raise EOFError("there is nothing in the file")
            for number, line in _numbered(gzip.GzipFile(fileobj=raw) if zipped else raw):
                yield number, line
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(
                f"{name}:{number + 1}: the compressed data are damaged or cut off ({error})"
            ) from error


def _numbered(lines: Iterable[bytes]) -> Lines:
    """Lines with their numbers, without line feeds and the byte-order mark that the first may begin with."""
    for number, line in enumerate(lines, start=1):
        yield number, (line if number > 1 else line.removeprefix(BOM_UTF8)).removesuffix(b"\n")


def decoded(raw: bytes, source: str, line: int) -> str:
    r"""A line of UTF-8 as text, without the byte-order mark that the first line may have.

    Args:
        raw: the bytes of the line.
        source: the name of the file in errors.
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
        wide = line == 1 and raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
        hint = "; the file begins as UTF-16 does, and UTF-8 is wanted" if wide else ""
        byte = f"0x{raw[error.start]:02x}"
        raise InputError(f"{source}:{line}:{column}: this byte is not UTF-8: {byte}{hint}") from error
