"""Types while they are being found: variables, and what is known of each.

A `Var` is a type that is open, or has a constructor over other variables. Two variables that were made equal
are one from then on (union-find): an edge of an expression is the variable of its producer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from arrows.typesys import types as T

if TYPE_CHECKING:
    from arrows.typesys.unify import Running

MAX_PARTS = 100_000  # leaves of a type, each counted wherever it occurs: n nested pairs may have 2**n leaves
SHOWN = 200  # the most parts of a type that a message shows

Constructor: TypeAlias = "T.Type | tuple[str, int]"
"""A type without parts, or the kind of a compound type with the number of its variables."""

INPUT = T.Input()
VOID = T.Void()
SEQUENCE = ("sequence", 2)  # of the element, and of whether it ends
FINITE = ("finite", 0)
ENDLESS = ("endless", 0)
ENDS = (FINITE, ENDLESS)

Keys: TypeAlias = "frozenset[T.Labels | None]"
"""The labels of all tuples that become one, None for a tuple without; empty for a tuple that is only read,
whatever its labels. The items have labels if there is one element, and lose them if there are several."""

NO_LABELS: Keys = frozenset([None])


@dataclass(slots=True, eq=False, repr=False)
class Cause:
    """Who says what a type is.

    Attributes:
        occurrence: the occurrence of a block; something else where a type is assumed.
        reads: whether it says so of what it reads; else of its result.
        says: the whole type at that end of the block, of which this may be a part; None if it has open parts.
    """

    occurrence: object
    reads: bool = False
    says: T.Type | None = None


@dataclass(slots=True, eq=False, repr=False)
class Var:
    """A type that may not be known yet.

    Attributes:
        con: the constructor; None while the type is open.
        args: the variables of its parts.
        cause: who said what it is.
        keys: the labels of a tuple's items, and of all that meets it.
        link: the variable that this one was made equal to, if any.
        waiting: what goes on when it becomes known.
        relabelled: what follows when it loses labels: each gives a variable, and the labels of what meets it.
        type: the type, once it has no open part and somebody asked for it.
    """

    con: Constructor | None = None
    args: Sequence[Var] = ()
    cause: Cause | None = None
    keys: Keys = frozenset()
    link: Var | None = None
    waiting: list[Running] | tuple[()] = ()
    relabelled: Sequence[Callable[[], tuple[Var, Keys]]] = ()
    type: T.Type | None = None

    def _pieces(self) -> list[Any]:
        """The notation as a list of texts, with each part in the place of its notation (`types.notation`)."""
        v = find(self)
        if not isinstance(v.con, tuple):
            return ["?"] if v.con is None else v.con._pieces()
        parts, kind = parts_of(v), kind_of(v)
        if kind == "tuple":
            return T.tuple_pieces(parts, labels_of(v))
        return [f"{kind.capitalize()}(", *parts, ")"]


class Clash(Exception):
    """Two types that must be equal are not. `inference`, which knows the blocks, explains it.

    Attributes:
        left, right: the types.
        infinite: whether one is a part of the other.
    """

    def __init__(self, left: Var, right: Var, *, infinite: bool = False) -> None:
        super().__init__()
        self.left = left
        self.right = right
        self.infinite = infinite


# Making


def tuple_of(items: list[Var], cause: Cause | None = None, keys: Keys = NO_LABELS) -> Var:
    """Makes the variable of a tuple."""
    return Var(("tuple", len(items)), items, cause, keys)


def sequence_of(element: Var, end: Var | None = None, cause: Cause | None = None) -> Var:
    """Makes the variable of a sequence; `end` tells whether it ends, which is known if it is left out."""
    return Var(SEQUENCE, [element, end or Var(FINITE)], cause)


def of_type(t: T.Type, cause: Cause | None = None) -> Var:
    """Makes the variable of a type without open parts. What is read may have any labels where `t` has none.

    Example:
        >>> notation(of_type(T.Tuple((T.Input(), T.Sequence(T.Tensor((3,)))))))
        '(Input, Sequence(float32[3]))'
    """
    if not t.children and not isinstance(t, T.Tuple):
        return Var(t, cause=cause)
    made: dict[int, Var] = {}
    for x in T.parts_first(t):
        parts = [made[id(part)] for part in x.children]
        if isinstance(x, T.Tuple):
            read = x.labels is None and cause is not None and cause.reads
            made[id(x)] = tuple_of(parts, cause, frozenset() if read else frozenset([x.labels]))
        elif isinstance(x, (T.Sequence, T.Broadcast)):
            end = Var(ENDLESS if isinstance(x, T.Broadcast) else FINITE)
            made[id(x)] = sequence_of(parts[0], end, cause)
        else:
            made[id(x)] = Var(x, cause=cause)
    return made[id(t)]


# Looking


def find(v: Var) -> Var:
    """The variable that stands for all that were made equal to `v` (union-find, with path compression)."""
    if v.link is None:
        return v
    root = v
    while root.link is not None:
        root = root.link
    while v is not root:
        assert v.link is not None
        v.link, v = root, v.link
    return root


def kind_of(v: Var) -> str:
    """Returns `tuple`, `sequence` or `broadcast`; empty while `v` is open, or if its type has no parts."""
    v = find(v)
    if not isinstance(v.con, tuple):
        return ""
    return "broadcast" if v.con == SEQUENCE and find(v.args[1]).con == ENDLESS else v.con[0]


def leaf_of(v: Var) -> T.Type | None:
    """The type at `v` if it is one without parts, else None."""
    con = find(v).con
    return con if isinstance(con, T.Type) else None


def labels_of(v: Var) -> T.Labels | None:
    """The labels of a tuple's own items; None for other types."""
    keys = find(v).keys
    return next(iter(keys)) if len(keys) == 1 else None


def differing_labels(v: Var) -> frozenset[T.Labels | None]:
    """The labels of the tuples that meet at `v`, if they are not the same."""
    keys = find(v).keys
    return keys if len(keys) > 1 else frozenset()


def items_of(v: Var) -> list[Var]:
    """The items of a tuple; an empty list for any other type."""
    v = find(v)
    return [find(arg) for arg in v.args] if kind_of(v) == "tuple" else []


def parts_of(v: Var) -> list[Var]:
    """The items of a tuple, or the element of a sequence."""
    v = find(v)
    return [find(arg) for arg in (v.args[:1] if v.con == SEQUENCE else v.args)]


def settled(v: Var, typed: list[Var]) -> T.Type | Var:
    """The type at `v`, or its first open part.

    The variables inside remember their types. `typed` collects them, for when some label is lost.
    """
    whole = find(v)
    if isinstance(whole.con, T.Type):
        return whole.con
    todo = [whole]
    while todo:
        x = todo[-1]
        if x.con is None:
            return x
        if isinstance(x.con, T.Type):
            x.type = x.con
        elif x.type is None:
            missing = [part for part in map(find, x.args) if part.type is None and part.con not in ENDS]
            if missing:
                todo += reversed(missing)
                continue
            made: list[Any] = [part.type for part in parts_of(x)]
            if x.con == SEQUENCE:
                x.type = (T.Broadcast if kind_of(x) == "broadcast" else T.Sequence)(made[0])
            else:
                x.type = T.Tuple(made, labels_of(x))
            typed.append(x)
        todo.pop()
    assert whole.type is not None
    return whole.type


def ground(v: Var) -> T.Type | None:
    """The type at `v`; None if some part of it is open. It is for errors, since labels may be lost later."""
    t = settled(v, [])
    return t if isinstance(t, T.Type) else None


def inside(v: Var) -> Iterator[Var]:
    """The variable that stands for `v` and those of all parts of its type, each once, depth first."""
    seen: set[int] = set()
    todo = [v]
    while todo:
        x = find(todo.pop())
        if id(x) not in seen:
            seen.add(id(x))
            yield x
            todo += reversed(find(x).args)


def occurs(v: Var, whole: Var) -> bool:
    """Whether `v` is a part of `whole`."""
    v, whole = find(v), find(whole)
    return any(part is v for part in inside(whole) if part is not whole)


def readable(v: Var) -> bool:
    """Whether a type may be read as a Python object: `Input`, and tuples and sequences of nothing else."""
    return all(x.con is INPUT or (not isinstance(x.con, T.Type) and x.con != ENDLESS) for x in inside(v))


def may_be_equal(a: Var, b: Var) -> bool:
    """Whether two types agree, as far as they are known."""
    seen: set[tuple[int, int]] = set()
    todo = [(a, b)]
    while todo:
        a, b = todo.pop()
        a, b = find(a), find(b)
        pair = (id(a), id(b))
        if a is b or pair in seen:
            continue
        seen.add(pair)
        if a.con is not None and b.con is not None:
            if a.con != b.con:
                return False
            todo += zip(a.args, b.args, strict=True)
    return True


def notation(v: Var) -> str:
    """The notation of the type at `v`, with `?` for each open part.

    Example:
        >>> notation(tuple_of([Var(T.Input()), Var()]))
        '(Input, ?)'
    """
    return T.notation(v, SHOWN)
