"""Laws of choice and of recursion."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import arrows as ar
from tests.generation import parts
from tests.generation.build import WIDTH, vectors
from tests.laws.law import boolean, change, join, law, reader, start

IS_NONE = parts.watched(lambda x: x is None)
FIRST = ar.GetItem(0)


def listed(x: Any) -> Any:
    """A place for an object where None may stand."""
    return [x]


def one_of(key: Any, f: Any, g: Any) -> Any:
    return ar.OneOf(key, {True: f, False: g})


@law("OneOf(f, g) >> h == OneOf(f >> h, g >> h)", boolean, reader, reader, change)
def _(k, f, g, h):
    return one_of(k, f, g) >> h, one_of(k, f >> h, g >> h)


@law("t >> OneOf(k; f, g) == OneOf(k after t; t >> f, t >> g)", boolean, reader, change)
def _(k, f, h):
    return ar.InputTransform(listed) >> one_of(k, FIRST >> f, FIRST >> f >> h), one_of(
        lambda x: k(listed(x)),
        ar.InputTransform(listed) >> FIRST >> f,
        ar.InputTransform(listed) >> FIRST >> f >> h,
    )


@law("OneOf(always True) == the case of True", reader, reader)
def _(f, g):
    return one_of(lambda x: True, f, g), f


@law("OneOf(k; f, f) == f", boolean, reader)
def _(k, f):
    return one_of(k, f, f), f


@law("OneOf(k, dict) == OneOf(k, pairs) == OneOf(k, list) == OneOf(k).case", boolean, reader, reader)
def _(k, f, g):
    return one_of(k, f, g) & ar.OneOf(k, [g, f]), ar.OneOf(k).case(False, g).case(True, f) & ar.OneOf(
        k, [(True, f), (False, g)]
    )


@law("a key that is a block chooses as a function does", boolean, reader, reader)
def _(k, f, g):
    return one_of(ar.InputTransform(k), f, g), one_of(k, f, g)


@law("OneOf(k; f, g) & OneOf(k; f', g') == OneOf(k; f & f', g & g')", boolean, reader, reader, reader, reader)
def _(k, f, g, u, v):
    return one_of(k, f, g) & one_of(k, u, v), one_of(k, f & u, g & v)


@law("OneOf(k; OneOf(k; f, g), g) == OneOf(k; f, g)", boolean, reader, reader)
def _(k, f, g):
    return one_of(k, one_of(k, f, g), g), one_of(k, f, g)


@law("Optional(f, c) == OneOf(is None; c, f)", start, data=st.none() | vectors)
def _(c):
    return ar.Optional(ar.Vector(WIDTH), c), one_of(IS_NONE, c, ar.Vector(WIDTH))


@law("Optional(f) == Optional(f, Zeros)", change, data=st.none() | vectors)
def _(h):
    return ar.Optional(ar.Vector(WIDTH) >> h), ar.Optional(ar.Vector(WIDTH) >> h, ar.Zeros([WIDTH]))


@law("Optional(f, c) >> h == Optional(f >> h, c >> h)", start, change, data=st.none() | vectors)
def _(c, h):
    return ar.Optional(ar.Vector(WIDTH), c) >> h, ar.Optional(ar.Vector(WIDTH) >> h, c >> h)


@law("Optional(f) == f for something", reader, start)
def _(f, c):
    return ar.InputTransform(listed) >> ar.Optional(FIRST >> f, c), f


def tree(f: Any, j: Any) -> Any:
    """The definition of a block over binary trees, as a function of the block itself."""

    def definition(me: Any) -> Any:
        pair = (ar.GetItem("l") >> me & ar.GetItem("r") >> me) >> j
        return ar.OneOf(parts.is_leaf, {True: ar.GetItem("leaf") >> f, False: pair})

    return definition


def declared(definition: Any) -> Any:
    """`fix`, by a declaration."""
    declaration = ar.ForwardDeclaration()
    return declaration.resolve_to(definition(declaration()))


TREES = parts.trees(vectors)
DAGS = st.lists(st.tuples(vectors, st.lists(st.integers(0, 3), max_size=2)), min_size=1, max_size=4).map(
    parts.dag
)


def over_dag(j: Any, wrap: Any) -> Any:
    """A block over graphs without cycles, each node of it wrapped."""

    def node(me: Any) -> Any:
        x = ar.GetItem("x") >> ar.Vector(WIDTH)
        inner = (x & ar.GetItem("in") >> ar.Map(me) >> ar.Sum()) >> j
        return wrap(ar.OneOf(lambda t: bool(t["in"])).case(True, inner).case(False, x))

    return ar.fix(node)


@law("fix(f) == f(fix(f))", change, join, data=TREES)
def _(h, j):
    return ar.fix(tree(ar.Vector(WIDTH) >> h, j)), tree(ar.Vector(WIDTH) >> h, j)(
        ar.fix(tree(ar.Vector(WIDTH) >> h, j))
    )


@law("fix(output_type=its type)(f) == fix(f)", change, join, data=TREES)
def _(h, j):
    return ar.fix(output_type=[WIDTH])(tree(ar.Vector(WIDTH) >> h, j)), ar.fix(tree(ar.Vector(WIDTH) >> h, j))


@law("a declaration resolved to f(itself) == fix(f)", change, join, data=TREES)
def _(h, j):
    return declared(tree(ar.Vector(WIDTH) >> h, j)), ar.fix(tree(ar.Vector(WIDTH) >> h, j))


@law(
    "fix(a, b -> f(b), g(a)) == fix(a -> f(g(a))), of the first",
    change,
    join,
    where="Bekic's law",
    data=TREES,
)
def _(h, j):
    return ar.fix(lambda a, b: (tree(ar.Vector(WIDTH) >> h, j)(b), ar.Identity() >> a))[0], ar.fix(
        lambda a: tree(ar.Vector(WIDTH) >> h, j)(a)
    )


@law(
    "fix(a, b -> f, g) == (fix(f), fix(g))",
    change,
    join,
    where="b does not stand in f, nor a in g",
    data=TREES,
)
def _(h, j):
    return ar.AllOf(
        *ar.fix(lambda a, b: (tree(ar.Vector(WIDTH) >> h, j)(a), tree(ar.Vector(WIDTH), j)(b)))
    ), ar.AllOf(ar.fix(tree(ar.Vector(WIDTH) >> h, j)), ar.fix(tree(ar.Vector(WIDTH), j)))


@law("fix(me -> f) == f", reader, where="me does not stand in f")
def _(f):
    return ar.fix(lambda me: f), f


@law("fix(me -> fix(again -> f(me, again))) == fix(me -> f(me, me))", join, data=TREES)
def _(j):
    return ar.fix(lambda me: ar.fix(lambda again: _either(me, again, j))), ar.fix(
        lambda me: _either(me, me, j)
    )


@law("shared(f) == f, of objects reached once and of objects reached twice", join, data=DAGS)
def _(j):
    return over_dag(j, ar.shared), over_dag(j, lambda block: block)


@law("shared(shared(f)) == shared(f)", reader)
def _(f):
    return ar.shared(ar.shared(f)), ar.shared(f)


def _either(left: Any, right: Any, j: Any) -> Any:
    pair = (ar.GetItem("l") >> left & ar.GetItem("r") >> right) >> j
    return ar.OneOf(parts.is_leaf, {True: ar.GetItem("leaf") >> ar.Vector(WIDTH), False: pair})
