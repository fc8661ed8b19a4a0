"""Laws of choice and of recursion."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import arrows as ar
from tests.generation import parts
from tests.generation.build import WIDTH, vectors
from tests.laws.law import Law, boolean, change, join, reader, start

IS_NONE = parts.watched(lambda x: x is None)
FIRST = ar.GetItem(0)


def listed(x: Any) -> Any:
    """A place for an object where None may stand."""
    return [x]


def one_of(key: Any, f: Any, g: Any) -> Any:
    return ar.OneOf(key, {True: f, False: g})


CHOICE = [
    Law(
        "OneOf(f, g) >> h == OneOf(f >> h, g >> h)",
        ("OneOf", "Choice", "Pipe"),
        (boolean, reader, reader, change),
        lambda k, f, g, h: one_of(k, f, g) >> h,
        lambda k, f, g, h: one_of(k, f >> h, g >> h),
    ),
    Law(
        "t >> OneOf(k; f, g) == OneOf(k after t; t >> f, t >> g)",
        ("OneOf", "InputTransform"),
        (boolean, reader, change),
        lambda k, f, h: ar.InputTransform(listed) >> one_of(k, FIRST >> f, FIRST >> f >> h),
        lambda k, f, h: one_of(
            lambda x: k(listed(x)),
            ar.InputTransform(listed) >> FIRST >> f,
            ar.InputTransform(listed) >> FIRST >> f >> h,
        ),
    ),
    Law(
        "OneOf(always True) == the case of True",
        ("OneOf",),
        (reader, reader),
        lambda f, g: one_of(lambda x: True, f, g),
        lambda f, g: f,
    ),
    Law("OneOf(k; f, f) == f", ("OneOf",), (boolean, reader), lambda k, f: one_of(k, f, f), lambda k, f: f),
    Law(
        "OneOf(k, dict) == OneOf(k, pairs) == OneOf(k, list) == OneOf(k).case",
        ("OneOf",),
        (boolean, reader, reader),
        lambda k, f, g: one_of(k, f, g) & ar.OneOf(k, [g, f]),
        lambda k, f, g: ar.OneOf(k).case(False, g).case(True, f) & ar.OneOf(k, [(True, f), (False, g)]),
    ),
    Law(
        "a key that is a block chooses as a function does",
        ("OneOf", "InputTransform"),
        (boolean, reader, reader),
        lambda k, f, g: one_of(ar.InputTransform(k), f, g),
        one_of,
    ),
    Law(
        "OneOf(k; f, g) & OneOf(k; f', g') == OneOf(k; f & f', g & g')",
        ("OneOf", "AllOf"),
        (boolean, reader, reader, reader, reader),
        lambda k, f, g, u, v: one_of(k, f, g) & one_of(k, u, v),
        lambda k, f, g, u, v: one_of(k, f & u, g & v),
    ),
    Law(
        "OneOf(k; OneOf(k; f, g), g) == OneOf(k; f, g)",
        ("OneOf",),
        (boolean, reader, reader),
        lambda k, f, g: one_of(k, one_of(k, f, g), g),
        one_of,
    ),
    Law(
        "OneOf(k; f, g; pre_block=p) == OneOf(k; p >> f, p >> g)",
        ("OneOf",),
        (boolean, reader, change, change),
        lambda k, p, f, g: ar.OneOf(k, {True: f, False: g}, pre_block=p),
        lambda k, p, f, g: one_of(k, p >> f, p >> g),
    ),
    Law(
        "OneOf(k; f, g; pre_block=p) == p >> f where k is True",
        ("OneOf",),
        (reader, change, change),
        lambda p, f, g: ar.OneOf(lambda x: True, {True: f, False: g}, pre_block=p),
        lambda p, f, g: p >> f,
    ),
    Law(
        "Optional(f, c) == OneOf(is None; c, f)",
        ("Optional", "OneOf"),
        (start,),
        lambda c: ar.Optional(ar.Vector(WIDTH), c),
        lambda c: one_of(IS_NONE, c, ar.Vector(WIDTH)),
        data=st.none() | vectors,
    ),
    Law(
        "Optional(f) == Optional(f, Zeros)",
        ("Optional", "Zeros"),
        (change,),
        lambda h: ar.Optional(ar.Vector(WIDTH) >> h),
        lambda h: ar.Optional(ar.Vector(WIDTH) >> h, ar.Zeros([WIDTH])),
        data=st.none() | vectors,
    ),
    Law(
        "Optional(f, c) >> h == Optional(f >> h, c >> h)",
        ("Optional", "Pipe"),
        (start, change),
        lambda c, h: ar.Optional(ar.Vector(WIDTH), c) >> h,
        lambda c, h: ar.Optional(ar.Vector(WIDTH) >> h, c >> h),
        data=st.none() | vectors,
    ),
    Law(
        "Optional(f) == f for something",
        ("Optional",),
        (reader, start),
        lambda f, c: ar.InputTransform(listed) >> ar.Optional(FIRST >> f, c),
        lambda f, c: f,
    ),
]


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


RECURSION = [
    Law(
        "fix(f) == f(fix(f))",
        ("fix", "Fix", "Reference"),
        (change, join),
        lambda h, j: ar.fix(tree(ar.Vector(WIDTH) >> h, j)),
        lambda h, j: tree(ar.Vector(WIDTH) >> h, j)(ar.fix(tree(ar.Vector(WIDTH) >> h, j))),
        data=TREES,
    ),
    Law(
        "fix(output=its type)(f) == fix(f)",
        ("fix",),
        (change, join),
        lambda h, j: ar.fix(output=[WIDTH])(tree(ar.Vector(WIDTH) >> h, j)),
        lambda h, j: ar.fix(tree(ar.Vector(WIDTH) >> h, j)),
        data=TREES,
    ),
    Law(
        "a declaration resolved to f(itself) == fix(f)",
        ("ForwardDeclaration", "fix", "Reference"),
        (change, join),
        lambda h, j: declared(tree(ar.Vector(WIDTH) >> h, j)),
        lambda h, j: ar.fix(tree(ar.Vector(WIDTH) >> h, j)),
        data=TREES,
    ),
    Law(
        "fix(a, b -> f(b), g(a)) == fix(a -> f(g(a))), of the first",
        ("fix", "ForwardDeclaration"),
        (change, join),
        lambda h, j: ar.fix(lambda a, b: (tree(ar.Vector(WIDTH) >> h, j)(b), ar.Identity() >> a))[0],
        lambda h, j: ar.fix(lambda a: tree(ar.Vector(WIDTH) >> h, j)(a)),
        "Bekic's law",
        data=TREES,
    ),
    Law(
        "fix(a, b -> f, g) == (fix(f), fix(g))",
        ("fix",),
        (change, join),
        lambda h, j: ar.AllOf(
            *ar.fix(lambda a, b: (tree(ar.Vector(WIDTH) >> h, j)(a), tree(ar.Vector(WIDTH), j)(b)))
        ),
        lambda h, j: ar.AllOf(ar.fix(tree(ar.Vector(WIDTH) >> h, j)), ar.fix(tree(ar.Vector(WIDTH), j))),
        "b does not stand in f, nor a in g",
        data=TREES,
    ),
    Law(
        "fix(me -> f) == f",
        ("fix",),
        (reader,),
        lambda f: ar.fix(lambda me: f),
        lambda f: f,
        "me does not stand in f",
    ),
    Law(
        "fix(me -> fix(again -> f(me, again))) == fix(me -> f(me, me))",
        ("fix",),
        (join,),
        lambda j: ar.fix(lambda me: ar.fix(lambda again: _either(me, again, j))),
        lambda j: ar.fix(lambda me: _either(me, me, j)),
        data=TREES,
    ),
    Law(
        "shared(f) == f, of objects reached once and of objects reached twice",
        ("shared", "Shared"),
        (join,),
        lambda j: over_dag(j, ar.shared),
        lambda j: over_dag(j, lambda block: block),
        data=DAGS,
    ),
    Law(
        "shared(shared(f)) == shared(f)",
        ("shared",),
        (reader,),
        lambda f: ar.shared(ar.shared(f)),
        ar.shared,
    ),
]


def _either(left: Any, right: Any, j: Any) -> Any:
    pair = (ar.GetItem("l") >> left & ar.GetItem("r") >> right) >> j
    return ar.OneOf(parts.is_leaf, {True: ar.GetItem("leaf") >> ar.Vector(WIDTH), False: pair})


LAWS = [*CHOICE, *RECURSION]
