"""Reads the lines of a program's text that make or read values."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

from arrows import ops
from arrows.engine.program.instructions import (
    Accumulate,
    Call,
    Gather,
    Instruction,
    LoadConstant,
    LoadKeys,
    LoadParameter,
    Pull,
    Scatter,
    Store,
    SumRows,
    instruction_of,
)
from arrows.engine.program.literals import NotReadable, array_of, attributes_of, numbers_of, ranges_of, zeros
from arrows.engine.program.program import (
    GatheredRows,
    Held,
    Memory,
    PulledRows,
    RangeOf,
    ResultRows,
    ScatterRows,
    Scratch,
)
from arrows.ops import INVARIANT, ROW, Equation, Parameter, Primitive, Var
from arrows.typesys import types as T
from arrows.typesys.parse import parse_type

TYPED = r"(?P<type>\w+(?:\[[\d, ]*\])?)(?P<level> row| elements \d+)?"
"""Pattern of a type with a level."""

_MADE = re.compile(rf"%(\d+): {TYPED}(?: in (?P<memory>.+?))?")
_CALL = re.compile(r"([^\W\d]\w*)\(((?:%\d+(?:, )?)*)(.*)\)")
_RANGE = re.compile(r"%(\d+)\[\.\.\., (\d+):(\d+)((?:, :)*)\]")
_ACCUMULATE = re.compile(r"gradient of (.+)\[(sparse|[\d:, ]*)\] \+= (.*)")
_MEMORIES: dict[str, Callable[[int], Memory]] = {
    "result": ResultRows,
    "kept": Held,
    "saved": lambda number: Held(number, backward=True),
    "scratch": Scratch,
    "scatter": ScatterRows,
    "gathered": GatheredRows,
    "gradient": PulledRows,
}


@dataclass(frozen=True, eq=False, slots=True)
class NamedOwner:
    """Stands for the layer of a parameter in a program that was read from text."""

    name: str


def typed(match: re.Match[str]) -> tuple[T.Tensor, int]:
    """The type and the level that `TYPED` has matched."""
    type = parse_type(match["type"])
    if not isinstance(type, T.Tensor):
        raise NotReadable(f"{type} is no tensor")
    if match["level"] is None:
        return type, INVARIANT
    return type, ROW if match["level"] == " row" else int(match["level"].removeprefix(" elements "))


class LineReader:
    """Reads lines, in three rounds: notes all values, then where they lie, then reads what is done to them.

    Attributes:
        values: the values that the program makes, by number.
        memory: where they lie.

    Args:
        parameters: layer and description by name; the others get a `NamedOwner`.
    """

    def __init__(self, parameters: Mapping[str, tuple[object, Parameter]]) -> None:
        self.values: dict[int, Var] = {}
        self.memory: dict[Var, Memory] = {}
        self._parameters = dict(parameters)
        self._owners: dict[str, NamedOwner] = {}
        self._unnamed = 0  # how many values there are that the text does not name

    def note_value(self, line: str) -> None:
        """Notes the value that a line makes, if it makes one."""
        if match := _MADE.fullmatch(line.partition(" = ")[0]):
            var = Var(int(match[1]), *typed(match))
            if self.values.setdefault(var.id, var) != var:
                raise NotReadable(f"%{var.id} is {self.values[var.id]} elsewhere")

    def note_memory(self, line: str) -> None:
        """Notes where the value lies that a line makes, and in which type."""
        match = _MADE.fullmatch(line.partition(" = ")[0])
        if match is None:
            return
        var = self.values[int(match[1])]
        if match["memory"] is not None:
            self.memory[var] = self._memory(match["memory"])

    def _memory(self, text: str) -> Memory:
        if part := _RANGE.fullmatch(text):
            return RangeOf(self._read(part[1]), -1 - part[4].count(":"), int(part[2]), int(part[3]))
        word, _, number = text.partition(" ")
        if word not in _MEMORIES or not number.isdecimal():
            raise NotReadable(f"{text!r} is no memory")
        return _MEMORIES[word](int(number))

    def _read(self, number: str) -> Var:
        try:
            return self.values[int(number)]
        except KeyError:
            raise NotReadable(f"nothing makes %{number}") from None

    def reads(self, text: str) -> tuple[Var, ...]:
        """``%0, %1``"""
        words = [word.strip() for word in text.split(",") if word.strip()]
        if not all(re.fullmatch(r"%\d+", word) for word in words):
            raise NotReadable(f"expected values such as %4, got {text.strip()!r}")
        return tuple(self._read(word[1:]) for word in words)

    def _one(self, text: str) -> Var:
        reads = self.reads(text)
        if len(reads) != 1:
            raise NotReadable(f"expected one value, got {text.strip()!r}")
        return reads[0]

    def instruction(self, line: str) -> Instruction:
        """The instruction that a line means."""
        if match := _ACCUMULATE.fullmatch(line):
            owner, spec = self._parameter(match[1], None)
            region = None if match[2] == "sparse" else tuple(ranges_of(match[2]))
            return Accumulate(owner, spec, region, self._one(match[3]))
        if match := re.fullmatch(r"result (\d+) = (.*)", line):
            return Store(int(match[1]), self._one(match[2]))
        if match := re.fullmatch(r"scatter ([\d, ]+) \+= (.*)", line):
            return Scatter(numbers_of(match[1]), self._one(match[2]))
        result, right = self._made(line)
        word, _, rest = right.partition(" ")
        if "(" in word:
            return instruction_of(self._equation(result, right))
        match word:
            case "constant":
                return LoadConstant(result, array_of(result.type, rest))
            case "parameter":
                return LoadParameter(result, *self._parameter(rest, result.type))
            case "dropout" if rest == "keys":
                return LoadKeys(result)
            case "gather":
                return Gather(result, numbers_of(rest))
            case "gradient" if rest.isdecimal():
                return Pull(result, int(rest))
            case "call":
                return Call(self._equation(result, rest))
            case "sum":
                sparse = rest.startswith("sparse ")
                rest = rest.removeprefix("sparse ")
                if rest.startswith("%"):
                    return SumRows(result, self._one(rest), sparse=sparse)
                return SumRows(result, None, self._summed(rest, result.type), sparse)
        raise NotReadable("no instruction")

    def _made(self, line: str) -> tuple[Var, str]:
        """The value that a line makes, and the right side."""
        left, _, right = line.partition(" = ")
        match = _MADE.fullmatch(left)
        if match is None or not right:
            raise NotReadable("no instruction")
        return self.values[int(match[1])], right

    def equation(self, line: str) -> Equation:
        """The equation that a line of a `map` means."""
        return self._equation(*self._made(line))

    def _equation(self, result: Var, text: str) -> Equation:
        primitive, reads, attributes = self._call(text)
        return Equation(primitive, reads, attributes, result)

    def _summed(self, text: str, type: T.Tensor) -> Equation:
        """An equation that is summed: the text does not name its result, which gets a number of its own."""
        primitive, reads, attributes = self._call(text)
        level = max((var.rows for var in reads), default=ROW)
        if primitive.collapses:
            level = ROW
        number = max(self.values) + 1 + self._unnamed
        self._unnamed += 1
        return Equation(primitive, reads, attributes, Var(number, type, level))

    def _call(self, text: str) -> tuple[Primitive, tuple[Var, ...], tuple[tuple[str, Hashable], ...]]:
        match = _CALL.fullmatch(text)
        if match is None:
            raise NotReadable("no equation")
        name, operands, rest = match.groups()
        return ops.get(name), self.reads(operands), tuple(sorted(attributes_of(rest)))

    def _parameter(self, name: str, type: T.Tensor | None) -> tuple[object, Parameter]:
        if name not in self._parameters:
            layer, _, own = name.rpartition("/")
            if not layer or not own:
                raise NotReadable(f"{name!r} is no parameter such as FC_1/weight")
            if type is None:
                raise NotReadable(f"nothing reads the parameter {name}, whose shape is not known")
            owner = self._owners.setdefault(layer, NamedOwner(layer))
            self._parameters[name] = owner, Parameter(own, type.shape, type.dtype, zeros)
        owner_and_spec = self._parameters[name]
        if type is not None and owner_and_spec[1].type != type:
            raise NotReadable(f"the parameter {name} is {owner_and_spec[1].type}")
        return owner_and_spec
