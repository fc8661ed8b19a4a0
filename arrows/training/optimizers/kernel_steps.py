"""A step of an optimizer in kernels: a launch for each table's rows, and one for all dense parameters.

The recorded update is written in C by the engine; what stands here is how its numbers are found. The host
waits for nothing and sends nothing: addresses are words of the launch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from arrows.arrays import Array
from arrows.engine.device import Device, KernelSource, kernel_source
from arrows.engine.program import FUNCTIONS, are_in_c, element_lines
from arrows.ops import RowSparse, Var
from arrows.training.optimizers.array_steps import ArraySteps, Change, numbers_of
from arrows.training.optimizers.rule import Gradient, Rule

_TYPES = {"float32": "float", "float64": "double", "int32": "int", "int64": "long long"}
# A launch takes 4 kB of words.
_WORDS = 500
_TABLES = 40  # whose steps a launch counts at most
_SQUARES = 512  # warps that add squares, each in a fixed order, so that a step gives the same bits again

_FUNCTIONS = f"""\
{FUNCTIONS}#ifndef OPTIMIZER_NUMBER
#define OPTIMIZER_NUMBER(i) optimizer_number(WORD(i))
FUNCTION double optimizer_number(long long bits) {{
  union {{ long long bits; double number; }} word;
  word.bits = bits;
  return word.number;
}}
FUNCTION long long optimizer_row(long long list, long long bytes, long long i) {{
  return bytes == 8 ? ((const long long*)list)[i] : ((const int*)list)[i];
}}
#endif
"""


class KernelSteps(ArraySteps):
    """Takes steps on a device that has kernels; those that these cannot take, on arrays."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self._counted: list[list[Any]] = []  # the words of rows whose steps are still to be counted

    def merge(self, gradient: RowSparse, *, dense: bool) -> Gradient:
        """Equal rows stand side by side, the first with all of the sum, the others with zeros.

        So the host waits for no count of rows.
        """
        rows, values = gradient.rows, gradient.values
        if dense or gradient.distinct or not values.size or not _fits(values):
            return super().merge(gradient, dense=dense)
        count, order = rows.shape[0], self.device.xp.argsort(rows)
        rows, sums = rows[order], self.device.empty(values.shape, values.dtype)
        types = (_TYPES[array.dtype.name] for array in (values, rows, order))
        self._launch(merge_source(*types, values.size // count), [count, order, rows, values, sums])
        return RowSparse(rows, sums, gradient.shape)

    def scale(self, gradients: Sequence[Array], most_norm: float) -> Any:
        if not all(map(_fits, gradients)):
            return super().scale(gradients, most_norm)
        most = _WORDS // 3 - 1
        parts = [gradients[first : first + most] for first in range(0, len(gradients), most)]
        sums = self.device.empty((_SQUARES * len(parts),), "float64")
        for number, part in enumerate(parts):
            each = chain(*([array.size, array, int(array.dtype == np.float64)] for array in part))
            self._launch(ADD_SQUARES, [_SQUARES, sums[_SQUARES * number :], len(part), *each])
        scale = self.device.empty((1,), "float64")
        self._launch(CLIP, [1, sums, sums.size, scale, float(most_norm)])
        return scale

    def apply(self, changes: Sequence[Change], scale: Array | None) -> None:
        self._numbers.clear()
        together: dict[Rule, list[Change]] = {}
        others, self._counted = list[Change](), []
        for change in changes:
            gradient, rule = change.gradient, change.rule
            in_c = are_in_c((*rule.of_step, *rule.equations))
            if not in_c or not all(map(_fits, [numbers_of(gradient), *change.targets])):
                others.append(change)
            elif isinstance(gradient, RowSparse):
                together.setdefault(rule, [])
                self._launch_rows(change, gradient, scale)
            elif isinstance(change.count, int):
                together.setdefault(rule, []).append(change)
            else:
                others.append(change)  # a dense gradient of a table whose rows have counts of their own
        for rule, dense in together.items():
            self._launch_dense(rule, dense, scale)
        super().apply(others, scale)

    def _launch_dense(self, rule: Rule, changes: Sequence[Change], scale: Array | None) -> None:
        """Changes dense parameters, and counts the steps of rows, which earlier launches have read."""
        tensors: list[list[Any]] = []
        for change in changes:
            assert isinstance(change.count, int)
            numbers = self.numbers(change, change.count)
            tensors.append([numbers_of(change.gradient).size, change.gradient, *change.targets, *numbers])
        while tensors or self._counted:
            tables, self._counted = self._counted[:_TABLES], self._counted[_TABLES:]
            room = _WORDS - 4 - 5 * len(tables)
            most = room // len(tensors[0]) if tensors else 0
            part, tensors = tensors[:most], tensors[most:]
            each = [*tables, *part]
            words = [max(words[0] for words in each), len(tables), len(part), scale, *chain(*each)]
            self._launch(_dense_source(rule), words)

    def _launch_rows(self, change: Change, gradient: RowSparse, scale: Array | None) -> None:
        rows, values, counts = gradient.rows, gradient.values, change.count
        if not values.size:
            return
        count, size, index = rows.shape[0], gradient.shape[0], _TYPES[rows.dtype.name]
        words = [count, rows, values, counts, scale, size, float(change.rate), *change.targets]
        self._launch(_rows_source(change.rule, values.size // count, index), words)
        self._counted.append([count, rows, rows.dtype.itemsize, counts, size])

    def _launch(self, source: KernelSource, words: Sequence[Any]) -> None:
        line = np.zeros((1, source.words), np.int64)
        for place, word in enumerate(words):
            if isinstance(word, float):
                line[0, place : place + 1].view(np.float64)[0] = word
            elif word is not None:
                line[0, place] = self.device.address(word) if hasattr(word, "shape") else word
        self.device.compile([source])[source.name].bind(line)(0)


def _fits(array: Array) -> bool:
    """Whether kernels can read and write an array: whole rows of floats."""
    return array.dtype.name in ("float32", "float64") and array.flags.c_contiguous


def _source(body: str, words: int, columns: int = 1) -> KernelSource:
    return kernel_source(body, words=words, columns=columns, functions=_FUNCTIONS)


def _lines(rule: Rule, numbers: Mapping[Var, str], arrays: Sequence[str], gradient: str) -> str:
    """The lines that change one number of each target; `arrays` and `gradient` are where they lie."""
    type = _TYPES[rule.gradient.type.dtype]
    known: dict[Var, str | float] = {**rule.constants, rule.gradient: gradient}
    known[rule.scale] = f"scale ? ({type})*scale : 1"
    known |= dict(zip(rule.targets, arrays, strict=True))
    known |= {var: f"({type}){text}" for var, text in numbers.items()}
    equations = [each for each in (*rule.of_step, *rule.equations) if each.result not in numbers]
    lines, names = element_lines(equations, known, rule.results)
    lines += [f"{array} = {name};" for array, name in zip(arrays, names, strict=True)]
    return "\n".join(f"      {line}" for line in lines)


@lru_cache(maxsize=64)
def _dense_source(rule: Rule) -> KernelSource:
    """Words: the largest size, tables, tensors, scale; of each table how many rows, their list, the bytes of
    a number there, counts, rows of the table; of each tensor its size, gradient, targets, numbers.

    Steps of rows are counted here: in the launch that changes them, the threads of a row's other columns read
    the count that one of them would change.
    """
    type, count = _TYPES[rule.gradient.type.dtype], len(rule.targets)
    numbers = {var: f"OPTIMIZER_NUMBER(t + {2 + count + n})" for n, var in enumerate(rule.numbers)}
    gradient, *arrays = (f"(({type}*)WORD(t + {1 + n}))[i]" for n in range(1 + count))
    stride = 2 + count + len(numbers)
    body = f"""\
  const double* scale = (const double*)WORD(3);
  const int tensors = 4 + 5 * WORD(1);
  (void)scale;
  ITEMS(i, WORD(0)) {{
    for (int t = 4; t < tensors; t += 5) {{
      if (i >= WORD(t)) continue;
      const long long row = optimizer_row(WORD(t + 1), WORD(t + 2), i);
      if (row >= 0 && row < WORD(t + 4) && (!i || optimizer_row(WORD(t + 1), WORD(t + 2), i - 1) != row))
        ((double*)WORD(t + 3))[row] += 1.0;
    }}
    for (int t = tensors; t < tensors + {stride} * WORD(2); t += {stride}) {{
      if (i >= WORD(t)) continue;
{_lines(rule, numbers, arrays, gradient)}
    }}
  }}"""
    return _source(body, _WORDS)


@lru_cache(maxsize=64)
def _rows_source(rule: Rule, width: int, index: str) -> KernelSource:
    """Words: rows, their list, values, counts, scale, rows of the table, rate,
    targets. A row that the table lacks is left out; where a row stands again there is nothing to add."""
    type = _TYPES[rule.gradient.type.dtype]
    arrays = [f"(({type}*)WORD({7 + n}))[at]" for n in range(len(rule.targets))]
    numbers = {rule.rate: "OPTIMIZER_NUMBER(6)", rule.step: "(((const double*)WORD(3))[row] + 1.0)"}
    body = f"""\
  const double* scale = (const double*)WORD(4);
  const {index}* rows = (const {index}*)WORD(1);
  (void)scale;
  ITEMS(i, WORD(0) * {width}) {{
      const long long r = i / {width}, row = rows[r], at = row * {width} + i % {width};
      if (row < 0 || row >= WORD(5) || (r && rows[r - 1] == row)) continue;
{_lines(rule, numbers, arrays, f"((const {type}*)WORD(2))[i]")}
  }}"""
    return _source(body, 7 + len(arrays), width)


@lru_cache(maxsize=64)
def merge_source(type: str, index: str, order: str, width: int) -> KernelSource:
    """Words: rows, the order of the values, the rows in that order, values, sums."""
    body = f"""\
  const {index}* rows = (const {index}*)WORD(2);
  ITEMS(i, WORD(0) * {width}) {{
    const long long first = i / {width}, row = rows[first];
    double sum = 0.0;
    if (!first || rows[first - 1] != row)
      for (long long r = first; r < WORD(0) && rows[r] == row; ++r)
        sum += ((const {type}*)WORD(3))[((const {order}*)WORD(1))[r] * {width} + i % {width}];
    (({type}*)WORD(4))[i] = sum;
  }}"""
    return _source(body, 5, width)


# The lanes of a warp add up what each has found.
_LANES_ADD = "for (int s = LANES / 2; s; s >>= 1) sum += LANE_SWAP(sum, s);"

ADD_SQUARES = _source(
    f"""\
  ITEMS(i, WORD(0) * 32) {{
    const long long r = i / 32, lane = i % 32;
    double sum = 0.0;
    if (lane >= LANES) continue;
    for (int n = 3; n < 3 + 3 * WORD(2); n += 3)
      for (long long at = r * LANES + lane; at < WORD(n); at += WORD(0) * LANES) {{
        const double x =
            WORD(n + 2) ? ((const double*)WORD(n + 1))[at] : (double)((const float*)WORD(n + 1))[at];
        sum += x * x;
      }}
    {_LANES_ADD}
    if (!lane) ((double*)WORD(1))[r] = sum;
  }}""",
    _WORDS,
    32,
)
"""Words: warps, their sums, arrays; of each array its size, its numbers, whether they are double."""

CLIP = _source(
    f"""\
  ITEMS(i, WORD(0) * 32) {{
    const double most = OPTIMIZER_NUMBER(4);
    double sum = 0.0;
    if (i >= LANES) continue;
    for (long long at = i; at < WORD(2); at += LANES) sum += ((const double*)WORD(1))[at];
    {_LANES_ADD}
    if (!i) *(double*)WORD(3) = most / (sqrt(sum) <= most ? most : sqrt(sum));
  }}""",
    5,
    32,
)
"""Words: 1, sums of squares, how many, the factor that clips, the norm that is clipped to."""
