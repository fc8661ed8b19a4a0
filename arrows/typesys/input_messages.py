"""The text of an error about an example, and its parts."""

from __future__ import annotations

from typing import Self

_HINT = "\n  hint  "


class InputMessage(str):  # noqa: SLOT000  as `Message`
    """The text of an `InputError`, with the parts that it consists of.

    Attributes:
        example: the example's place in the batch or stream, from 0; None if that is not known.
        path: the place in the example, such as `tree > word`; empty for the example itself.
        reason: what does not fit there; the whole text where there are no parts.

    Example:
        >>> InputMessage("expected int").reason
        'expected int'
    """

    example: int | None = None
    path: str = ""
    reason: str

    def __new__(cls, text: str) -> Self:
        self = super().__new__(cls, text)
        self.reason = str(self)
        return self

    def placed(self, place: str) -> InputMessage:
        """The same, with a place before it: a file and a line.

        >>> InputMessage("expected int").placed("numbers.jsonl:4")
        'numbers.jsonl:4: expected int'
        """
        text = InputMessage(f"{place}: {self}")
        text.example, text.path, text.reason = self.example, self.path, self.reason
        return text

    @property
    def hint(self) -> str:
        """What to do about it; empty if that is not obvious."""
        return self.partition(_HINT)[2]

    def hinting(self, hint: str) -> InputMessage:
        """The same, with another hint.

        >>> print(InputMessage("expected int\\n  hint  read it by Scalar").hinting("make a list of it"))
        expected int
          hint  make a list of it
        """
        text = InputMessage(f"{self.partition(_HINT)[0]}{_HINT}{hint}")
        text.example, text.path, text.reason = self.example, self.path, self.reason
        return text

    @property
    def without_example(self) -> str:
        """The text without the number of the example, for those that are called otherwise."""
        return self if self.example is None else self.removeprefix(f"example {self.example}: ")
