"""Programs that tests write as text, as `str` of a program shows them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from arrows import ops
from arrows.engine.cuda import KERNELS
from arrows.engine.program import instructions as made, program as programs
from arrows.layers.initializers import zeros
from arrows.ops import INVARIANT, ROW, Equation, Parameter, Var
from arrows.typesys.parse import parse_type

_TYPED = r"(\w+(?:\[[\d, ]*\])?)( row| elements \d+)?"
_VALUE = re.compile(rf"%(\d+): {_TYPED}(?: in (.+?))?")
_RANGE = re.compile(r"%(\d+)\[\.\.\., (\d+):(\d+)((?:, :)*)\]")
_OPERAND = re.compile(rf"operand \d+: {_TYPED} of slab (\d+)(, early)?(, differentiated)?")
_GRADIENT = re.compile(r"gradient of (\S+)\[(.*)\] \+= (.*)")


@dataclass(frozen=True, eq=False)
class Owner:
    """Stands for the layer of a parameter."""

    name: str


def written(text: str) -> programs.Program:
    """The program of a text; empty lines and lines that begin with ``#`` are passed over."""
    lines = [line.strip() for line in text.splitlines()]
    return _Reader([line for line in lines if line and not line.startswith("#")]).program()


def _typed(type: str, level: str | None) -> tuple[Any, int]:
    rows = INVARIANT if level is None else ROW if level == " row" else int(level.split()[-1])
    return parse_type(type), rows


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)))


def _literal(text: str) -> Any:
    return eval(text, {"inf": np.inf, "nan": np.nan})


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        found = [match for line in lines if (match := _VALUE.fullmatch(line.partition(" = ")[0]))]
        self.values = {int(match[1]): Var(int(match[1]), *_typed(match[2], match[3])) for match in found}
        self.memory = {self.values[int(match[1])]: self._memory(match[4]) for match in found if match[4]}
        self.parameters: dict[str, tuple[Owner, Parameter]] = {}
        self.owners: dict[str, Owner] = {}
        self.next = max(self.values, default=-1) + 1

    def program(self) -> programs.Program:
        head: dict[str, Any] = {"operands": (), "results": (), "name": self.lines[0].removeprefix("program ")}
        regions: dict[str, list[Any]] = {}
        scratch: dict[str, list[Any]] = {}
        equations: list[Equation] | None = None  # of a map that is open
        for line in self.lines[1:]:
            if line in programs.REGIONS:
                region = line
                regions[region], scratch[region] = [], []
            elif not regions:
                self._head(head, line)
            elif line.startswith("scratch "):
                type, level = _typed(*re.fullmatch(rf"scratch \d+: {_TYPED}", line).groups())  # type: ignore[union-attr]
                scratch[region].append(programs.Slot(level, type.shape, type.dtype))
            elif line == "map":
                equations = []
            elif equations is None:
                regions[region].append(self._instruction(line))
            elif line.startswith("->"):
                regions[region].append(made.RowMap(tuple(equations), self._reads(line)))
                equations = None
            else:
                equations.append(self._equation(*line.split(" = ", 1)))
        return programs.Program(
            **head,
            regions=MappingProxyType({name: tuple(each) for name, each in regions.items() if each}),
            memory=MappingProxyType(self.memory),
            scratch=MappingProxyType({name: tuple(each) for name, each in scratch.items() if each}),
        )

    def _head(self, head: dict[str, Any], line: str) -> None:
        if line == "for kernels":
            head["kernels"] = KERNELS
        elif match := _OPERAND.fullmatch(line):
            type, level = _typed(match[1], match[2])
            early, wanted = match[4] is not None, match[5] is not None
            operand = programs.Operand(
                type=type, level=level, slab=int(match[3]), early=early, differentiated=wanted
            )
            head["operands"] += (operand,)
        elif match := re.fullmatch(rf"result \d+: {_TYPED}", line):
            head["results"] += (_typed(*match.groups()),)
        elif match := re.fullmatch(r"distinct rows of operand (\d+):(.*)", line):
            lists = dict(part.split(" ", 1) for part in match[2].strip().split("; ") if part)
            spread, summed, products = (
                self._reads(lists.get(word, "")) for word in ("spread", "summed", "products")
            )
            head["distinct"] = programs.Distinct(int(match[1]), spread, summed, frozenset(products))
        else:
            raise AssertionError(line)

    def _memory(self, text: str) -> Any:
        if part := _RANGE.fullmatch(text):
            whole, start, stop = (int(part[n]) for n in (1, 2, 3))
            return programs.RangeOf(self.values[whole], -1 - part[4].count(":"), start, stop)
        word, number = text.split(" ")
        return programs.Place(word, int(number))

    def _reads(self, text: str) -> tuple[Var, ...]:
        return tuple(self.values[number] for number in map(int, re.findall(r"%(\d+)", text)))

    def _instruction(self, line: str) -> Any:
        if match := _GRADIENT.fullmatch(line):
            ranges = None if match[2] == "sparse" else re.findall(r"(\d+):(\d+)", match[2])
            region = None if ranges is None else tuple((int(start), int(stop)) for start, stop in ranges)
            return made.Accumulate(*self.parameters[match[1]], region, *self._reads(match[3]))
        if match := re.fullmatch(r"result (\d+) = (.*)", line):
            return made.Store(int(match[1]), *self._reads(match[2]))
        if match := re.fullmatch(r"scatter (.*) \+= (.*)", line):
            return made.Scatter(_numbers(match[1]), *self._reads(match[2]))
        left, right = line.split(" = ", 1)
        (result,) = self._reads(left.partition(":")[0])
        word, _, rest = right.partition(" ")
        match word:
            case "constant":
                array = np.array(_literal(rest), result.type.dtype)
                shape = result.type.shape
                array = array.reshape(shape) if array.ndim else np.full(shape, array)
                return made.LoadConstant(result, array)
            case "parameter":
                if rest not in self.parameters:
                    layer, _, own = rest.rpartition("/")
                    owner = self.owners.setdefault(layer, Owner(layer))
                    spec = Parameter(own, result.type.shape, result.type.dtype, zeros)
                    self.parameters[rest] = owner, spec
                return made.LoadParameter(result, *self.parameters[rest])
            case "dropout":
                return made.LoadKeys(result)
            case "gather":
                return made.Gather(result, _numbers(rest))
            case "gradient":
                return made.Pull(result, int(rest))
            case "sum":
                sparse, rest = rest.startswith("sparse "), rest.removeprefix("sparse ")
                if rest.startswith("%"):
                    return made.SumRows(result, *self._reads(rest), sparse)
                return made.SumRows(result, self._summed(rest, result.type), sparse)
        return self._equation(left, right)

    def _equation(self, left: str, right: str) -> Equation:
        (result,) = self._reads(left.partition(":")[0])
        return Equation(*self._call(right), result)

    def _summed(self, text: str, type: Any) -> Equation:
        """An equation that is summed: the text does not name its result, which gets a number of its own."""
        primitive, reads, attributes = self._call(text)
        level = ROW if primitive.collapses else max((var.rows for var in reads), default=ROW)
        self.next += 1
        return Equation(primitive, reads, attributes, Var(self.next - 1, type, level))

    def _call(self, text: str) -> tuple[Any, tuple[Var, ...], tuple[tuple[str, Any], ...]]:
        name, operands, rest = re.fullmatch(r"(\w+)\(((?:%\d+(?:, )?)*)(.*)\)", text).groups()  # type: ignore[union-attr]
        attributes = eval(f"dict({rest})", {"inf": np.inf, "nan": np.nan})
        return ops.get(name), self._reads(operands), tuple(sorted(attributes.items()))
