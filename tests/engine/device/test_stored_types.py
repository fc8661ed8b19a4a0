"""How numbers of float32 lie in 16 bits: the functions in C and those of arrays say the same."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
import pytest

from arrows.engine.device import PRELUDE, STORED_TYPES, Arena, get_device
from arrows.engine.device.host_compiler import HostLibrary, host_compiler

KERNELS = pytest.mark.skipif(host_compiler() is None, reason="the host has no C compiler")
PATTERNS = np.arange(1 << 16, dtype=np.uint16)
types = pytest.mark.parametrize("name", STORED_TYPES)


@cache
def library() -> HostLibrary:
    """Loops over the functions in C."""
    text = PRELUDE
    for name, stored in STORED_TYPES.items():
        text += f"""{stored.functions}
void load_all_{name}(const unsigned short* from, float* to, int count) {{
  for (int i = 0; i < count; ++i) to[i] = load_{name}(from[i]);
}}
void store_all_{name}(const float* from, unsigned short* to, int count) {{
  for (int i = 0; i < count; ++i) to[i] = store_{name}(from[i]);
}}
"""
    return HostLibrary(text, [])


def in_c(function: str, array: Any, dtype: str) -> Any:
    result = np.zeros(len(array), dtype)
    addresses = [ctypes.c_void_p(each.ctypes.data) for each in (array, result)]
    library().function(function)(*addresses, ctypes.c_int(len(array)))
    return result


def numbers(name: str) -> Any:
    """All numbers that the type has, what lies between two of them, beside that, and far out; and others."""
    there = STORED_TYPES[name].load(PATTERNS)
    finite = np.sort(there[np.isfinite(there)]).astype("float64")
    between = ((finite[1:] + finite[:-1]) / 2).astype("float32")
    beside = [np.nextafter(between, np.float32(limit)) for limit in (-np.inf, np.inf)]
    bits = np.random.default_rng(0).integers(0, 1 << 32, 200_000, dtype=np.uint32)
    far = np.array([65504, 65519.996, 65520, 3.4e38, np.inf, 2.0**-25, 1e-45, 0], "float32")
    return np.concatenate([there, between, *beside, bits.view(np.float32), far, -far])


@types
def test_all_patterns_are_numbers_again(name: str) -> None:
    stored = STORED_TYPES[name]
    there = stored.load(PATTERNS)
    again = stored.store(there)
    np.testing.assert_array_equal(again[~np.isnan(there)], PATTERNS[~np.isnan(there)])
    assert np.isnan(stored.load(again[np.isnan(there)])).all()
    least, greatest = {"bfloat16": (2.0**-133, 3.3895314e38), "float16": (2.0**-24, 65504)}[name]
    positive = there[(there > 0) & np.isfinite(there)]
    assert positive.min() == np.float32(least) and positive.max() == np.float32(greatest)


@types
def test_rounding_is_to_the_nearest_and_of_two_to_the_even(name: str) -> None:
    """Held to a search in the list of all numbers, which the infinite one ends where the next would be."""
    stored, x = STORED_TYPES[name], numbers(name)
    x = x[~np.isnan(x)]
    patterns = np.arange({"bfloat16": 0x7F80, "float16": 0x7C00}[name] + 1, dtype=np.uint16)
    there = stored.load(patterns).astype("float64")
    there[-1] = 2 * there[-2] - there[-3]
    size = np.abs(x).astype("float64")
    above = np.minimum(np.searchsorted(there, size), len(there) - 1)
    below = np.maximum(above - 1, 0)
    up, down = np.abs(there[above] - size), np.abs(size - there[below])
    nearest = np.where(up < down, above, np.where(down < up, below, above + above % 2 * (below - above)))
    expected = nearest.astype(np.uint16) | np.where(np.signbit(x), 0x8000, 0).astype(np.uint16)
    np.testing.assert_array_equal(stored.store(x), expected)


@types
def test_what_is_no_number_stays_so(name: str) -> None:
    stored = STORED_TYPES[name]
    odd = np.array([0x7F800001, 0xFF800001, 0x7FC00000, 0x7FFFFFFF], np.uint32).view(np.float32)
    assert np.isnan(stored.load(stored.store(odd))).all()
    infinite = np.array([np.inf, -np.inf, 3.4e38, -3.4e38], "float32")  # the last two are too large
    assert np.isinf(stored.load(stored.store(infinite))).all()


@KERNELS
@types
def test_c_loads_what_arrays_load(name: str) -> None:
    loaded, expected = in_c(f"load_all_{name}", PATTERNS, "float32"), STORED_TYPES[name].load(PATTERNS)
    np.testing.assert_array_equal(np.isnan(loaded), np.isnan(expected))
    there = ~np.isnan(expected)
    np.testing.assert_array_equal(loaded[there].view(np.uint32), expected[there].view(np.uint32))


@KERNELS
@types
def test_c_stores_what_arrays_store(name: str) -> None:
    x = numbers(name)
    in_16_bits, expected = in_c(f"store_all_{name}", x, "uint16"), STORED_TYPES[name].store(x)
    np.testing.assert_array_equal(in_16_bits[~np.isnan(x)], expected[~np.isnan(x)])
    assert np.isnan(STORED_TYPES[name].load(in_16_bits[np.isnan(x)])).all()


@types
def test_ones_of_each_type_are_kept_apart(name: str) -> None:
    arena = Arena(get_device("cpu"))
    plain, stored = arena.ones(3, "float32"), arena.ones(3, "float32", name)
    assert plain.tolist() == [1, 1, 1] == STORED_TYPES[name].load(stored).tolist()
    others = [arena.ones(3, "float32", other) for other in STORED_TYPES]
    assert [each.tolist() for each in others] == [[0x3F80] * 3, [0x3C00] * 3]
    assert arena.bytes == 4 * (4 + 2 * len(STORED_TYPES))  # there is room for one more
