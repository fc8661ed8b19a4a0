"""Propagation: when a variable changes, the constraints that wait on it are scheduled.

A structure counts its parts that are not ground yet (`pending`): when a part becomes ground, the count tells
whether the whole is ground, without a look at the other parts.
"""

from __future__ import annotations

from collections import deque

from arrows.typesys import types as T
from arrows.typesys.terms import Constraint, TypeVariable, find


class Propagation:
    """The worklist of a solver, and how changes of a variable reach the structures and constraints around it.

    Attributes:
        work: constraints that will run, in this order; each is in it once at most.
    """

    def __init__(self) -> None:
        self.work: deque[Constraint] = deque()

    def schedule(self, constraint: Constraint) -> None:
        """Runs the constraint soon."""
        if not constraint.queued:
            constraint.queued = True
            self.work.append(constraint)

    def notify(self, v: TypeVariable) -> None:
        """`v` has changed: the constraints that wait on it run again."""
        for constraint in v.watch:
            if not constraint.queued:
                constraint.queued = True
                self.work.append(constraint)

    def became_ground(self, v: TypeVariable) -> None:
        """`v` is ground: so may be structures that it is a part of, and those around them."""
        todo = [v]
        while todo:
            v = todo.pop()
            if v.watch:
                self.notify(v)
            if not v.parents:
                continue
            assert isinstance(v.head, T.Type)
            impure = not v.head.pure_input
            for struct in v.parents:
                struct.pending -= 1
                owner = find(struct.owner)
                if isinstance(owner.head, T.Type):
                    continue
                if struct.pending == 0:
                    owner.head = struct.ground()
                    todo.append(owner)
                elif impure and not struct.impure:
                    struct.impure = True
                    self.notify(owner)
                    self.became_impure(owner)

    def became_impure(self, v: TypeVariable) -> None:
        """`v` can never convert to an `Input`: nor can structures that it is a part of."""
        todo = [v]
        while todo:
            for struct in todo.pop().parents:
                if not struct.impure:
                    struct.impure = True
                    owner = find(struct.owner)
                    self.notify(owner)
                    todo.append(owner)
