"""The exceptions of arrows, and the single form of their messages.

Every type error answers the same questions in the same order: what was attempted; which blocks took part,
with their types and the lines that made them; where in the expression this happened; why it is an error; how
to repair it. All of them are built by `message`, so that they look alike.

Words of a data file, names in a model's file, paths and options may hold any characters. So messages quote
foreign text by `printable` and its like: control characters are escaped, and long texts are cut.
"""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

WIDTH = 100
_wrap = partial(
    textwrap.wrap, width=WIDTH, break_on_hyphens=False, break_long_words=False
)  # a path stays whole
_HINT = "\n  hint  "  # before the hint of an input error


class _Told:
    """Mixin of errors whose text may have parts, which can be read one by one."""

    args: tuple[Any, ...]
    whole: ClassVar[str] = "attempt"  # the part that a text without parts is

    @property
    def details(self) -> Message:
        """The text with its parts."""
        text = self.args[0] if self.args else ""
        return text if isinstance(text, Message) else Message.of(str(text), **{self.whole: str(text)})


class ArrowTypeError(_Told, TypeError):
    """An ill-typed composition, or an argument of the wrong kind.

    Attributes:
        details: the text, and the parts that it consists of.
        unresolved: whether the types do not contradict each other, but some of them stay open.

    Example:
        >>> from arrows.typesys.types import as_type
        >>> try:
        ...     as_type(None)
        ... except TypeError as error:
        ...     print(type(error).__name__)
        ArrowTypeError
    """

    unresolved: bool = False


class ArrowValueError(_Told, ValueError):
    """An argument of the right type with an impossible value.

    Example:
        >>> from arrows.typesys.types import Tensor
        >>> try:
        ...     Tensor((-1,))
        ... except ValueError as error:
        ...     print(error)
        a size must not be negative: -1 in the shape [-1]
    """


class InputError(_Told, ValueError):
    """A bad example: data that does not fit the block that reads it.

    Attributes:
        details: the text, and the parts that it consists of.

    Example:
        >>> error = InputError(input_message(17, "tree > right > word", "expected int, got None"))
        >>> print(error)
        example 17: tree > right > word: expected int, got None
        >>> error.details.example, error.details.path, error.details.reason
        (17, 'tree > right > word', 'expected int, got None')
    """

    whole = "reason"


class NotFiniteError(ArithmeticError):
    """Training produced numbers that are not finite.

    Example:
        >>> print(NotFiniteError("epoch 1, step 3: the loss is nan"))
        epoch 1, step 3: the loss is nan
    """


class MissingExtraError(ModuleNotFoundError):
    """A package is missing that one of the extras of `arrows` installs.

    Args:
        needs: what needs it.
        extra: the name of the extra.
        module: the module that could not be imported.

    Example:
        >>> print(MissingExtraError("the ranks of a job train together by mpi4py", "mpi", "mpi4py"))
        the ranks of a job train together by mpi4py: pip install 'arrows[mpi]'
    """

    def __init__(self, needs: str, extra: str, module: str | None) -> None:
        super().__init__(f"{needs}: pip install 'arrows[{extra}]'", name=module)
        self.extra = extra


# Messages name the line where a user made a block, which is never in the package; but the command line and
# the ready models make blocks as a user does.
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIKE_USERS = tuple(os.path.join(_ROOT, room) + os.sep for room in ("cli", "models"))


def is_inside(file: str) -> bool:
    """Whether a source file belongs to the rooms of the library whose lines messages do not name.

    >>> is_inside(__file__), is_inside("model.py")
    (True, False)
    """
    return file.startswith(_ROOT) and not file.startswith(_LIKE_USERS)


def _notebook_cell(file: str) -> str | None:
    """The name of the cell of this notebook that IPython compiled under a file's name, such as `In[3]`."""
    shell = ipython.get_ipython() if (ipython := sys.modules.get("IPython")) is not None else None
    named = shell.compile.format_code_name(file) if shell is not None else None
    return named[1] if named is not None else None


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A place in the user's source, printed `model.py:41`.

    Attributes:
        file: path of the source file.
        line: line number, from 1; 0 if unknown.

    Example:
        >>> str(SourceLine("/home/me/model.py", 41))
        'model.py:41'
    """

    file: str
    line: int

    def __deepcopy__(self, memo: object) -> Self:
        return self  # each block has one, and so this is most of the time that a copy of an expression takes

    def __str__(self) -> str:
        if not self.line:
            return self.file
        return f"{_notebook_cell(self.file) or os.path.basename(self.file)}:{self.line}"

    @classmethod
    def here(cls) -> SourceLine:
        """The line of the innermost frame that lies outside the library."""
        frame = sys._getframe(1)
        while is_inside(frame.f_code.co_filename) or (
            # the one that `@dataclass` writes
            frame.f_code.co_filename == "<string>" and frame.f_code.co_name == "__init__"
        ):
            if frame.f_back is None:
                return cls("<unknown>", 0)
            frame = frame.f_back
        return cls(frame.f_code.co_filename, frame.f_lineno)


@dataclass(frozen=True, slots=True)
class Side:
    """One party to a type error: its name, its type as text, and where it was made."""

    name: str
    type: str
    site: SourceLine | None = None


class Message(str):  # noqa: SLOT000  the parts are read by name, and pickled with the text
    """The text of an error, with the parts that it consists of; those that it does not have are empty.

    Attributes:
        attempt: what was attempted; the whole text of a type error without parts.
        sides: the blocks that take part.
        at: path down the expression.
        reason: why this is an error; the whole text of an input error without parts.
        hint: how to repair it.
        example: the example's place in the batch or stream, from 0; None if that is not known.
        path: the place in the example, such as `tree > word`; empty for the example itself.

    Example:
        >>> message("cannot compose f >> g", hint="drop g").hint
        'drop g'
    """

    attempt: str = ""
    sides: tuple[Side, ...] = ()
    at: str = ""
    reason: str = ""
    hint: str = ""
    example: int | None = None
    path: str = ""

    @classmethod
    def of(cls, text: str, **parts: Any) -> Self:
        """The text with its parts."""
        self = cls(text)
        self.__dict__.update(parts)
        return self

    def placed(self, place: str) -> Self:
        """The text of an input error with a place before it: a file and a line.

        >>> input_message(None, "", "expected int").placed("numbers.jsonl:4")
        'numbers.jsonl:4: expected int'
        """
        return self.of(f"{place}: {self}", **self.__dict__)

    def hinting(self, hint: str) -> Self:
        """The text of an input error with another hint.

        >>> print(input_message(None, "", "expected int", hint="use Scalar").hinting("make a list of it"))
        expected int
          hint  make a list of it
        """
        text = self.removesuffix(f"{_HINT}{self.hint}")
        return self.of(f"{text}{_HINT}{hint}", **{**self.__dict__, "hint": hint})


def unhashed(key: object, error: Exception) -> str:
    """Says why a key cannot be hashed. The `__hash__` and `__repr__` of a user's object may raise anything.

    Example:
        >>> try:
        ...     hash([1])
        ... except TypeError as error:
        ...     print(unhashed([1], error))
        [1] cannot be hashed
    """
    try:
        text = repr(key)
    except Exception:  # noqa: BLE001 (a user's own __repr__)
        text = f"a value of type {type(key).__name__}"
    why = "" if isinstance(error, TypeError) else f": it raised {type(error).__name__}: {error}"
    return f"{text} cannot be hashed{why}"


def message(
    attempt: str,
    sides: Iterable[Side] = (),
    at: str = "",
    reason: str = "",
    hint: str = "",
) -> Message:
    """Builds the text of a type error; all type errors have this form.

    The arguments are the attributes of `Message`; empty ones are left out. The reason keeps its line breaks,
    and lines wrap at `WIDTH` columns.

    Example:
        >>> print(
        ...     message(
        ...         "cannot compose f >> g",
        ...         [Side("f", "Input -> float32"), Side("g", "Void -> Void")],
        ...         at="step 1 of 2",
        ...         reason="f gives float32, g takes Void",
        ...         hint="drop g",
        ...     )
        ... )
        cannot compose f >> g
          f     Input -> float32
          g     Void -> Void
          at    step 1 of 2
          f gives float32, g takes Void
          hint  drop g
    """
    rows = list(sides)
    names = max((len(s.name) for s in rows), default=0)
    names = max(min(names, 40), 4)
    label = names if names <= 24 else 4
    types = min(max((len(s.type) for s in rows), default=0), 60)
    lines = [attempt]
    for side in rows:
        place = str(side.site) if side.site is not None else ""
        lines.append(f"  {side.name:<{names}}  {side.type:<{types}}  {place}".rstrip())
    if at:
        lines.append(f"  {'at':<{label}}  {at}")
    for line in reason.splitlines():
        lines += _wrap(line, initial_indent="  ", subsequent_indent="  ")
    if hint:
        lines += _wrap(hint, initial_indent=f"  {'hint':<{label}}  ", subsequent_indent=" " * (label + 4))
    return Message.of("\n".join(lines), attempt=attempt, sides=tuple(rows), at=at, reason=reason, hint=hint)


def input_message(
    example: int | None,
    path: str,
    reason: str,
    block: str = "",
    site: SourceLine | None = None,
    hint: str = "",
) -> Message:
    """Builds the text of an input error: the reason, and the path to the place in the example.

    `example` is the example's place in the batch, from 0, or None. `block` is the block that read it, `site`
    the line that made the block, and `hint` a repair.

    Example:
        >>> print(
        ...     input_message(
        ...         17, "tree > word", "expected int, got None", "Scalar('int32')", SourceLine("model.py", 3)
        ...     )
        ... )
        example 17: tree > word: expected int, got None
          in  Scalar('int32')  model.py:3
    """
    start = [] if example is None else [f"example {example}"]
    text = ": ".join([*start, *([path] if path else []), reason])
    if block:
        text += f"\n  in  {block}" + (f"  {site}" if site is not None else "")
    if hint:
        text += f"{_HINT}{hint}"
    return Message.of(text, reason=reason, hint=hint, example=example, path=path)


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
