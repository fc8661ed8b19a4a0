"""Reading types from text: the inverse of `notation`, with an explicit stack."""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable

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


class _Open:
    """A bracket that is not closed yet, with what stands in it so far."""

    __slots__ = ("items", "kind", "label", "labels")

    def __init__(self, kind: str) -> None:
        self.kind = kind  # "tuple", "Sequence" or "Broadcast"
        self.items: list[Type] = []
        self.labels: list[Hashable] = []
        self.label: tuple[Hashable] | None = None  # of the item that comes next


def parse_type(text: str) -> Type:
    """The type that a text means.

    Args:
        text: the notation in which types are printed: `Input`, `Void`, `float32`, `float32[300]`,
            `Sequence(T)`, `Broadcast(T)`, `(T, U)`, `(left: T, right: U)`, `(T,)`; also the short-hands `[3]`
            and `[3, int32]`.

    Raises:
        ArrowTypeError: the text is no type; the message says where it stops being one.

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
        """Kind, text and place of each token."""
        tokens: list[tuple[str, str, int]] = []
        place = 0
        while True:
            match = TOKEN.match(self.text, place)
            if match is None:
                place += len(self.text[place:]) - len(self.text[place:].lstrip())
                raise self._error(place, f"is {self.text[place]!r}, which stands in no type")
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
            if stack and stack[-1].kind == "tuple" and stack[-1].label is None:
                if word == ")" and kind == "mark":
                    finished = self._close(stack)
                elif (label := self._label()) is not None:
                    stack[-1].label = label
                    continue
            if finished is None:
                if word == "(" and kind == "mark":
                    self.at += 1
                    stack.append(_Open("tuple"))
                    continue
                if kind == "word" and word in ("Sequence", "Broadcast"):
                    self.at += 1
                    self._expect("(", f"after {word}")
                    stack.append(_Open(word))
                    continue
                finished = self._leaf(kind, word, place)
            while True:  # a finished type goes into what is open around it
                if not stack:
                    if self.tokens[self.at][0] != "end":
                        raise self._error(self.tokens[self.at][2], "comes after the end of the type")
                    return finished
                around = stack[-1]
                if around.kind != "tuple":
                    self._expect(")", f"after the element of the {around.kind}")
                    stack.pop()
                    finished = Sequence(finished) if around.kind == "Sequence" else Broadcast(finished)
                    continue
                if around.label is None and around.labels:
                    raise self._error(
                        place,
                        f"is the item {finished}, which has no label, and others have one",
                        "label all items of a tuple, or none",
                    )
                if around.label is not None:
                    if len(around.labels) < len(around.items):
                        raise self._error(
                            place,
                            f"is the item {finished}, which has a label, and others have none",
                            "label all items of a tuple, or none",
                        )
                    around.labels.append(around.label[0])
                    around.label = None
                around.items.append(finished)
                mark = self.tokens[self.at]
                if mark[1] == "," and mark[0] == "mark":
                    self.at += 1
                    break
                if mark[1] == ")" and mark[0] == "mark":
                    if len(around.items) == 1 and not self._is_comma(self.at - 1):
                        raise self._error(
                            mark[2], "closes a tuple of one item without its comma", f"write ({finished},)"
                        )
                    finished = self._close(stack)
                    continue
                raise self._error(mark[2], "should be a comma or a closing bracket", "")

    def _close(self, stack: list[_Open]) -> Type:
        """The tuple that ends here."""
        place = self.tokens[self.at][2]
        self.at += 1
        done = stack.pop()
        try:
            return Tuple(tuple(done.items), tuple(done.labels) if done.labels else None)
        except ArrowValueError as error:
            raise self._error(place, f"ends a tuple where {error}") from None

    def _is_comma(self, at: int) -> bool:
        return self.tokens[at][1] == "," and self.tokens[at][0] == "mark"

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
                f"is {quoted(word)}, which is no type",
                "Input, Void, Sequence(T), Broadcast(T), a tuple of types, or an element type with its "
                f"sizes, as float32[300]; the element types are {', '.join(sorted(DTYPES))}",
            )
        if kind == "mark" and word == "[":
            self.at -= 1
            sizes, dtype = self._shape(short=True)
            return Tensor(sizes, dtype)
        token = "the end of the text" if kind == "end" else quoted(word)
        raise self._error(place, f"is {token}, and a type should stand there")

    def _shape(self, short: bool = False) -> tuple[tuple[int, ...], str]:
        """Sizes in square brackets, if there are any; a short-hand may end in an element type."""
        sizes: list[int] = []
        dtype = "float32"
        if self.tokens[self.at][:2] != ("mark", "["):
            return (), dtype
        self.at += 1
        while self.tokens[self.at][:2] != ("mark", "]"):
            kind, word, place = self.tokens[self.at]
            word = word.strip("'\"")
            if kind == "number" and word.isascii() and word.isdigit() and len(word) < 19:
                sizes.append(int(word))
            elif short and word in DTYPES:
                dtype = word
            else:
                raise self._error(
                    place, f"is {quoted(word)}, and a size should stand there", "a shape is [3] or [3, 4]"
                )
            self.at += 1
            if self._is_comma(self.at) and dtype == "float32":
                self.at += 1
            elif self.tokens[self.at][:2] != ("mark", "]"):
                raise self._error(self.tokens[self.at][2], "should be a comma or a closing bracket")
        self.at += 1
        return tuple(sizes), dtype

    def _label(self) -> tuple[Hashable] | None:
        """The label that begins here and its colon, if one does."""
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
        """For each opening round bracket, the token that closes it."""
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
            raise self._error(place, f"should be {mark!r} {where}, and {instead}")
        self.at += 1

    def _error(self, place: int, reason: str, hint: str = "") -> ArrowTypeError:
        return ArrowTypeError(
            message(
                f"cannot read {quoted(self.text)} as a type",
                reason=f"character {place + 1} {reason}",
                hint=hint,
            )
        )
