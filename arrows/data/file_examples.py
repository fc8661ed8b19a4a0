"""Lines of text files, compressed ones too, and the examples that are read from them."""

from __future__ import annotations

import gzip
import operator
import sys
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, SupportsIndex, TypeVar, cast, overload

from arrows.typesys import ArrowValueError, InputError
from arrows.typesys.errors import MissingExtraError

T = TypeVar("T")

ERRORS = ("stop", "skip")


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

    def __init__(self, examples: Iterable[T], *, places: list[str], skipped: list[InputError]) -> None:
        super().__init__(examples)
        self._read, self._places = tuple(self), tuple(places)
        self.skipped = skipped

    @property
    def places(self) -> list[str]:
        """Where each example begins, file and line: of one that was put in later, an empty text."""
        if len(self) == len(self._read) and all(map(operator.is_, self, self._read)):
            return list(self._places)
        # A number may be the same object in several lines; then there is no saying which.
        lines: dict[int, str] = {}
        for example, place in zip(self._read, self._places, strict=True):
            lines[id(example)] = "" if id(example) in lines else place
        return [lines.get(id(example), "") for example in self]

    @overload
    def __getitem__(self, key: SupportsIndex, /) -> T: ...
    @overload
    def __getitem__(self, key: slice, /) -> FileExamples[T]: ...
    def __getitem__(self, key: Any, /) -> Any:
        if isinstance(key, slice):
            return FileExamples(super().__getitem__(key), places=self.places[key], skipped=self.skipped)
        return super().__getitem__(key)


def checked_errors(errors: str) -> bool:
    """Whether examples with errors are to be left out.

    Raises:
        ArrowValueError: `errors` is neither "stop" nor "skip".
    """
    if errors not in ERRORS:
        raise ArrowValueError(f"errors is {errors!r}, and should be 'stop' or 'skip'")
    return errors == "skip"


def collected(path: Path, parsed: Iterable[tuple[str, Callable[[], T]]], errors: str) -> FileExamples[T]:
    """Reads the examples of a file into a list.

    Args:
        path: the file, for messages.
        parsed: for each example, where it begins, and a function that reads it.
        errors: "stop": an `InputError` goes on to the caller; "skip": the example is left out, and a warning
            says at the end how many were, and why the first.
    """
    skip = checked_errors(errors)
    examples: list[T] = []
    places: list[str] = []
    skipped: list[InputError] = []
    for place, read in parsed:
        try:
            examples.append(read())
        except InputError as error:
            if not skip:
                raise
            skipped.append(error)
        else:
            places.append(place)
    _warn(path, skipped, len(examples), stacklevel=4)
    return FileExamples(examples, places=places, skipped=skipped)


class FileStream(Iterator[T]):
    """The examples of a file, one after the other, for files that are larger than memory.

    Attributes:
        skipped: the errors of what has been left out so far, with `errors="skip"`.

    >>> stream = FileStream(Path("numbers.txt"), [("numbers.txt:1", lambda: 3)], "skip")
    >>> list(stream), stream.skipped
    ([3], [])
    """

    def __init__(self, path: Path, parsed: Iterable[tuple[str, Callable[[], T]]], errors: str) -> None:
        """Arguments are those of `collected`."""
        self._path, self._parsed = path, iter(parsed)
        self._skip = checked_errors(errors)
        self._count = 0
        self.skipped: list[InputError] = []

    def __next__(self) -> T:
        for _, read in self._parsed:
            try:
                example = read()
            except InputError as error:
                if not self._skip:
                    raise
                self.skipped.append(error)
            else:
                self._count += 1
                return example
        if self._skip:
            _warn(self._path, self.skipped, self._count, stacklevel=3)
            self._skip = False  # it is said once
        raise StopIteration


def _warn(path: Path, skipped: list[InputError], count: int, stacklevel: int) -> None:
    if skipped:
        warnings.warn(
            f"{path}: left out {len(skipped)} of {len(skipped) + count} examples, which are listed "
            f"in .skipped; the first: {skipped[0]}",
            stacklevel=stacklevel,
        )


def lines_of(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yields the lines of a file with their numbers, from 1, without the line feeds.

    A file whose name ends in `.gz` or `.zst` is decompressed while it is read.

    Raises:
        InputError: compressed data that are damaged or cut off; it names the file and the line.
        MissingExtraError: a `.zst` file, and neither Python 3.14 nor `arrows[zstd]`.
        OSError: the file cannot be read.
    """
    number = 0
    with path.open("rb") as raw, _decompressed(path, raw) as file:
        try:
            for number, line in enumerate(file, start=1):
                yield number, line.removesuffix(b"\n")
        except _damage(path) as error:
            raise InputError(
                f"{path}:{number + 1}: the compressed data are damaged or cut off ({error})"
            ) from error


def _decompressed(path: Path, raw: IO[bytes]) -> IO[bytes]:
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
