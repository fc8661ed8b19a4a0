"""Solving equations between types: variables, coercions, and a worklist.

A variable stands for a type that is not known yet; it lives in one inference run. It is open, or has a
*head*: a ground type, or a `Struct`, a tuple or sequence whose parts are variables. Two kinds of relation
hold between variables. `Solver.unify` makes two of them one (union-find). A `Coercion` lets a value pass from
one place to another, and allows one conversion: a tuple or sequence of `Input`s may go where an `Input` is
wanted. A coercion waits until it is clear whether it converts. One that still waits when everything else is
solved does not convert.

A constraint waits on the variables that it reads, and runs again when one of these changes. The solver never
scans all constraints, so the work is linear in the number of changes. Nothing recurses.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable

from arrows.typesys import types as T
from arrows.typesys.coercion import Coercion, Waiting, waiting_for
from arrows.typesys.errors import ArrowTypeError, ArrowValueError
from arrows.typesys.terms import (
    MAX_PARTS,
    Clash,
    Constraint,
    Kind,
    Propagation,
    Struct,
    TooWide,
    TypeVariable,
    find,
    kind_of,
    labels_of,
    lost_by,
    occurs,
    width,
)


class Solver(Propagation):
    """One run of inference: its variables, its constraints, its failures.

    Attributes:
        failures: the constraints that do not hold, each with its exception, in the order of failing.
    """

    def __init__(self) -> None:
        super().__init__()
        self.failures: list[tuple[Constraint, Exception]] = []
        self.waiting: dict[Waiting, list[tuple[int, Coercion]]] = {}  # heaps by number
        self.coercions = 0
        self.initial_coercions = 0  # how many there were before the first constraint ran
        self.fresh = 0
        self.coerced_parts: dict[tuple[int, int], Coercion] = {}

    # Making

    def coerce(self, left: TypeVariable, right: TypeVariable, context: object) -> Coercion:
        """Adds a coercion from `left` to `right`."""
        self.coercions += 1
        coercion = Coercion(left, right, context, self.coercions)
        find(left).watch.append(coercion)
        find(right).watch.append(coercion)
        self.schedule(coercion)
        return coercion

    def coerce_part(self, left: TypeVariable, right: TypeVariable, context: object) -> None:
        """Adds a coercion between two parts, once for each pair: a type may contain one part many times."""
        a, b = find(left), find(right)
        pair = id(a), id(b)
        if pair not in self.coerced_parts:
            self.coerced_parts[pair] = self.coerce(a, b, context)  # keeps both alive, so no id is reused

    def add(self, constraint: Constraint, *watched: TypeVariable) -> None:
        """Adds a constraint that runs again when one of these variables changes."""
        for v in watched:
            find(v).watch.append(constraint)
        self.schedule(constraint)

    def make(
        self, kind: Kind, args: list[TypeVariable], labels: tuple[Hashable, ...] | None = None
    ) -> TypeVariable:
        """Makes a variable whose head is a structure of these parts."""
        v = TypeVariable()
        self.bind(v, kind, args, labels, None, None)
        return v

    # Running

    def drain(self) -> None:
        """Runs constraints until the worklist is empty."""
        work = self.work
        self.initial_coercions = self.initial_coercions or self.coercions
        while work:
            constraint = work.popleft()
            constraint.queued = False
            try:
                constraint.run(self)
            except (Clash, ArrowTypeError, ArrowValueError) as error:
                self.failures.append((constraint, error))

    def settle_one(self, which: Waiting) -> bool:
        """Decides the earliest coercion that waits in a queue; returns False if none does."""
        heap = self.waiting.get(which)
        while heap:
            _, coercion = heapq.heappop(heap)
            if coercion.waiting != which:
                continue
            coercion.waiting = None
            a, b = find(coercion.left), find(coercion.right)
            if a is b or coercion.split or (a.head is not None and b.head is not None):
                continue
            if waiting_for(a, b) != which:
                self.wait(coercion)
                return True
            try:
                coercion.settle(self)
            except Clash as error:
                self.failures.append((coercion, error))
            return True
        return False

    def wait(self, coercion: Coercion) -> None:
        """Puts aside a coercion that cannot be decided yet; `settle_one` decides it if no change does so."""
        kind = waiting_for(find(coercion.left), find(coercion.right))
        if coercion.waiting != kind:  # `settle_one` skips its old entry in another queue
            coercion.waiting = kind
            heapq.heappush(self.waiting.setdefault(kind, []), (coercion.number, coercion))

    # Solving

    def assign(self, v: TypeVariable, t: T.Type, origin: object, via: Coercion | None = None) -> None:
        """Sets `v` to the ground type `t`.

        Raises:
            Clash: `v` has another type.
        """
        todo = [(v, t)]
        while todo:
            v, t = todo.pop()
            v = find(v)
            head = v.head
            if head is None:
                v.head, v.origin, v.via = t, origin, via
                self.became_ground(v)
            elif isinstance(head, T.Type):
                if head is t:
                    continue
                if head != t:
                    raise Clash(TypeVariable(t, origin), v)
                if head.labelled or t.labelled:
                    self.narrow(v, t)
            else:
                if kind_of(t) != head.kind or len(t.children) != len(head.args):
                    raise Clash(TypeVariable(t, origin), v)
                self.join_labels(v, labels_of(t), lost_by(t))
                todo.extend(zip(head.args, t.children, strict=True))

    def bind(
        self,
        v: TypeVariable,
        kind: Kind,
        args: list[TypeVariable],
        labels: T.Labels | None,
        origin: object,
        via: Coercion | None,
        lost: frozenset[T.Labels] = frozenset(),
    ) -> None:
        """Makes `v` a structure of these parts.

        Raises:
            Clash: `v` has another type.
        """
        v = find(v)
        if v.head is not None:
            whole = TypeVariable()
            self.bind(whole, kind, args, labels, origin, None, lost)
            try:
                self.unify(v, whole)
            except Clash as clash:
                raise Clash(whole, v, clash.infinite) from None
            return
        struct = Struct(kind, args, labels, lost, v)
        v.head, v.struct = struct, struct
        v.origin, v.via = origin, via
        for arg in args:
            arg = find(arg)
            arg.within(struct)
            if isinstance(arg.head, T.Type):
                struct.impure = struct.impure or not arg.head.pure_input
            else:
                struct.pending += 1
                struct.impure = struct.impure or (arg.head is not None and arg.head.impure)
        if struct.pending == 0:
            v.head = struct.ground()
            self.became_ground(v)
        else:
            self.notify(v)
            if struct.impure:
                self.became_impure(v)

    def unify(self, a: TypeVariable, b: TypeVariable) -> None:
        """Makes `a` and `b` equal.

        Raises:
            Clash: their types differ.
        """
        todo = [(a, b)]
        while todo:
            a, b = find(todo[-1][0]), find(todo.pop()[1])
            if a is b:
                continue
            if (a.head is None, -len(a.watch)) > (b.head is None, -len(b.watch)):
                a, b = b, a
            # Now `b` becomes a link to `a`: it is open, or no more constraints wait on it than on `a`.
            if b.head is None:
                if isinstance(a.head, Struct) and occurs(b, a.head):
                    raise Clash(a, b, infinite=True)
                self._link(b, a)
            elif isinstance(a.head, T.Type) and isinstance(b.head, T.Type):
                if a.head != b.head:
                    raise Clash(a, b)
                if a.head.labelled or b.head.labelled:
                    self.narrow(a, b.head)
                    self.narrow(b, a.head)
                if a.struct is not None and b.struct is not None:
                    todo.extend(zip(a.struct.args, b.struct.args, strict=True))
                self._link(b, a, fire=False)
            elif isinstance(a.head, T.Type):
                self.assign(b, a.head, a.origin, a.via)
                todo.append((a, b))
            elif isinstance(b.head, T.Type):
                self.assign(a, b.head, b.origin, b.via)
                todo.append((a, b))
            elif a.head is not None:
                left, right = a.head, b.head
                if left.kind != right.kind or len(left.args) != len(right.args):
                    raise Clash(a, b)
                self.join_labels(a, right.labels, right.lost)
                self._link(b, a)
                todo.extend(zip(left.args, right.args, strict=True))

    def view(self, v: TypeVariable) -> Struct:
        """The structure of a compound type, whose parts are variables."""
        v = find(v)
        if v.struct is None:
            t = v.head
            kind = kind_of(t) if isinstance(t, T.Type) else None
            assert isinstance(t, T.Type) and kind is not None
            struct = Struct(kind, [], labels_of(t), lost_by(t), v)
            struct.impure = not t.pure_input
            for child in t.children:
                arg = TypeVariable(child, v.origin)
                arg.via = v.via
                arg.within(struct)
                struct.args.append(arg)
            v.struct = struct
        return v.struct

    def narrow(self, v: TypeVariable, t: T.Type) -> None:
        """Leaves the type of `v` only those labels that `t`, an equal type, has too."""
        todo = [(v, t)]
        while todo:
            v, t = todo.pop()
            v = find(v)
            assert isinstance(v.head, T.Type)
            t = T.common_labels(v.head, t)
            if v.head is t:
                continue
            v.head = t
            self.notify(v)
            if v.struct is not None:
                v.struct.labels, v.struct.lost = labels_of(t), lost_by(t)
                todo.extend(zip(v.struct.args, t.children, strict=True))
            for struct in v.parents:
                owner = find(struct.owner)
                if isinstance(owner.head, T.Type):
                    todo.append((owner, struct.ground()))

    def join_labels(self, v: TypeVariable, labels: T.Labels | None, lost: frozenset[T.Labels]) -> None:
        """Leaves the tuple at `v` its labels only if they are these too; tuples inside it keep theirs."""
        v = find(v)
        if isinstance(v.head, T.Tuple):
            self.narrow(v, T.Tuple(v.head.items, labels, lost))
        elif isinstance(v.head, Struct):
            joined = T.join_labels(v.head.labels, v.head.lost, labels, lost)
            if joined != (v.head.labels, v.head.lost):
                v.head.labels, v.head.lost = joined
                self.notify(v)

    def count_fresh(self, known: TypeVariable, unknown: TypeVariable, count: int) -> None:
        """Counts the variables that solving makes; an infinite type would make them forever.

        Raises:
            Clash: there are so many that the type must be infinite.
            TooWide: there are so many because the type, which is finite, has too many parts.
        """
        self.fresh += count
        if self.fresh > 20_000 + 100 * self.initial_coercions:
            if (parts := width(known)) > MAX_PARTS:
                raise TooWide(parts)
            raise Clash(known, unknown, infinite=True)

    def _link(self, gone: TypeVariable, kept: TypeVariable, fire: bool = True) -> None:
        """Makes `gone` a link to `kept`, which takes over its constraints and structures."""
        if fire:
            self.notify(gone)
        waiting = gone.parents if not isinstance(gone.head, T.Type) and isinstance(kept.head, T.Type) else ()
        gone.link = kept
        kept.watch.extend(gone.watch)
        if kept.parents:
            kept.parents.extend(gone.parents)
        else:
            kept.parents = gone.parents
        if kept.struct is None:
            kept.struct = gone.struct
            if gone.struct is not None:
                gone.struct.owner = kept
        gone.watch, gone.parents = [], ()
        impure = isinstance(kept.head, Struct) and kept.head.impure
        if waiting:
            assert isinstance(kept.head, T.Type)
            lone = TypeVariable(kept.head)
            lone.parents = waiting
            self.became_ground(lone)
        elif impure:
            self.became_impure(kept)
