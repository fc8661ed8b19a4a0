"""A step of an optimizer in kernels: one launch for all dense parameters, and two for each table's rows.

The host waits for nothing, and sends tables of addresses only where arrays have moved since the last step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np

from arrows.engine.device import Device, KernelSource, kernel_source
from arrows.ops import RowSparse
from arrows.ops.arrays import Array
from arrows.training.optimizers.rule_code import FUNCTIONS, RuleCode

# A chunk is what the threads of a block read side by side.
_CHUNK = 1024
# Squares are added by this many threads, then by fewer, then by one: a fixed order, so that a step gives the
# same bits again.
_LANES, _GROUPS, _SUMS = 256, 64, 64

_NUMBER = """\
#ifndef OPTIMIZER_NUMBER
#define OPTIMIZER_NUMBER(i) optimizer_number(WORD(i))
FUNCTION double optimizer_number(long long bits) {
  union { long long bits; double number; } word;
  word.bits = bits;
  return word.number;
}
#endif
"""
_INDEX_TYPES = {"int32": "int", "int64": "long long"}
_FLOATS = ("float32", "float64")


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedRows:
    """The rows of a gradient in rising order, each row's values added up where it stands first.

    Attributes:
        gradient: as it was.
        rows: integers [m], in which a row may stand more than once; only the first counts.
        values: [m, ...]; zero where a row stands again.
    """

    gradient: RowSparse
    rows: Array
    values: Array


class Recorded(Protocol):
    """What a step does to one parameter.

    Attributes:
        state: the arrays of its state.
        count: how many steps have changed it, or each of its rows.
    """

    @property
    def state(self) -> Mapping[str, Array]: ...
    @property
    def count(self) -> Any: ...


class OptimizerKernels:
    """Updates parameters on one device that has kernels."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._tables: dict[tuple[int, ...], Array] = {}
        self._used: dict[tuple[int, ...], Array] = {}

    def takes(self, *arrays: Array) -> bool:
        """Whether kernels can read and write these arrays: whole rows of floats."""
        return all(array.dtype.name in _FLOATS and array.flags.c_contiguous for array in arrays)

    def begin(self) -> None:
        """Forgets the tables that the step before did not use; a new step begins."""
        self._tables, self._used = self._used, {}

    def merge(self, gradient: RowSparse) -> MergedRows:
        """Adds up the values of equal rows, without asking how many different ones there are."""
        device, xp = self._device, self._device.xp
        count, values = gradient.rows.shape[0], gradient.values
        order = xp.argsort(gradient.rows)
        rows = xp.take(gradient.rows, order, axis=0)
        sums = device.empty(values.shape, values.dtype)
        if values.size:
            width = values.size // count
            source = _merge_source(values.dtype.name, width, _index(rows), _index(order))
            self._launch(source, [count, order, rows, values, sums])
        return MergedRows(gradient=gradient, rows=rows, values=sums)

    def clip_scale(self, gradients: Iterable[Array], clip_norm: float) -> Array:
        """min(1, clip_norm / norm) of all gradients together, a float64 of the device."""
        device = self._device
        table = self._table([[array, int(array.dtype.name == "float64")] for array in gradients])
        sums = device.empty((_LANES * _GROUPS + _SUMS + 1,), "float64")
        first, second = device.address(sums), device.address(sums) + 8 * _LANES * _GROUPS
        self._launch(_SQUARES, [_LANES * _GROUPS, *table, first])
        self._launch(_ADD_SUMS, [_SUMS, first, second])
        self._launch(_SCALE, [1, second, second + 8 * _SUMS, clip_norm])
        return sums[-1:]

    def update(
        self,
        code: RuleCode,
        numbers: Sequence[float],
        changes: Sequence[tuple[Array, Array, Recorded]],
        scale: Array | None,
        unless: Array | None,
    ) -> None:
        """Takes a step on dense parameters.

        Args:
            code: of the rule.
            numbers: those of this step.
            changes: parameter, gradient and state.
            scale: float64 [1], by which gradients are multiplied.
            unless: float64 [1]; where it is 0, nothing changes.
        """
        table = self._table(
            [
                [parameter, gradient, *(change.state[slot] for slot in code.slots)]
                for parameter, gradient, change in changes
            ]
        )
        self._launch(_dense_source(code), [*table, unless, scale, *numbers])

    def update_rows(
        self,
        code: RuleCode,
        numbers: Sequence[float],
        parameter: Array,
        rows: MergedRows,
        change: Recorded,
        scale: Array | None,
        unless: Array | None,
    ) -> None:
        """Takes a step on some rows of a parameter, and counts it for them."""
        count = rows.rows.shape[0]
        if not rows.values.size:
            return
        source = _rows_source(code, rows.values.size // count, _index(rows.rows))
        slots = [change.state[slot] for slot in code.slots]
        words = [count, rows.rows, rows.values, parameter, change.count, unless, scale, *slots, *numbers]
        self._launch(source, words)
        self._launch(_count_source(_index(rows.rows)), [count, rows.rows, change.count, unless])

    def _table(self, tensors: Sequence[Sequence[Array | int]]) -> list[int]:
        """The words of a table: how many chunks, and where the chunks and the tensors are listed.

        A tensor is its size and what is given; a chunk is the number of its tensor, and its first number.
        """
        sizes = [tensor[0].size for tensor in tensors if not isinstance(tensor[0], int)]
        lines = [
            [size, *(each if isinstance(each, int) else self._device.address(each) for each in tensor)]
            for size, tensor in zip(sizes, tensors, strict=True)
        ]
        key = tuple(word for line in lines for word in line)
        if key not in self._used:
            known = self._tables.get(key)
            self._used[key] = self._send(lines, sizes) if known is None else known
        address = self._device.address(self._used[key])
        return [sum(-(-size // _CHUNK) for size in sizes), address + 8 * len(key), address]

    def _send(self, lines: Sequence[Sequence[int]], sizes: Sequence[int]) -> Array:
        chunks = [[number, at] for number, size in enumerate(sizes) for at in range(0, size, _CHUNK)]
        words = [word for line in (*lines, *chunks) for word in line]
        return self._device.to_device(np.array(words, np.int64))

    def _launch(self, source: KernelSource, words: Sequence[Array | int | float | None]) -> None:
        line = np.zeros((1, source.words), np.int64)
        for place, word in enumerate(words):
            if isinstance(word, float):
                line[0, place : place + 1].view(np.float64)[0] = word
            elif word is not None:
                line[0, place] = word if isinstance(word, int) else self._device.address(word)
        kernel = self._device.compile([source])[source.name]
        kernel.bind(line)(0)


def _index(rows: Array) -> str:
    return _INDEX_TYPES[rows.dtype.name]


@cache
def _dense_source(code: RuleCode) -> KernelSource:
    """Words: chunks, their list, the list of tensors, where 0 stops the step, scale, numbers."""
    names = ["parameter", "gradient", *(f"slot{number}" for number in range(len(code.slots)))]
    body = f"""\
  {_numbers(code, 5)}
  const double* unless = (const double*)WORD(3);
  if (unless && *unless == 0.0) return;
  ITEMS(i, WORD(0) * {_CHUNK}) {{
    const long long* chunk = (const long long*)WORD(1) + 2 * (i / {_CHUNK});
    const long long* tensor = (const long long*)WORD(2) + {len(names) + 1} * chunk[0];
    const long long at = chunk[1] + i % {_CHUNK};
    if (at >= tensor[0]) continue;
{_loads(code, [(name, f"(({code.type}*)tensor[{place}])[at]") for place, name in enumerate(names, 1)], 4)}
    {chr(10).join("    " + line for line in code.lines).strip()}
{_stores(code, [(name, f"(({code.type}*)tensor[{place}])[at]") for place, name in enumerate(names, 1)])}
  }}"""
    return _source(body, words=5 + code.numbers, columns=_CHUNK)


@cache
def _rows_source(code: RuleCode, width: int, index: str) -> KernelSource:
    """Words: rows, their list, values, parameter, counts, where 0 stops the step, scale, slots, numbers."""
    slots = [(f"slot{n}", f"(({code.type}*)WORD({7 + n}))[at]") for n in range(len(code.slots))]
    parameter = ("parameter", f"(({code.type}*)WORD(3))[at]")
    gradient = ("gradient", f"(({code.type}*)WORD(2))[i]")
    body = f"""\
  {_numbers(code, 7 + len(slots))}
  const double* unless = (const double*)WORD(5);
  const {index}* rows = (const {index}*)WORD(1);
  if (unless && *unless == 0.0) return;
  ITEMS(i, WORD(0) * {width}) {{
    const long long r = i / {width};
    const long long at = (long long)rows[r] * {width} + i % {width};
    if (r && rows[r - 1] == rows[r]) continue;
    double count = ((const double*)WORD(4))[rows[r]] + 1.0;
    (void)count;
{_loads(code, [parameter, gradient, *slots], 6)}
    {chr(10).join("    " + line for line in code.lines).strip()}
{_stores(code, [parameter, gradient, *slots])}
  }}"""
    return _source(body, words=7 + len(slots) + code.numbers, columns=width)


@cache
def _count_source(index: str) -> KernelSource:
    """Words: rows, their numbers, counts, where 0 stops the step.

    A launch of its own: the threads of a row's other columns read the count that one of them would change.
    """
    return _source(
        f"""\
  const double* unless = (const double*)WORD(3);
  const {index}* rows = (const {index}*)WORD(1);
  if (unless && *unless == 0.0) return;
  ITEMS(i, WORD(0)) if (!i || rows[i - 1] != rows[i]) ((double*)WORD(2))[rows[i]] += 1.0;""",
        words=4,
        columns=1,
    )


@cache
def _merge_source(dtype: str, width: int, index: str, order: str) -> KernelSource:
    """Words: rows, the order of the values, the rows in that order, values, sums."""
    kind = "float" if dtype == "float32" else "double"
    return _source(
        f"""\
  const {order}* order = (const {order}*)WORD(1);
  const {index}* rows = (const {index}*)WORD(2);
  ITEMS(i, WORD(0) * {width}) {{
    const long long first = i / {width};
    double sum = 0.0;
    if (!first || rows[first - 1] != rows[first])
      for (long long r = first; r < WORD(0) && rows[r] == rows[first]; ++r)
        sum += ((const {kind}*)WORD(3))[(long long)order[r] * {width} + i % {width}];
    (({kind}*)WORD(4))[i] = ({kind})sum;
  }}""",
        words=5,
        columns=width,
    )


def _numbers(code: RuleCode, first: int) -> str:
    numbers = ", ".join(f"OPTIMIZER_NUMBER({first + n})" for n in range(code.numbers)) or "0.0"
    return f"const double number[] = {{{numbers}}};\n  (void)number;"


def _loads(code: RuleCode, variables: Sequence[tuple[str, str]], scale: int) -> str:
    lines = [f"    {code.type} {name} = {place};" for name, place in variables]
    lines.append(f"    {code.type} scratch = 0, buffer = 0;")
    lines.append(f"    {code.type} scale = WORD({scale}) ? ({code.type})*(const double*)WORD({scale}) : 1;")
    lines.append("    (void)scratch; (void)buffer; (void)scale;")
    return "\n".join(lines)


def _stores(code: RuleCode, variables: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"    {place} = {name};" for name, place in variables if name != "gradient")


def _source(body: str, *, words: int, columns: int) -> KernelSource:
    return kernel_source(body, words=words, columns=columns, functions=FUNCTIONS + _NUMBER)


_SQUARES = _source(
    f"""\
  ITEMS(i, WORD(0)) {{
    double sum = 0.0;
    for (long long c = i / {_LANES}; c < WORD(1); c += {_GROUPS}) {{
      const long long* chunk = (const long long*)WORD(2) + 2 * c;
      const long long* tensor = (const long long*)WORD(3) + 3 * chunk[0];
      const long long end = tensor[0] < chunk[1] + {_CHUNK} ? tensor[0] : chunk[1] + {_CHUNK};
      for (long long at = chunk[1] + i % {_LANES}; at < end; at += {_LANES}) {{
        const double x = tensor[2] ? ((const double*)tensor[1])[at] : (double)((const float*)tensor[1])[at];
        sum += x * x;
      }}
    }}
    ((double*)WORD(4))[i] = sum;
  }}""",
    words=5,
    columns=1,
)
_ADD_SUMS = _source(
    f"""\
  ITEMS(i, WORD(0)) {{
    double sum = 0.0;
    for (long long j = i; j < {_LANES * _GROUPS}; j += {_SUMS}) sum += ((const double*)WORD(1))[j];
    ((double*)WORD(2))[i] = sum;
  }}""",
    words=3,
    columns=1,
)
_SCALE = _source(
    f"""\
  ITEMS(i, WORD(0)) {{
    const double clip = OPTIMIZER_NUMBER(3);
    double sum = 0.0;
    for (int j = 0; j < {_SUMS}; ++j) sum += ((const double*)WORD(1))[j];
    const double norm = sqrt(sum);
    *(double*)WORD(2) = clip / OPTIMIZER_MAX(norm, clip);
  }}""",
    words=4,
    columns=1,
)
