"""Solving equations between types: unification (Robinson 1965), rules that wait, and joins.

Three relations hold between variables. `Solver.unify` makes two of them one. `Solver.be_object` demands that
a type is read as a Python object: `Input`, or tuples and sequences of nothing else. `Solver.join` is for
values that come together from several places, such as the cases of a choice: their types are equal, and where
the labels differ, what they become has none, while each place keeps its own.

A rule is a generator. It yields a variable to wait for, perhaps with a function that may decide that variable
when everything else is stuck; it goes on when the variable is known. The solver never looks at all rules or
all variables, so the work is linear in the number of changes. Nothing recurses.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeAlias

from arrows.typesys import types as T
from arrows.typesys.errors import ArrowTypeError, ArrowValueError
from arrows.typesys.terms import (
    FINITE,
    INPUT,
    MAX_PARTS,
    NO_LABELS,
    SEQUENCE,
    Cause,
    Clash,
    Keys,
    Var,
    find,
    inside,
    kind_of,
    may_be_equal,
    moved_key,
    occurs,
    parts_of,
    settled,
    shape_of,
)

Default: TypeAlias = Callable[[], bool]
"""Decides what a rule waits for, if that is clear; returns whether it did."""

Wait: TypeAlias = "Var | tuple[Var, Default | Var]"
"""What a rule waits for: a variable to become known, perhaps with what may decide it, or one of two."""

Rule: TypeAlias = "Generator[Wait, None, None]"


class TooWide(ArrowTypeError):
    """A type has more than `MAX_PARTS` leaves; `inference`, which knows the blocks, explains this."""


@dataclass(slots=True, eq=False)
class Running:
    """A rule that has begun.

    Attributes:
        rule: the rest of it.
        context: for whom it runs, for messages; nothing here looks inside.
    """

    rule: Rule
    context: object


class Solver:
    """One run of inference: its variables, its rules, its failures.

    Attributes:
        failures: what does not hold, each with its context, in the order of failing.
        undecided: variables that rules wait for, each with what may decide it.
    """

    def __init__(self) -> None:
        self.failures: list[tuple[object, Clash | ArrowTypeError | ArrowValueError]] = []
        self.undecided: deque[tuple[Var, Default]] = deque()
        self.passed_over: list[tuple[Var, Default]] = []  # they could not decide when they were last asked
        self.progress = False  # whether something was decided since
        self.ready: deque[Running] = deque()
        self.open_objects: deque[tuple[Var, Cause]] = deque()  # with who reads it
        self.backward: deque[tuple[Var, Var, object]] = deque()  # joins of which the target alone is known
        self.typed: list[Var] = []  # they keep their type until some label is lost
        self.joins = 0
        self.copied = 0  # parts that joins made

    # Waiting

    def run(self, rule: Rule, context: object) -> None:
        """Starts a rule."""
        self.go_on(Running(rule, context))

    def go_on(self, running: Running) -> None:
        """Runs a rule until it waits for what is open, or ends; notes what it cannot do."""
        try:
            for wanted in running.rule:
                v, other = wanted if isinstance(wanted, tuple) else (wanted, None)
                v = find(v)
                if v.con is None:
                    for open_one in (v, find(other)) if isinstance(other, Var) else (v,):
                        open_one.waiting = open_one.waiting or []
                        open_one.waiting.append(running)
                    if callable(other):
                        self.undecided.append((v, other))
                    return
        except (Clash, ArrowTypeError, ArrowValueError) as error:
            self.failures.append((running.context, error))
            if isinstance(error, TooWide):
                self.ready.clear()  # each part of the type would fail by itself

    def drain(self) -> None:
        """Goes on with all that can go on."""
        while self.ready:
            self.go_on(self.ready.popleft())

    def decide(self) -> bool:
        """Lets one rule decide what it waits for; returns whether one did.

        Rules are asked from the last to the first, because the inside of a form often settles the types
        around it, and the end of a chain those before it. Those that could not decide are asked again after
        another one did, since they may have waited for its answer.
        """
        while True:
            while self.undecided:
                v, default = self.undecided.pop()
                if find(v).con is not None:
                    continue
                if default():
                    self.progress = True
                    return True
                self.passed_over.append((v, default))
            if not self.progress:
                return False
            self.progress = False
            self.undecided, self.passed_over = deque(reversed(self.passed_over)), []

    def decide_object(self) -> bool:
        """Makes one open type that is read as a Python object an `Input`; returns whether there was one."""
        while self.open_objects:
            v, reader = self.open_objects.popleft()
            if find(v).con is None:
                self.unify(v, Var(INPUT, cause=reader))
                return True
        return False

    def decide_backward(self) -> bool:
        """Passes a type that is known from what values become back to one of them; returns whether it did.

        Types flow forward first, so that a contradiction is found where two of them come together.
        """
        while self.backward:
            source, target, context = self.backward.popleft()
            a, b = find(source), find(target)
            if a.con is not None:
                continue
            try:
                if b.args:
                    self._copy(b, a)
                else:
                    self.unify(a, b)
            except Clash as clash:
                self.failures.append((context, clash))
            return True
        return False

    # Equality

    def unify(self, a: Var, b: Var) -> None:
        """Makes `a` and `b` equal.

        Raises:
            Clash: their types differ. They are as before, so that the error can show both.
        """
        a, b = find(a), find(b)
        if a is b:
            return
        if a.args and b.args and not may_be_equal(a, b):
            raise Clash(a, b)
        todo = [(a, b)]
        while todo:
            a, b = todo.pop()
            a, b = find(a), find(b)
            if a is b:
                continue
            if a.con is None:
                a, b = b, a  # the second becomes a link to the first
            if b.con is None:
                self._bind(a, b)
            elif a.con != b.con:
                raise Clash(a, b)
            else:
                if a.args:
                    self.relabel(a, b.keys)
                    a.relabelled = [*a.relabelled, *b.relabelled]
                    todo += zip(a.args, b.args, strict=True)
                self._link(a, b)

    def _bind(self, a: Var, b: Var) -> None:
        """Makes the open variable `b` a link to `a`."""
        if a.con is None:
            a.waiting = [*a.waiting, *b.waiting] if b.waiting else a.waiting
            self._link(a, b)
            return
        if a.args and occurs(b, a):
            raise Clash(a, b, infinite=True)
        self.ready.extend(b.waiting)
        b.waiting = ()
        self._link(a, b)

    def _link(self, kept: Var, gone: Var) -> None:
        self.same_shape(kept, gone)
        gone.link = kept

    def same_shape(self, a: Var, b: Var) -> None:
        """Notes that two types are equal but for labels."""
        a, b = shape_of(a), shape_of(b)
        if a is not b:
            b.shape = a

    # Python objects

    def be_object(self, v: Var, reader: Cause) -> Rule:
        """Demands that `v` is read as a Python object; its open parts become such objects in the end.

        Raises:
            Clash: it is none.
        """
        todo, seen = [v], set()
        while todo:
            x = find(todo.pop())
            if x.con is None:
                self.open_objects.append((x, reader))
                yield x
                x = find(x)
            if (isinstance(x.con, T.Type) and x.con is not INPUT) or kind_of(x) == "broadcast":
                raise Clash(find(v), Var(INPUT, cause=reader))
            if x.args and id(x) not in seen:
                seen.add(id(x))
                if x.con == SEQUENCE:
                    self.unify(x.args[1], Var(FINITE))
                todo += reversed(parts_of(x))
        if find(v).args and moved_key(v) is not None:
            raise Clash(find(v), Var(INPUT, cause=reader))

    # Joins and labels

    def join(self, source: Var, target: Var, context: object) -> None:
        """Lets values of the type `source` become values of the type `target`."""
        self.joins += 1
        self.run(self._meet(source, target, context, (source, target)), context)

    def _meet(self, source: Var, target: Var, context: object, whole: tuple[Var, Var]) -> Rule:
        """Passes on what is known of one side of a join to the other; both are parts of the types `whole`.

        Raises:
            Clash: the types differ; it has the whole types of both sides.
            TooWide: a type has too many parts.
        """
        while (a := find(source)).con is None and a is not (b := find(target)):
            if b.con is None:
                self.same_shape(a, b)
                yield a, b
            else:
                self.backward.append((a, b, context))
                yield a
        b = find(target)
        if a is b:
            return
        try:
            if not a.args:
                self.unify(a, b)
                return
            if b.con is None:
                self._copy(a, b)
                b = find(b)
            elif a.con != b.con or not may_be_equal(a, b):
                raise Clash(a, b)
            if a.con == SEQUENCE:
                self.unify(a.args[1], b.args[1])
        except Clash as clash:
            raise Clash(find(whole[0]), find(whole[1]), infinite=clash.infinite) from None
        self.same_shape(a, b)
        self._follow(a, b)
        for x, y in zip(parts_of(a), parts_of(b), strict=True):
            self.ready.append(Running(self._meet(x, y, context, whole), context))

    def _copy(self, known: Var, other: Var) -> None:
        """Gives an open variable the constructor of another, with parts of its own."""
        self.copied += len(known.args)
        if self.copied > MAX_PARTS + 100 * self.joins:
            # Values that come together hold ever more parts: a type doubles from each join to the next.
            raise TooWide
        if occurs(other, known):
            raise Clash(known, other, infinite=True)
        copy = Var(known.con, [Var() for _ in known.args], known.cause, known.keys)
        self.unify(other, copy)

    def _follow(self, a: Var, b: Var) -> None:
        """Leaves a tuple `b` only the labels that `a` has too, now and when `a` loses its own."""
        self.relabel(b, a.keys)
        if kind_of(a) == "tuple":
            a.relabelled = [*a.relabelled, lambda: self.relabel(b, find(a).keys)]

    def relabel(self, v: Var, keys: Keys) -> None:
        """Lets the tuple at `v` meet others that have these labels; tuples inside it keep theirs."""
        v = find(v)
        if not keys <= v.keys:
            v.keys |= keys
            for typed in self.typed:
                typed.type = None
            self.typed = []
            for follow in v.relabelled:
                follow()

    def drop_labels(self, v: Var) -> None:
        """Takes all labels from a type, and so from what it becomes."""
        for x in inside(v):
            self.relabel(x, NO_LABELS)

    # Types

    def ground(self, v: Var) -> T.Type | None:
        """The type of `v`, or None while some part of it is open."""
        t = settled(v, self.typed)
        return t if isinstance(t, T.Type) else None

    def open_part(self, v: Var) -> Var | None:
        """The first open part of the type of `v`; None if it is ground."""
        t = settled(v, self.typed)
        return t if isinstance(t, Var) else None
