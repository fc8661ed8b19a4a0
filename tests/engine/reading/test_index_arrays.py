"""The stable order of small integers is NumPy's."""

import numpy as np
import pytest

from arrows.engine.reading import stable_order


@pytest.mark.parametrize("count", [0, 1, 50, 5000])
@pytest.mark.parametrize("stop", [1, 7, 2**16, 2**16 + 1, 2**31, 2**32, 2**40])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_the_order_is_that_of_argsort(count: int, stop: int, dtype: str) -> None:
    random = np.random.default_rng(count)
    for low in (0, max(0, stop - 9)):  # few values, each many times, and many values
        values = (
            random.integers(low, min(stop, 2**31), count) if stop <= 2**31 else low + np.arange(count) % 9
        )
        if values.max(initial=0) <= np.iinfo(dtype).max:
            values = np.append(values, values[::-1]).astype(dtype)
            assert stable_order(values, stop).tolist() == np.argsort(values, kind="stable").tolist()
