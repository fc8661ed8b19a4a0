"""Parses types from text: the inverse of `notation`, with an explicit stack instead of recursion."""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TypeAlias

from arrows.typesys.errors import ArrowTypeError, ArrowValueError, message
from arrows.typesys.quoting import quoted
from arrows.typesys.types import DTYPES, Broadcast, Input, Sequence, Tensor, Tuple, Type, Void

TOKEN = re.compile(
    r"""\s*(?:
        (?P<string>[bB]?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"))
      | (?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
      | (?P<word>[^\W\d]\w*)
      | (?P<mark>->|[()\[\]:,.])
      | (?P<end>$)
    )""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(slots=True)
class _OpenTuple:
    """A tuple whose closing bracket is still to come, with its items so far."""

    items: list[Type] = field(default_factory=list)
    labels: list[Hashable] = field(default_factory=list)
    label: tuple[Hashable] | None = None  # of the next item; in a tuple, since a label may be None itself


_Open: TypeAlias = _OpenTuple | type[Sequence] | type[Broadcast]
"""What an open bracket belongs to: a tuple, or the class that makes a type of its one element."""


def parse_type(text: str) -> Type:
    """Parses a type in the notation in which types are printed.

    The notation is `Input`, `Void`, `float32`, `float32[300]`, `Sequence(T)`, `Broadcast(T)`, `(T, U)`,
    `(left: T, right: U)`, `(T,)`; the short-hands `[3]` and `[3, int32]` are allowed too.

    Raises:
        ArrowTypeError: the text is not a type; the message names the first character that does not fit.

    Example:
        >>> parse_type("(words: Sequence(int32), scale: float64[2, 3])")
        (words: Sequence(int32), scale: float64[2, 3])
    """
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = self._tokens()
        self.at = 0

    def _tokens(self) -> list[tuple[str, str, int]]:
        """The kind, text and position of each token."""
        tokens: list[tuple[str, str, int]] = []
        place = 0
        while True:
            match = TOKEN.match(self.text, place)
            if match is None:
                place += len(self.text[place:]) - len(self.text[place:].lstrip())
                raise self._error(place, f"is {self.text[place]!r}, which no type contains")
            kind = str(match.lastgroup)
            tokens.append((kind, match.group(kind), match.start(kind)))
            if kind == "end":
                return tokens
            place = match.end()

    def read(self) -> Type:
        self.closing = self._brackets()
        stack: list[_Open] = []
        while True:
            kind, word, place = self.tokens[self.at]
            finished: Type | None = None
            around = stack[-1] if stack else None
            if isinstance(around, _OpenTuple) and around.label is None:
                if self._is(")"):
                    stack.pop()
                    finished = self._close(around)
                elif (label := self._label()) is not None:
                    around.label = label
                    continue
            if finished is None:
                if self._is("("):
                    self.at += 1
                    stack.append(_OpenTuple())
                    continue
                if kind == "word" and word in ("Sequence", "Broadcast"):
                    self.at += 1
                    self._expect("(", f"after {word}")
                    stack.append(Sequence if word == "Sequence" else Broadcast)
                    continue
                finished = self._leaf(kind, word, place)
            while True:  # put the finished type into the bracket around it
                if not stack:
                    if self.tokens[self.at][0] != "end":
                        raise self._error(self.tokens[self.at][2], "comes after the end of the type")
                    return finished
                around = stack[-1]
                if not isinstance(around, _OpenTuple):
                    self._expect(")", f"after the element of the {around.__name__}")
                    stack.pop()
                    finished = around(finished)
                    continue
                labelled = around.label is not None
                if around.items and labelled != bool(around.labels):
                    differ = "a label, but others have none" if labelled else "no label, but others have one"
                    hint = "label all items of a tuple, or none"
                    raise self._error(place, f"is the item {finished}, which has {differ}", hint)
                if around.label is not None:
                    around.labels.append(around.label[0])
                    around.label = None
                around.items.append(finished)
                if self._is(","):
                    self.at += 1
                    break
                end = self.tokens[self.at][2]
                if not self._is(")"):
                    raise self._error(end, "should be a comma or a closing bracket")
                if len(around.items) == 1:
                    raise self._error(
                        end, "closes a tuple of one item without its comma", f"write ({finished},)"
                    )
                stack.pop()
                finished = self._close(around)

    def _close(self, done: _OpenTuple) -> Type:
        """Makes the tuple that ends at the current token."""
        place = self.tokens[self.at][2]
        self.at += 1
        try:
            return Tuple(tuple(done.items), tuple(done.labels) if done.labels else None)
        except ArrowValueError as error:
            raise self._error(place, f"ends a tuple where {error}") from None

    def _is(self, mark: str) -> bool:
        """Whether the next token is this mark."""
        return self.tokens[self.at][:2] == ("mark", mark)

    def _leaf(self, kind: str, word: str, place: int) -> Type:
        self.at += 1
        if kind == "word":
            if word == "Input":
                return Input()
            if word == "Void":
                return Void()
            if word in DTYPES:
                return Tensor(self._shape()[0], word)
            raise self._error(
                place,
                f"is {quoted(word)}, which is not a type",
                "Input, Void, Sequence(T), Broadcast(T), a tuple of types, or an element type with its "
                f"sizes, as float32[300]; the element types are {', '.join(sorted(DTYPES))}",
            )
        if kind == "mark" and word == "[":
            self.at -= 1
            return Tensor(*self._shape(short=True))
        token = "the end of the text" if kind == "end" else quoted(word)
        raise self._error(place, f"is {token}, where a type is expected")

    def _shape(self, short: bool = False) -> tuple[tuple[int, ...], str]:
        """Reads the sizes in square brackets, if there are any; a short-hand may end in an element type."""
        sizes: list[int] = []
        dtype = "float32"
        if not self._is("["):
            return (), dtype
        self.at += 1
        while not self._is("]"):
            kind, word, place = self.tokens[self.at]
            word = word.strip("'\"")
            if kind == "number" and word.isascii() and word.isdigit() and len(word) < 19:
                sizes.append(int(word))
            elif short and word in DTYPES:
                dtype = word
            else:
                raise self._error(
                    place, f"is {quoted(word)}, where a size is expected", "a shape is [3] or [3, 4]"
                )
            self.at += 1
            if self._is(",") and dtype == "float32":
                self.at += 1
            elif not self._is("]"):
                raise self._error(self.tokens[self.at][2], "should be a comma or a closing bracket")
        self.at += 1
        return tuple(sizes), dtype

    def _label(self) -> tuple[Hashable] | None:
        """Reads a label and its colon, if they come next; else None."""
        kind, word, place = self.tokens[self.at]
        last = self.closing.get(self.at, self.at)
        if self.tokens[min(last + 1, len(self.tokens) - 1)][:2] != ("mark", ":"):
            return None
        value: Hashable = word
        if kind != "word" or word in ("None", "True", "False"):
            end = self.tokens[last]
            try:
                value = ast.literal_eval(self.text[place : end[2] + len(end[1])])
                hash(value)
            except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
                raise self._error(place, "begins a label that cannot be read") from None
        self.at = last + 2
        return (value,)

    def _brackets(self) -> dict[int, int]:
        """The numbers of the tokens that close round brackets, by the numbers of those that open them."""
        closing: dict[int, int] = {}
        opened: list[int] = []
        for i, (kind, word, _) in enumerate(self.tokens):
            if kind == "mark" and word == "(":
                opened.append(i)
            elif kind == "mark" and word == ")" and opened:
                closing[opened.pop()] = i
        return closing

    def _expect(self, mark: str, where: str) -> None:
        kind, word, place = self.tokens[self.at]
        if kind != "mark" or word != mark:
            instead = "the text ends" if kind == "end" else f"there is {quoted(word)}"
            raise self._error(place, f"should be {mark!r} {where}, but {instead}")
        self.at += 1

    def _error(self, place: int, reason: str, hint: str = "") -> ArrowTypeError:
        return ArrowTypeError(
            message(
                f"cannot read {quoted(self.text)} as a type",
                reason=f"character {place + 1} {reason}",
                hint=hint,
            )
        )
