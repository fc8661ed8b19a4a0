"""Coercions: a value goes from one block to the next, and one conversion is allowed on the way.

The conversion: a tuple or sequence of `Input`s may go where an `Input` is wanted, as a Python container.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Literal

from arrows.typesys import types as T
from arrows.typesys.leaf_types import parts_first
from arrows.typesys.terms import (
    MAX_PARTS,
    Clash,
    Constraint,
    Struct,
    TooWide,
    TypeVariable,
    coercible,
    compound,
    find,
    labels_of,
    lost_by,
)

if TYPE_CHECKING:
    from arrows.typesys.unify import Solver

Waiting = Literal["certain", "forward", "backward", "undecided"]


class Coercion(Constraint):
    """A relation between two types: a value of type `left` goes where the type `right` is wanted.

    Attributes:
        left, right: the variables on both sides.
        context: the place in the expression, for messages; nothing here looks inside.
        number: its place in the order of making, in which waiting coercions are decided.
        split: whether coercions between the parts have taken its place.
        waiting: the queue of the solver that it waits in, or None.
    """

    __slots__ = ("context", "left", "number", "right", "split", "waiting")

    def __init__(self, left: TypeVariable, right: TypeVariable, context: object, number: int) -> None:
        super().__init__()
        self.left = left
        self.right = right
        self.context = context
        self.number = number
        self.split = False
        self.waiting: Waiting | None = None

    def run(self, solver: Solver) -> None:
        a, b = find(self.left), find(self.right)
        if a is b:
            return
        left, right = a.head, b.head
        if isinstance(right, T.Input) and moved_key(left) is not None:
            raise Clash(a, b)
        if self.split:
            self._labels(solver, a, b)
            return
        for head in (left, right):
            if isinstance(head, T.Type) and head.width > MAX_PARTS:
                raise TooWide(head.width)
        if isinstance(left, T.Type):
            self._from_ground(solver, a, left, b)
        elif left is None:
            solver.wait(self)
        elif right is None:
            if left.impure:
                self._expand(solver, a, b)
            else:
                solver.wait(self)
        elif isinstance(right, T.Input):
            if left.impure:
                raise Clash(a, b)
            self.split = True
            for arg in left.args:
                solver.coerce_part(arg, b, self.context)
        elif isinstance(right, T.Type) and not right.has_input:
            solver.assign(a, right, b.origin, self)
        else:
            self._match(solver, a, b)

    def _from_ground(self, solver: Solver, a: TypeVariable, left: T.Type, b: TypeVariable) -> None:
        right = b.head
        if right is None:
            if not left.convertible:
                solver.assign(b, left, a.origin, self)
            elif left.pure_input:
                solver.wait(self)
            else:
                self._expand(solver, a, b)
        elif isinstance(right, T.Type):
            if left is right:
                return
            if left == right:
                self._labels(solver, a, b)
            elif not coercible(left, right):
                raise Clash(a, b)
            elif compound(right) and (left.labelled or right.labelled):
                self._match(solver, a, b)
        elif left.convertible:
            self._match(solver, a, b)
        else:
            solver.assign(b, left, a.origin, self)

    def _expand(self, solver: Solver, structure: TypeVariable, unknown: TypeVariable) -> None:
        """Gives the open side the other's structure; each part then decides by itself whether it converts."""
        shape = solver.view(structure)
        solver.count_fresh(structure, unknown, len(shape.args))
        args = [TypeVariable() for _ in shape.args]
        solver.bind(unknown, shape.kind, args, shape.labels, structure.origin, self, shape.lost)
        self._match(solver, find(self.left), find(self.right))

    def _match(self, solver: Solver, a: TypeVariable, b: TypeVariable) -> None:
        if not (compound(a.head) and compound(b.head)):
            raise Clash(a, b)
        left, right = solver.view(a), solver.view(b)
        if left.kind != right.kind or len(left.args) != len(right.args):
            raise Clash(a, b)
        self.split = True
        self._labels(solver, a, b)
        for x, y in zip(left.args, right.args, strict=True):
            solver.coerce_part(x, y, self.context)

    def _labels(self, solver: Solver, a: TypeVariable, b: TypeVariable) -> None:
        left, right = a.head, b.head
        if isinstance(left, T.Type) and isinstance(right, T.Type) and left == right:
            if left.labelled or right.labelled:
                solver.narrow(b, left)
        elif compound(left) and compound(right):
            solver.join_labels(b, labels_of(left), lost_by(left))

    def settle(self, solver: Solver) -> None:
        """Decides a coercion that waited: it does not convert.

        A type flows backward only when no type flows forward any more, so that a contradiction is reported
        at the coercion where it arises, not at one before it.
        """
        a, b = find(self.left), find(self.right)
        if a.head is None:
            if b.head is None:
                solver.unify(a, b)
            elif isinstance(b.head, T.Input) or (isinstance(b.head, T.Type) and not b.head.has_input):
                solver.assign(a, b.head, b.origin, self)
            else:
                self._expand(solver, b, a)
        elif isinstance(a.head, T.Type):
            solver.assign(b, a.head, a.origin, self)
        else:
            b.via, b.origin = self, a.origin
            solver.unify(a, b)


def waiting_for(a: TypeVariable, b: TypeVariable) -> Waiting:
    """The queue that a coercion from `a` to `b` waits in while `a`, `b` or both are open."""
    if a.head is not None:
        return "forward"
    if b.head is None:
        return "undecided"
    # Only where an `Input` is wanted may the open side turn out to be a container of `Input`s.
    return "backward" if isinstance(b.head, T.Input) else "certain"


def moved_key(head: T.Type | Struct | None) -> tuple[Hashable, int] | None:
    """A key that is the position of another item, with the position of its own; None if there is none.

    A Python object has its items by position alone. So a tuple with such a key cannot become one: the same
    `GetItem` would take another item.

    Example:
        >>> moved_key(T.Tuple((T.Input(), T.Input()), (1, 0)))
        (1, 0)
        >>> moved_key(T.Tuple((T.Input(), T.Input()), ("a", "b"))) is None
        True
    """
    tuples: Sequence[T.Tuple | Struct]
    if isinstance(head, T.Type):
        tuples = [t for t in parts_first(head) if isinstance(t, T.Tuple)] if head.labelled else []
    else:
        tuples = [] if head is None else [head]
    for t in tuples:
        for keys in (t.labels or (), *t.lost):
            # By equality, as labels are looked up: NumPy's 1, True and 1.0 are the position 1 as well.
            positions: dict[Hashable, int] = {
                number: number % len(keys) for number in range(-len(keys), len(keys))
            }
            for position, key in enumerate(keys):
                if positions.get(key, position) != position:
                    return key, position
    return None
