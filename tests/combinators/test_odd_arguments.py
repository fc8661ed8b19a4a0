"""Constructors with arguments that cannot be: each refuses in its own words, or makes a block that prints.

What Python itself says of a call with too many or unknown arguments is a plain TypeError and names the class.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.typesys.errors import ArrowTypeError, ArrowValueError, InputError

ODD: list[Any] = [
    None, "", "x", b"x", 0, -1, 1, 2, 10**30, -(10**30), 1.5, float("nan"), 1j, True, Ellipsis,
    [], [3], [[]], [-1], [None], ["x"], [()], (), (3,), (None,), {}, {"a": 1}, {"a": ar.Scalar()}, {1: None},
    set(), range(3), iter([]), object(), int, str, ar.FC, ar.Block, ar.types.Input(), ar.types.Tensor((3,)),
    len, lambda: 0, lambda x: x, lambda x, y: x, lambda *x: x, slice(1, 2), slice("a"),
    np.zeros((2, 0)), np.float32(3), np.array(["a"]), ar.Scalar(), ar.Zeros([2]), ar.OneOf(len),
    [ar.Scalar()], [(1, ar.Scalar())], [(1, ar.Scalar(), 3)],
]  # fmt: skip


def constructors() -> dict[str, Callable[..., Any]]:
    """What a user makes blocks with: names at the top of the package."""
    found = {}
    for name in dir(ar):
        value = getattr(ar, name)
        room = getattr(value, "__module__", "")
        error = isinstance(value, type) and issubclass(value, BaseException)
        if callable(value) and room.startswith(("arrows.combinators", "arrows.layers")) and not error:
            found[name] = value
    return found


def attempt(make: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """The error that is no one's, as text; empty if all is well."""
    try:
        made = make(*args, **kwargs)
        for block in made if isinstance(made, tuple) else (made,):
            if isinstance(block, ar.Block):
                repr(block), block.label
                ar.infer(block)
    except (ArrowTypeError, ArrowValueError, InputError):
        return ""
    except TypeError as error:
        # Python's own words for the number or the names of arguments will do.
        own = re.match(r"[\w.<>]+\(\) (takes|missing|got an unexpected|got multiple)", str(error))
        return "" if own else f"{type(error).__name__}: {error}"
    except Exception as error:  # noqa: BLE001  whatever gets out is what is looked for
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.parametrize("name", sorted(constructors()))
def test_odd_arguments_are_refused_in_words(name: str) -> None:
    make = constructors()[name]
    # `fix` and `arrow` call what they are given: what `int` or `len` says of a block is theirs to say.
    calls = name in ("fix", "arrow")
    odd = [x for x in ODD if not (calls and any(x is f for f in (int, len, str)))]
    pick = random.Random(name)
    tries: list[tuple[Any, ...]] = [(), *((x,) for x in odd)]
    tries += pick.sample(list(itertools.product(odd, odd)), 150)
    tries += [tuple(pick.choices(odd, k=3)) for _ in range(50)]
    leaks = {}
    for args in tries:
        if leak := attempt(make, *args):
            leaks[repr(args)[:100]] = leak
    for x in odd:
        if leak := attempt(make, name=x):
            leaks[f"name={x!r}"[:100]] = leak
    assert leaks == {}


@pytest.mark.parametrize("x", ODD, ids=[f"{type(x).__name__}-{i}" for i, x in enumerate(ODD)])
def test_odd_things_beside_operators(x: Any) -> None:
    block = ar.Scalar()
    for operate in (
        lambda: block >> x, lambda: x >> block, lambda: block & x, lambda: x & block, lambda: block * x,
        lambda: x * block, lambda: block(x), lambda: block[x], lambda: ar.infer(block, x),
        lambda: ar.infer(x), lambda: ar.compile(x),
        lambda: ar.OneOf(len).case(x, block), lambda: ar.OneOf(len).case(0, x),
        lambda: ar.arrow(x), lambda: ar.fix(x), lambda: ar.fix(lambda me: x), lambda: ar.arrow(lambda w: x),
        lambda: ar.arrow(lambda w: w[x]), lambda: ar.shared(x), lambda: block.reads(x),
    ):  # fmt: skip
        leak = attempt(operate)
        theirs = any(x is f for f in (int, len, str))  # `fix` and `arrow` call them
        assert leak == "" or theirs or "unsupported operand" in leak, leak


CLASSES = {name for name, each in constructors().items() if isinstance(each, type)}


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_wrong_arguments_are_those_of_the_class_that_the_user_called(name: str) -> None:
    for args, keywords in ((range(20), {}), ((), {"no_such_argument": 1})):
        with pytest.raises(TypeError) as refused:
            getattr(ar, name)(*args, **keywords)
        assert name in str(refused.value).splitlines()[0]
