"""What an index that is out of range says, wherever the embedding stands."""

from __future__ import annotations

from typing import Any

import pytest

import arrows as ar


@pytest.mark.parametrize("device", ["cpu", "fake", "fake-kernels"])
def test_an_embedding_inside_a_function_is_named(device: Any) -> None:
    words, tags = ar.Embedding(4, 3, name="words"), ar.Embedding(7, 3, name="tags")
    block = ar.Record({0: ar.Scalar("int32"), 1: ar.Scalar("int32")}) >> ar.Function(
        lambda i, j: words(i) * 2.0 + tags(j)
    )
    model = ar.compile(block, loss=None, device=device)
    for call in (lambda: model([(1, 2), (9, 2)]), lambda: block.eval((9, 2))):
        with pytest.raises(ar.InputError, match=r"words .*index 9") as caught:
            call()
        assert "the rows of its table are 0 to 3" in str(caught.value)
