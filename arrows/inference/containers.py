"""Containers of which only the elements are known: what a `Map` or a `Fold` goes over, seen from inside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrows.typesys import types as T
from arrows.typesys.coercion import Coercion
from arrows.typesys.terms import Struct, TypeVariable, find

if TYPE_CHECKING:
    from arrows.inference.rules import TypeRule
    from arrows.typesys.unify import Solver


class Containers:
    """Blocks that go over a container; one whose elements alone are known is taken to go over a sequence.

    Rules are asked from the last to the first, since what is inside, or comes later in a chain, often settles
    what is around it, or before. Those that knew nothing are asked again as long as any other did.
    """

    def __init__(self) -> None:
        self.ahead: list[TypeRule] = []
        self.asked: list[TypeRule] = []
        self.moved = False

    def add(self, rule: TypeRule) -> None:
        """A rule to ask, when nothing else moves."""
        self.ahead.append(rule)

    def again(self) -> None:
        """Asks all rules anew: more is known."""
        self.moved = True

    def settle(self, solver: Solver) -> bool:
        """Settles one container; whether there was one to settle."""
        while True:
            while self.ahead:
                rule = self.ahead.pop()
                if rule.done:
                    continue
                self.asked.append(rule)
                if rule.default(solver):
                    self.moved = True
                    return True
            if not self.moved:
                return False
            self.moved = False
            self.ahead, self.asked = self.asked[::-1], []


def object_reader(root: TypeVariable) -> Any:
    """What reads the open input of the whole as a Python object; None if nothing is known to.

    Where there is such a reader, the input is a Python object from the start, so that types flow forward from
    it and meet what is wanted where the two differ.
    """
    todo, met = [find(root)], {id(find(root))}
    while todo:
        v = todo.pop()
        for watching in v.watch:
            reader = watching.right if isinstance(watching, Coercion) else watching.inside
            if reader is None:
                continue
            reader = find(reader)
            if isinstance(reader.head, T.Input):
                return reader.origin
            if reader.head is None and id(reader) not in met:
                met.add(id(reader))
                todo.append(reader)
    return None


def open_part(root: TypeVariable) -> TypeVariable | None:
    """The first part of the input of the whole that is still open; None if there is none."""
    todo, met = [find(root)], set()
    while todo:
        v = todo.pop()
        if v.head is None:
            return v
        if isinstance(v.head, Struct) and id(v) not in met:
            met.add(id(v))
            todo.extend(find(arg) for arg in reversed(v.head.args))
    return None


def known(v: TypeVariable) -> bool:
    """Whether elements of this type say that their container is no Python object."""
    head = find(v).head
    return head is not None and not isinstance(head, T.Input)
