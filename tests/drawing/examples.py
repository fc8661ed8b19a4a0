"""Expressions to draw: the models of the package, and some that are large, deep or oddly named."""

from __future__ import annotations

from typing import Any

import arrows as ar
from arrows.models import sentiment, tagger


def chain(count: int) -> ar.Block[Any, Any]:
    block: Any = ar.Vector(2)
    for i in range(count):
        block = block >> ar.Function(lambda x: x + 1, name=f"step {i}")
    return block


def nested(depth: int) -> ar.Block[Any, Any]:
    block: Any = ar.Scalar() >> ar.Function(lambda x: x)
    for _ in range(depth):
        block = ar.Map(block >> ar.Identity())
    return block


def fans(depth: int) -> ar.Block[Any, Any]:
    block: Any = ar.Scalar()
    for _ in range(depth):
        block = block & ar.Zeros([])
        block = ar.AllOf(block, ar.Scalar())
    return block


def doubled(depth: int) -> ar.Block[Any, Any]:
    """A block that stands twice in one that stands twice in ..."""
    block: Any = ar.Scalar()
    for _ in range(depth):
        block = (block & block) >> ar.Function(lambda x, y: x + y)
    return block


def bushy(depth: int) -> ar.Block[Any, Any]:
    """A tree of choices, as many boxes as `2 ** depth`."""
    if not depth:
        return ar.Scalar()
    return ar.OneOf(ar.GetItem(depth), {0: bushy(depth - 1), 1: bushy(depth - 1)})


@ar.fix
def mutual(outer: Any) -> Any:
    """A recursion in a recursion; the inner one goes back to both."""

    def inner(me: Any) -> Any:
        pair = ar.GetItem("first") >> outer & ar.GetItem("rest") >> me & ar.GetItem("again") >> outer
        return ar.OneOf(lambda x: x is None, {True: ar.Zeros([2]), False: pair >> ar.Concat() >> ar.FC(2)})

    deeper = ar.GetItem("kids") >> ar.fix(inner)
    return ar.OneOf(lambda x: "kids" in x).case(True, deeper).case(False, ar.GetItem("leaf") >> ar.Vector(2))


@ar.arrow
def crossing(a: Any, b: Any) -> Any:
    """Wires that cross, are read twice and pass rows."""
    x, y = ar.Scalar()(a), ar.Scalar()(b)
    add = ar.Function(lambda u, v: u + v, name="add")
    first, second = add(y, x), add(x, y)
    return {"first": add(first, x), "second": add(second, add(y, first)), "both": (x, y)}


even, odd = ar.fix(
    lambda even, odd: (
        ar.OneOf(lambda n: n == 0, {True: ar.Zeros([2]), False: ar.InputTransform(abs) >> odd}),
        ar.OneOf(lambda n: n == 0, {True: ar.Constant([1.0, 1.0]), False: ar.InputTransform(abs) >> even}),
    )
)


def declared() -> ar.Block[Any, Any]:
    """A recursion through a declaration, which is drawn at its first use."""
    expression = ar.ForwardDeclaration(name="expression")
    many = ar.GetItem("of") >> ar.Map(expression()) >> ar.Sum()
    block = ar.OneOf(ar.GetItem("kind"), {"one": ar.GetItem("value") >> ar.Scalar(), "many": many})
    expression.resolve_to(block)
    return block


def composed() -> ar.Block[Any, Any]:
    """A Composition, blocks side by side, and blocks that use their parts."""
    whole = ar.Composition(name="whole")
    with whole.scope():
        vectors = ar.Map(ar.Vector(4)).reads(whole.input["vectors"])
        score = ar.FC(1) >> ar.Function(lambda x: x[0])
        pooled = ar.Attention(score, default=0.0).reads(vectors)
        folded = ar.Reduce(ar.Function(lambda x, y: x + y), ar.Zeros([4])).reads(vectors)
        whole.output.reads(pooled, (ar.FC(3) * (ar.FC(2) >> ar.Tap("tapped"))).reads(folded, pooled))
    return whole


ODD = "<b>&\"'\\x00\\x1b[31m 木の葉 \\ud800 `${x}` -->| end ;%% #quot; " + "é" * 3
MODELS = {
    "sentiment": lambda: sentiment(ar.Vocabulary(["a"]), size=300, dropout=0.1).learn,
    "judge": lambda: sentiment(ar.Vocabulary(["a"]), size=300).judge,
    "tagger": lambda: tagger(ar.Vocabulary(["a"]), ar.Vocabulary(["b"]), dropout=0.1).learn,
    "tags": lambda: tagger(ar.Vocabulary(["a"]), ar.Vocabulary(["b"])).judge,
    "mutual": lambda: mutual,
    "crossing": lambda: crossing,
    "even": lambda: even,
    "odd": lambda: odd,
    "declared": declared,
    "composed": composed,
    "one": ar.Scalar,
    "nothing": ar.Identity,
    "empty record": lambda: ar.Record({}),
    "long chain": lambda: chain(300),
    "deep": lambda: nested(40),
    "deep fans": lambda: fans(300),
    "wide": lambda: ar.Record({f"field {i}": ar.Scalar(name=f"number {i}") for i in range(100)}),
    "cases": lambda: ar.OneOf(ar.GetItem("k"), {i: ar.GetItem(i) >> ar.Scalar() for i in range(40)}),
    "odd names": lambda: ar.Record({ODD: ar.Scalar(name=ODD)}, name=ODD) >> ar.GetItem(ODD),
}
