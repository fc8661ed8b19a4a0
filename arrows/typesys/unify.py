"""Solving equations between types: unification (Robinson 1965), rules that wait, and joins.

Three relations hold between variables. `Solver.unify` makes two of them one. `Solver.be_object` demands that
a type is read as a Python object: `Input`, or tuples and sequences of nothing else. `Solver.join` is for
values that come together from several places, such as the cases of a choice: their types are equal, and where
the labels differ, what they become has none, while each place keeps its own.

A rule is a generator. It yields a variable to wait for, perhaps with a function that may decide that variable
when everything else is stuck; it goes on when the variable is known. The solver never looks at all rules or
all variables, so the work is linear in the number of changes. Nothing recurses.

A `Variable` is a type that is open, or has a constructor over other variables. Two variables that were made
equal are one from then on (union-find): an edge of an expression is the variable of its producer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from arrows.typesys import types as T
from arrows.typesys.errors import ArrowTypeError, ArrowValueError

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
class Variable:
    """A type that may not be known yet.

    Attributes:
        con: the constructor; None while the type is open.
        args: the variables of its parts.
        cause: who said what it is.
        keys: the labels of a tuple's items, and of all that meets it.
        link: the variable that this one was made equal to, if any.
        waiting: the rules that go on when it becomes known, each with its context.
        relabelled: what follows when it loses labels: each gives a variable, and the labels of what meets it.
        type: the type, once it has no open part and somebody asked for it.
        computed: whether a function gives it, once the function's input is known.
    """

    con: Constructor | None = None
    args: Sequence[Variable] = ()
    cause: Cause | None = None
    keys: Keys = frozenset()
    link: Variable | None = None
    waiting: list[tuple[Rule, object]] | tuple[()] = ()
    relabelled: Sequence[Callable[[], tuple[Variable, Keys]]] = ()
    type: T.Type | None = None
    computed: bool = False

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

    def __init__(self, left: Variable, right: Variable, *, infinite: bool = False) -> None:
        super().__init__()
        self.left = left
        self.right = right
        self.infinite = infinite


# Making


def tuple_of(items: list[Variable], cause: Cause | None = None, keys: Keys = NO_LABELS) -> Variable:
    """Makes the variable of a tuple."""
    return Variable(("tuple", len(items)), items, cause, keys)


def sequence_of(element: Variable, end: Variable | None = None, cause: Cause | None = None) -> Variable:
    """Makes the variable of a sequence; `end` tells whether it ends, which is known if it is left out."""
    return Variable(SEQUENCE, [element, end or Variable(FINITE)], cause)


def of_type(t: T.Type, cause: Cause | None = None) -> Variable:
    """Makes the variable of a type without open parts. What is read may have any labels where `t` has none.

    Example:
        >>> notation(of_type(T.Tuple((T.Input(), T.Sequence(T.Tensor((3,)))))))
        '(Input, Sequence(float32[3]))'
    """
    if not t.children and not isinstance(t, T.Tuple):
        return Variable(t, cause=cause)
    variables: dict[int, Variable] = {}
    for x in T.parts_first(t):
        parts = [variables[id(part)] for part in x.children]
        if isinstance(x, T.Tuple):
            read = x.labels is None and cause is not None and cause.reads
            variables[id(x)] = tuple_of(parts, cause, frozenset() if read else frozenset([x.labels]))
        elif isinstance(x, (T.Sequence, T.Broadcast)):
            end = Variable(ENDLESS if isinstance(x, T.Broadcast) else FINITE)
            variables[id(x)] = sequence_of(parts[0], end, cause)
        else:
            variables[id(x)] = Variable(x, cause=cause)
    return variables[id(t)]


# Looking


def find(v: Variable) -> Variable:
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


def kind_of(v: Variable) -> str:
    """Returns `tuple`, `sequence` or `broadcast`; empty while `v` is open, or if its type has no parts."""
    v = find(v)
    if not isinstance(v.con, tuple):
        return ""
    return "broadcast" if v.con == SEQUENCE and find(v.args[1]).con == ENDLESS else v.con[0]


def leaf_of(v: Variable) -> T.Type | None:
    """The type at `v` if it is one without parts, else None."""
    con = find(v).con
    return con if isinstance(con, T.Type) else None


def labels_of(v: Variable) -> T.Labels | None:
    """The labels of a tuple's own items; None for other types."""
    keys = find(v).keys
    return next(iter(keys)) if len(keys) == 1 else None


def differing_labels(v: Variable) -> frozenset[T.Labels | None]:
    """The labels of the tuples that meet at `v`, if they are not the same."""
    keys = find(v).keys
    return keys if len(keys) > 1 else frozenset()


def items_of(v: Variable) -> list[Variable]:
    """The items of a tuple; an empty list for any other type."""
    v = find(v)
    return [find(arg) for arg in v.args] if kind_of(v) == "tuple" else []


def parts_of(v: Variable) -> list[Variable]:
    """The items of a tuple, or the element of a sequence."""
    v = find(v)
    return [find(arg) for arg in (v.args[:1] if v.con == SEQUENCE else v.args)]


def settled(v: Variable, typed: list[Variable]) -> T.Type | Variable:
    """The type at `v`, or its first open part.

    The variables inside remember their types. `typed` collects them, for when some label is lost.
    """
    whole = find(v)
    if isinstance(whole.con, T.Type):
        return whole.con
    todo = [] if whole.type is not None else [whole]
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
            parts: list[Any] = [part.type for part in parts_of(x)]
            if x.con == SEQUENCE:
                x.type = (T.Broadcast if kind_of(x) == "broadcast" else T.Sequence)(parts[0])
            else:
                x.type = T.Tuple(parts, labels_of(x))
            typed.append(x)
        todo.pop()
    assert whole.type is not None
    return whole.type


def ground(v: Variable) -> T.Type | None:
    """The type at `v`; None if some part of it is open. It is for errors, since labels may be lost later."""
    t = settled(v, [])
    return t if isinstance(t, T.Type) else None


def inside(v: Variable) -> Iterator[Variable]:
    """The variable that stands for `v` and those of all parts of its type, each once, depth first."""
    seen: set[int] = set()
    todo = [v]
    while todo:
        x = find(todo.pop())
        if id(x) not in seen:
            seen.add(id(x))
            yield x
            todo += reversed(find(x).args)  # it may have become known meanwhile


def occurs(v: Variable, whole: Variable) -> bool:
    """Whether `v` is a part of `whole`."""
    v, whole = find(v), find(whole)
    return any(part is v for part in inside(whole) if part is not whole)


def readable(v: Variable) -> bool:
    """Whether a type may be read as a Python object: `Input`, and tuples and sequences of nothing else."""
    return all(x.con is INPUT or (not isinstance(x.con, T.Type) and x.con != ENDLESS) for x in inside(v))


def may_be_equal(a: Variable, b: Variable) -> bool:
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


def notation(v: Variable) -> str:
    """The notation of the type at `v`, with `?` for each open part.

    Example:
        >>> notation(tuple_of([Variable(T.Input()), Variable()]))
        '(Input, ?)'
    """
    return T.notation(v, SHOWN)


Default: TypeAlias = Callable[[], bool | None]
"""Decides what a rule waits for; returns False if that is not clear."""

Wait: TypeAlias = "Variable | tuple[Variable, Variable | Default] | tuple[Variable, Default, int]"
"""What a rule waits for: a variable to become known, perhaps with what may decide it and its rank, or one of
two."""

Rule: TypeAlias = "Generator[Wait, None, None]"


# Who may decide when everything is stuck, the most certain first: a join passes on what is known, forward,
# then backward; a rule; an open root input is a Python object; items that are combined are alike, and a join
# passes back to what a function computes; what is read as an object is one; a layer gives its default; open
# parts of the root input are Python objects.
FORWARD, BACKWARD, RULE, INPUT_OBJECT, ALIKE, OBJECT, LAYER, REST = range(8)


class Solver:
    """One run of inference: its variables, its rules, its failures.

    Attributes:
        failures: what does not hold, each with its context, in the order of failing.
        readers: open variables that are read as Python objects, each with who reads it.
        undecided: for each rank, variables that rules wait for, each with what may decide it and for whom.
    """

    def __init__(self) -> None:
        self.failures: list[tuple[object, Clash | ArrowTypeError | ArrowValueError]] = []
        self.readers: list[tuple[Variable, Cause]] = []
        self.undecided: list[deque[tuple[Variable, Default, object]]] = [deque() for _ in range(REST + 1)]
        self.passed_over = [0] * (REST + 1)  # so many at the end could not decide since something was decided
        self.ready: deque[tuple[Rule, object]] = deque()
        self.typed: list[Variable] = []  # they keep their type until some label is lost

    # Waiting

    def run(self, rule: Rule, context: object) -> None:
        """Runs a rule until it waits for what is open, or ends; notes what it cannot do.

        Messages say for whom it runs by the `context`; nothing here looks inside.
        """
        try:
            for wanted in rule:
                v, other, *rank = wanted if isinstance(wanted, tuple) else (wanted, None)
                v = find(v)
                if v.con is None:
                    for open_one in (v, find(other)) if isinstance(other, Variable) else (v,):
                        open_one.waiting = open_one.waiting or []
                        open_one.waiting.append((rule, context))
                    if callable(other):
                        self._may_decide(v, other, context, *rank)
                    return
        except (Clash, ArrowTypeError, ArrowValueError) as error:
            self.failures.append((context, error))

    def _may_decide(self, v: Variable, default: Default, context: object, rank: int = RULE) -> None:
        queue = self.undecided[rank]
        # Rules are asked from the last to the first, because the inside of a form often settles the types
        # around it, and the end of a chain those before it.
        (queue.appendleft if rank in (RULE, ALIKE) else queue.append)((v, default, context))

    def drain(self) -> None:
        """Goes on with all that can go on."""
        while self.ready:
            self.run(*self.ready.popleft())

    def decide(self, ranks: Iterable[int] = range(REST + 1)) -> bool:
        """Lets one rule of these ranks decide what it waits for; returns whether one did.

        Those that could not decide are asked again after another one did, since they may have waited for its
        answer.
        """
        for rank in ranks:
            queue = self.undecided[rank]
            while len(queue) > self.passed_over[rank]:
                v, default, context = queue.popleft()
                if find(v).con is not None:
                    continue
                try:
                    decided = default()
                except Clash as clash:
                    self.failures.append((context, clash))
                    return True
                if decided is not False:
                    if rank <= ALIKE:
                        self.passed_over = [0] * (REST + 1)
                    return True
                queue.append((v, default, context))
                self.passed_over[rank] += 1
        return False

    def make_object(self, v: Variable, reader: Cause) -> None:
        """Makes an open type a Python object."""
        self.unify(v, Variable(INPUT, cause=reader))

    # Equality

    def unify(self, a: Variable, b: Variable) -> None:
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
                    self.relabel(b, a.keys)
                    a.relabelled = [*a.relabelled, *b.relabelled]
                    todo += zip(a.args, b.args, strict=True)
                b.link = a

    def _bind(self, a: Variable, b: Variable) -> None:
        """Makes the open variable `b` a link to `a`."""
        if a.con is None:
            a.waiting = [*a.waiting, *b.waiting] if b.waiting else a.waiting
            a.computed |= b.computed
            b.link = a
            return
        if a.args and occurs(b, a):
            raise Clash(a, b, infinite=True)
        self.ready.extend(b.waiting)
        b.waiting = ()
        b.link = a

    # Python objects

    def be_object(self, v: Variable, reader: Cause) -> Rule:
        """Demands that `v` is read as a Python object; its open parts become such objects in the end.

        Raises:
            Clash: it is none.
        """
        todo, seen = [v], set()
        while todo:
            x = find(todo.pop())
            if x.con is None:
                self.readers.append((x, reader))
                yield x, partial(self.make_object, x, reader), OBJECT
                x = find(x)
            if (isinstance(x.con, T.Type) and x.con is not INPUT) or kind_of(x) == "broadcast":
                raise Clash(find(v), Variable(INPUT, cause=reader))
            if x.args and id(x) not in seen:
                seen.add(id(x))
                if x.con == SEQUENCE:
                    self.unify(x.args[1], Variable(FINITE))
                todo += reversed(parts_of(x))

    # Joins and labels

    def join(self, source: Variable, target: Variable, context: object) -> None:
        """Lets values of the type `source` become values of the type `target`."""
        self.run(self._join(source, target), context)

    def _join(self, source: Variable, target: Variable) -> Rule:
        """Waits until all of `source` is known, so that a contradiction is found where the two come together.

        If everything is stuck, what is known of either passes to the other: to the result of a function after
        the root input is decided, since that tells the result better.
        """
        while (a := find(source)).con is None and a is not (b := find(target)) and b.con is None:
            yield a, b
        rank = ALIKE if find(source).computed else BACKWARD
        for part in inside(source):
            yield part, partial(self.meet, source, target), rank
            rank = FORWARD
        self.meet(source, target)

    def meet(self, source: Variable, target: Variable) -> None:
        """Makes two types equal but for labels: a tuple in `target` has those of all that meet there.

        Raises:
            Clash: the types differ.
        """
        whole = find(source), find(target)
        if not may_be_equal(*whole):
            raise Clash(*whole)
        todo = [(*whole, False)]
        copies: dict[int, Variable] = {}
        seen: set[tuple[int, int]] = set()
        while todo:
            a, b, is_new = todo.pop()
            a, b = find(a), find(b)
            known, other = (b, a) if a.con is None else (a, b)
            if not known.args:
                self.unify(a, b)
                continue
            is_open = other.con is None
            if is_open:
                if not is_new and occurs(other, known):
                    raise Clash(*whole, infinite=True)
                copy = Variable(known.con, [Variable() for _ in known.args], known.cause, known.keys)
                self._bind(copies.setdefault(id(known), copy), other)
                a, b = find(a), find(b)
            if a is not b and (id(a), id(b)) not in seen:
                seen.add((id(a), id(b)))
                self._follow(a, b)
                todo += [(x, y, is_open) for x, y in zip(a.args, b.args, strict=True)]

    def _follow(self, a: Variable, b: Variable) -> None:
        """Leaves a tuple `b` only the labels that `a` has too, now and when `a` loses its own."""
        self.relabel(b, a.keys)
        a.relabelled = [*a.relabelled, lambda: (b, find(a).keys)]

    def relabel(self, v: Variable, keys: Keys) -> None:
        """Lets the tuple at `v` meet others that have these labels; tuples inside it keep theirs."""
        todo = [(v, keys)]
        while todo:
            v, keys = todo.pop()
            v = find(v)
            if not keys <= v.keys:
                v.keys |= keys
                for typed in self.typed:
                    typed.type = None
                self.typed = []
                todo += [follow() for follow in v.relabelled]

    def drop_labels(self, v: Variable) -> None:
        """Takes all labels from a type, and so from what it becomes."""
        for x in inside(v):
            self.relabel(x, NO_LABELS)

    # Types

    def settled(self, v: Variable) -> T.Type | Variable:
        """The type of `v`, or its first open part."""
        return settled(v, self.typed)

    def ground(self, v: Variable) -> T.Type | None:
        """The type of `v`, or None while some part of it is open."""
        t = settled(v, self.typed)
        return t if isinstance(t, T.Type) else None
