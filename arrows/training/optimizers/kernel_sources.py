"""The kernels of an optimizer's step, in C."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from arrows.engine.device import KernelSource, kernel_source
from arrows.training.optimizers.rule_code import FUNCTIONS, RuleCode

# A chunk is what the threads of a block read side by side.
CHUNK = 1024
# Squares are added by this many threads, then by fewer, then by one: a fixed order, so that a step gives the
# same bits again.
LANES, GROUPS, SUMS = 256, 64, 64
# A launch adds the squares of the dense gradients and of the rows of so many tables.
ROW_SETS = 8

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


@cache
def dense_source(code: RuleCode) -> KernelSource:
    """Words: chunks, their list, the list of tensors, where 0 stops the step, scale, numbers."""
    names = ["parameter", "gradient", *(f"slot{number}" for number in range(len(code.slots)))]
    body = f"""\
  {_numbers(code, 5)}
  const double* unless = (const double*)WORD(3);
  if (unless && *unless == 0.0) return;
  ITEMS(i, WORD(0) * {CHUNK}) {{
    const long long* chunk = (const long long*)WORD(1) + 2 * (i / {CHUNK});
    const long long* tensor = (const long long*)WORD(2) + {len(names) + 1} * chunk[0];
    const long long at = chunk[1] + i % {CHUNK};
    if (at >= tensor[0]) continue;
{_loads(code, [(name, f"(({code.type}*)tensor[{place}])[at]") for place, name in enumerate(names, 1)], 4)}
    {chr(10).join("    " + line for line in code.lines).strip()}
{_stores(code, [(name, f"(({code.type}*)tensor[{place}])[at]") for place, name in enumerate(names, 1)])}
  }}"""
    return _source(body, words=5 + code.numbers, columns=CHUNK)


@cache
def rows_source(code: RuleCode, width: int, index: str) -> KernelSource:
    """Words: rows, their list, values, parameter, counts, where 0 stops the step, scale, rows of the
    parameter, slots, numbers.  A row that the parameter lacks is left out."""
    slots = [(f"slot{n}", f"(({code.type}*)WORD({8 + n}))[at]") for n in range(len(code.slots))]
    parameter = ("parameter", f"(({code.type}*)WORD(3))[at]")
    gradient = ("gradient", f"(({code.type}*)WORD(2))[i]")
    body = f"""\
  {_numbers(code, 8 + len(slots))}
  const double* unless = (const double*)WORD(5);
  const {index}* rows = (const {index}*)WORD(1);
  if (unless && *unless == 0.0) return;
  ITEMS(i, WORD(0) * {width}) {{
    const long long r = i / {width};
    const long long at = (long long)rows[r] * {width} + i % {width};
    if (rows[r] < 0 || rows[r] >= WORD(7) || (r && rows[r - 1] == rows[r])) continue;
    double count = ((const double*)WORD(4))[rows[r]] + 1.0;
    (void)count;
{_loads(code, [parameter, gradient, *slots], 6)}
    {chr(10).join("    " + line for line in code.lines).strip()}
{_stores(code, [parameter, gradient, *slots])}
  }}"""
    return _source(body, words=8 + len(slots) + code.numbers, columns=width)


@cache
def count_source(index: str) -> KernelSource:
    """Words: rows, their numbers, counts, where 0 stops the step, how many counts there are.

    A launch of its own: the threads of a row's other columns read the count that one of them would change.
    """
    return _source(
        f"""\
  const double* unless = (const double*)WORD(3);
  const {index}* rows = (const {index}*)WORD(1);
  if (unless && *unless == 0.0) return;
  ITEMS(i, WORD(0))
    if (rows[i] >= 0 && rows[i] < WORD(4) && (!i || rows[i - 1] != rows[i]))
      ((double*)WORD(2))[rows[i]] += 1.0;""",
        words=5,
        columns=1,
    )


@cache
def rank_source(index: str) -> KernelSource:
    """Words: rows, their list, their order, the list in that order; equal rows keep their order."""
    return _source(
        f"""\
  const {index}* rows = (const {index}*)WORD(1);
  ITEMS(i, WORD(0)) {{
    const {index} row = rows[i];
    long long rank = 0;
    for (long long j = 0; j < i; ++j) rank += rows[j] <= row;
    for (long long j = i + 1; j < WORD(0); ++j) rank += rows[j] < row;
    ((long long*)WORD(2))[rank] = i;
    (({index}*)WORD(3))[rank] = row;
  }}""",
        words=4,
        columns=1,
    )


@cache
def merge_source(dtype: str, width: int, index: str, order: str) -> KernelSource:
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


@cache
def write_source(dtype: str, width: int, index: str) -> KernelSource:
    """Words: rows, their numbers in rising order, their values (0: zeros), where they go, its rows."""
    kind = "float" if dtype == "float32" else "double"
    return _source(
        f"""\
  const {index}* rows = (const {index}*)WORD(1);
  ITEMS(i, WORD(0) * {width}) {{
    const long long first = i / {width};
    if (rows[first] >= 0 && rows[first] < WORD(4) && (!first || rows[first - 1] != rows[first]))
      (({kind}*)WORD(3))[(long long)rows[first] * {width} + i % {width}] =
          WORD(2) ? ((const {kind}*)WORD(2))[i] : 0;
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


SQUARES = _source(
    f"""\
  ITEMS(i, WORD(0)) {{
    double sum = 0.0;
    for (long long c = i / {LANES}; c < WORD(1); c += {GROUPS}) {{
      const long long* chunk = (const long long*)WORD(2) + 2 * c;
      const long long* tensor = (const long long*)WORD(3) + 3 * chunk[0];
      const long long end = tensor[0] < chunk[1] + {CHUNK} ? tensor[0] : chunk[1] + {CHUNK};
      for (long long at = chunk[1] + i % {LANES}; at < end; at += {LANES}) {{
        const double x = tensor[2] ? ((const double*)tensor[1])[at] : (double)((const float*)tensor[1])[at];
        sum += x * x;
      }}
    }}
    for (int n = 5; n < {5 + 3 * ROW_SETS}; n += 3)
      for (long long at = i; at < WORD(n); at += WORD(0)) {{
        const double x =
            WORD(n + 2) ? ((const double*)WORD(n + 1))[at] : (double)((const float*)WORD(n + 1))[at];
        sum += x * x;
      }}
    ((double*)WORD(4))[i] = sum;
  }}""",
    words=5 + 3 * ROW_SETS,
    columns=1,
)
"""Words: threads, chunks, their list, the list of tensors, sums; for each set of rows how many numbers, the
numbers, whether they are double."""

ADD_SUMS = _source(
    f"""\
  ITEMS(i, WORD(0)) {{
    double sum = 0.0;
    for (long long j = i; j < WORD(3); j += {SUMS}) sum += ((const double*)WORD(1))[j];
    ((double*)WORD(2))[i] = sum;
  }}""",
    words=4,
    columns=1,
)
"""Words: threads, sums, sums of these, how many there are."""

SCALE = _source(
    f"""\
  ITEMS(i, WORD(0)) {{
    const double clip = OPTIMIZER_NUMBER(3);
    double sum = 0.0;
    for (int j = 0; j < {SUMS}; ++j) sum += ((const double*)WORD(1))[j];
    const double norm = sqrt(sum);
    *(double*)WORD(2) = clip / OPTIMIZER_MAX(norm, clip);
  }}""",
    words=4,
    columns=1,
)
"""Words: 1, sums, where the factor goes, the clipping norm."""
