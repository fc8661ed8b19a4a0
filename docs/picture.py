"""The block of the picture in README.md.

arrows show docs/picture.py:scores --output docs/picture.svg
"""

from __future__ import annotations

import arrows as ar

word = ar.GetItem("word") >> ar.Scalar("int32") >> ar.Embedding(10_000, 64, name="embed")
join = ar.FC(64, ar.ops.tanh, name="join")


@ar.fix
def tree(me):
    parts = ar.GetItem("parts") >> ar.Map(me) >> ar.Sum() >> join
    return ar.OneOf(lambda t: "word" in t).case(True, word).case(False, parts)


scores = tree >> ar.FC(5, name="classify")
