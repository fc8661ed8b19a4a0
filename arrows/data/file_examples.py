"""Lines of text files, compressed ones too, and the examples that are read from them."""

from __future__ import annotations

import gzip
import sys
import warnings
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, SupportsIndex, TypeAlias, TypeVar, cast, overload

from arrows.typesys import ArrowValueError, InputError
from arrows.typesys.errors import MissingExtraError

T = TypeVar("T")

ERRORS = ("stop", "skip")

Parsed: TypeAlias = Iterable[tuple[int | Path, Callable[[], T]]]
"""For each example the line where it begins, or the file that it is, and a function that reads it."""


class UnreadableRestError(InputError):
    """An error behind which nothing of a file can be read: data that are cut off, a quote that stays open."""


class FileExamples(list[T]):
    """The examples of a file: a list that knows where each of them stood, after `shuffle` and in slices too.

    Errors of `Model.prepare` and `train` name the place of an example.

    Attributes:
        skipped: the errors of what was left out, with `errors="skip"`.

    >>> examples = FileExamples([[3], [4]], places=["numbers.txt:1", "numbers.txt:2"], skipped=[])
    >>> examples.reverse()
    >>> examples.places, examples[1:].places
    (['numbers.txt:2', 'numbers.txt:1'], ['numbers.txt:1'])
    """

    def __init__(self, examples: Iterable[T], *, places: Sequence[str], skipped: list[InputError]) -> None:
        super().__init__(examples)
        self._read, self._read_places = tuple(self), tuple(places)
        self._by_identity: dict[int, str] | None = None
        self.skipped = skipped

    @property
    def places(self) -> list[str]:
        """Where each example begins, file and line: of one that was put in later, an empty text."""
        return self._places(slice(None))

    def _places(self, part: slice) -> list[str]:
        """The places of a slice, in time that grows with the slice alone."""
        numbers = range(*part.indices(len(self)))
        read, count = self._read, len(self._read)
        return [
            self._read_places[number] if number < count and example is read[number] else self._moved(example)
            for number, example in zip(numbers, super().__getitem__(part), strict=True)
        ]

    def _moved(self, example: T) -> str:
        """The place of an example that does not stand where it was read."""
        if self._by_identity is None:  # once for the whole list, however many slices follow
            self._by_identity = {}
            # A number may be the same object in several lines; then there is no saying which.
            for other, place in zip(self._read, self._read_places, strict=True):
                self._by_identity[id(other)] = "" if id(other) in self._by_identity else place
        return self._by_identity.get(id(example), "")

    @overload
    def __getitem__(self, key: SupportsIndex, /) -> T: ...
    @overload
    def __getitem__(self, key: slice, /) -> FileExamples[T]: ...
    def __getitem__(self, key: Any, /) -> Any:
        if isinstance(key, slice):
            return FileExamples(super().__getitem__(key), places=self._places(key), skipped=self.skipped)
        return super().__getitem__(key)

    def __getstate__(self) -> dict[str, object]:
        """Without what goes by identity: a copy's examples are other objects."""
        return {**self.__dict__, "_by_identity": None}


def checked_errors(errors: str) -> bool:
    """Whether examples with errors are to be left out.

    Raises:
        ArrowValueError: `errors` is neither "stop" nor "skip".
    """
    if errors not in ERRORS:
        raise ArrowValueError(f"errors is {errors!r}, and should be 'stop' or 'skip'")
    return errors == "skip"


class StreamPlaces(Sequence[str]):
    """Where examples stand, file and line; each takes a few bytes.

    >>> places = StreamPlaces(Path("numbers.txt"))
    >>> places.append(3), places.append(Path("others.txt"))
    (None, None)
    >>> list(places)
    ['numbers.txt:3', 'others.txt']
    """

    def __init__(self, path: Path) -> None:
        self._path, self._files = path, list[Path]()
        self._lines = array("q")  # of the file; else -1 - the place in `_files`

    def append(self, where: int | Path) -> None:
        """Adds an example: its line, or the file that it is."""
        if isinstance(where, Path):
            self._files.append(where)
        self._lines.append(where if isinstance(where, int) else -len(self._files))

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, number: int, /) -> str: ...
    @overload
    def __getitem__(self, number: slice, /) -> list[str]: ...
    def __getitem__(self, number: int | slice, /) -> str | list[str]:
        if isinstance(number, slice):
            return [self[place] for place in range(len(self))[number]]
        line = self._lines[number]
        return f"{self._path}:{line}" if line >= 0 else str(self._files[-1 - line])


def collected(path: Path, parsed: Parsed[T], errors: str) -> FileExamples[T]:
    """Reads the examples of a file into a list.

    Args:
        path: the file.
        parsed: its examples.
        errors: "stop": an `InputError` goes on to the caller; "skip": the example is left out, and a warning
            says at the end how many were, and why the first.  An `UnreadableRestError` ends the examples
            then, and is the last that is listed; it goes on to the caller if nothing came before it.
    """
    stream = FileStream(path, parsed, errors, stacklevel=4)
    examples = list(stream)
    return FileExamples(examples, places=list(stream.places), skipped=stream.skipped)


class FileStream(Iterator[T]):
    """The examples of a file, one after the other, for files that are larger than memory.

    Errors of `Model.prepare`, `train` and `Model.predict` name the place of an example.

    Attributes:
        places: where each example stood that has been given out so far.
        skipped: the errors of what has been left out so far, with `errors="skip"`.

    >>> stream = FileStream(Path("numbers.txt"), [(1, lambda: 3)], "skip")
    >>> list(stream), list(stream.places), stream.skipped
    ([3], ['numbers.txt:1'], [])
    """

    def __init__(self, path: Path, parsed: Parsed[T], errors: str, *, stacklevel: int = 2) -> None:
        """Arguments are those of `collected`; `stacklevel` says how far up its caller is."""
        self._path, self._parsed, self._stacklevel = path, iter(parsed), stacklevel
        self._skip = checked_errors(errors)
        self.places = StreamPlaces(path)
        self.skipped: list[InputError] = []

    def __next__(self) -> T:
        try:
            for where, read in self._parsed:
                try:
                    example = read()
                except InputError as error:
                    if not self._skip:
                        raise
                    self.skipped.append(error)
                else:
                    self.places.append(where)
                    return example
        except UnreadableRestError as error:
            if not self._skip or not (self.places or self.skipped):
                raise
            self.skipped.append(UnreadableRestError(f"{error}; nothing behind it was read"))
        skipped, self._skip = self.skipped if self._skip else [], False  # it is said once
        if skipped:
            rest = ", and all that comes after the last of these" if ends_early(skipped) else ""
            warnings.warn(
                f"{self._path}: left out {len(skipped)} of {len(skipped) + len(self.places)} examples{rest}, "
                f"which are listed in .skipped; {first_and_last(skipped)}",
                stacklevel=self._stacklevel,
            )
        raise StopIteration


def ends_early(skipped: Sequence[InputError]) -> bool:
    """Whether nothing was read behind the last of the errors of what was left out."""
    return bool(skipped) and isinstance(skipped[-1], UnreadableRestError)


def first_and_last(skipped: Sequence[InputError]) -> str:
    """The first of the errors of what was left out, and the last if nothing was read behind it.

    >>> first_and_last([InputError("x:1: no number"), InputError("x:5: no number")])
    'the first: x:1: no number'
    """
    last = f"; the last: {skipped[-1]}" if ends_early(skipped) and len(skipped) > 1 else ""
    return f"the first: {skipped[0]}{last}"


def lines_of(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yields the lines of a file with their numbers, from 1, without the line feeds.

    A file whose name ends in `.gz` or `.zst` is decompressed while it is read.

    Raises:
        UnreadableRestError: compressed data that are damaged or cut off; it names the file and the line.
        MissingExtraError: a `.zst` file, and neither Python 3.14 nor `arrows[zstd]`.
        OSError: the file cannot be read.
    """
    number = 0
    with path.open("rb") as raw, _decompressed(path, raw) as file:
        try:
            if file is not raw and not raw.peek(1):
                raise EOFError("there is nothing in the file")
            for number, line in enumerate(file, start=1):
                yield number, line.removesuffix(b"\n")
        except _damage(path) as error:
            raise UnreadableRestError(
                f"{path}:{number + 1}: the compressed data are damaged or cut off ({error})"
            ) from error


def _decompressed(path: Path, raw: BufferedReader) -> IO[bytes]:
    if path.suffix == ".gz":
        return cast("IO[bytes]", gzip.GzipFile(fileobj=raw))
    if path.suffix == ".zst":
        return cast("IO[bytes]", _zstd().open(raw))
    return raw


def _damage(path: Path) -> tuple[type[Exception], ...]:
    of_zstd: tuple[type[Exception], ...] = (_zstd().ZstdError,) if path.suffix == ".zst" else ()
    return (EOFError, zlib.error, gzip.BadGzipFile, *of_zstd)


def _zstd() -> Any:
    """The module of Python 3.14, or the package that has the same for earlier ones."""
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd
    try:
        from backports import zstd
    except ModuleNotFoundError:
        raise MissingExtraError(
            "files that end in .zst need Python 3.14, or a package", "zstd", "backports.zstd"
        ) from None
    return zstd
