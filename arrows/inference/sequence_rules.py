"""Rules of the blocks over sequences that must wait for a type."""

from __future__ import annotations

from arrows.combinators import Unroll
from arrows.inference.containers import known
from arrows.inference.occurrences import CoercionPlace, Occurrence
from arrows.inference.rules import Misfit, TypeRule, sequence_of, sequential, spread_elements
from arrows.typesys import types as T
from arrows.typesys.terms import Kind, Struct, TypeVariable, compound, find
from arrows.typesys.unify import Solver


class OutputRule(TypeRule):
    """`RNN`: the output is the state, and of a tuple its first item."""

    __slots__ = ("output", "state")

    def __init__(self, node: Occurrence, state: TypeVariable, output: TypeVariable) -> None:
        super().__init__(node)
        self.state = state
        self.output = output

    def run(self, solver: Solver) -> None:
        v = find(self.state)
        if self.done or v.head is None:
            return
        self.done = True
        if not _is(v, T.Tuple, "tuple"):
            solver.unify(self.output, v)
            return
        items = solver.view(v).args
        if not items:
            raise Misfit(
                "the state of its cell is an empty tuple, and the output at an element is the first item",
                "a step with outputs of its own is ar.Scan(step, start)",
            )
        solver.unify(self.output, items[0])


class StartRule(TypeRule):
    """`RNN` and `Scan` whose input is the pair of a sequence and a start."""

    __slots__ = ("pair",)

    def __init__(self, node: Occurrence, container: TypeVariable, start: TypeVariable) -> None:
        super().__init__(node)
        self.pair = [container, start]

    def run(self, solver: Solver) -> None:
        v = find(self.node.input)
        if self.done or v.head is None:
            return
        self.done = True
        count = len(solver.view(v).args) if _is(v, T.Tuple, "tuple") else 0
        if count != 2:
            got = f"a tuple of {count}" if _is(v, T.Tuple, "tuple") else _word(v)
            raise Misfit(
                f"with start_from_input it takes the pair of a sequence and a start, and it gets {got}",
                "put them side by side first: (sequence & start) >> "
                f"ar.{self.node.form.kind}(..., start_from_input=True)",
            )
        for mine, item in zip(self.pair, solver.view(v).args, strict=True):
            solver.unify(mine, item)

    def default(self, solver: Solver) -> bool:
        if find(self.node.input).head is not None or not any(known(v) for v in self.pair):
            return False
        solver.bind(self.node.input, "tuple", self.pair, None, self.node, None)
        return True


class ZipRule(TypeRule):
    """`Zip`: known as soon as the kinds of all items are."""

    __slots__ = ("watching",)

    def __init__(self, node: Occurrence) -> None:
        super().__init__(node)
        self.watching = False

    def run(self, solver: Solver) -> None:
        v = find(self.node.input)
        if self.done or v.head is None:
            return
        if isinstance(v.head, T.Input):
            self.done = True
            solver.bind(
                self.node.output, "sequence", [TypeVariable(v.head, self.node)], None, self.node, None
            )
            return
        if not _is(v, T.Tuple, "tuple"):
            raise Misfit(
                f"{self.node.form.kind} takes a tuple of sequences, and {_word(v)} is none",
                "put the sequences side by side first: (f & g) >> ar.Zip()",
            )
        items = [find(arg) for arg in solver.view(v).args]
        if not items:
            raise Misfit("there are no sequences in an empty tuple")
        if any(item.head is None for item in items):
            if not self.watching:
                self.watching = True
                solver.add(self, *(item for item in items if item.head is None))
            return
        self.done = True
        endless, elements = True, []
        for i, item in enumerate(items):
            if not isinstance(item.head, T.Input) and not compound(item.head):
                raise Misfit(
                    f"item {i} is {item.head}, which has no elements",
                    "what stands beside every element goes into the block on the elements",
                )
            elements.append(TypeVariable())
            endless = spread_elements(solver, self.node, item, elements[-1], "zipped") and endless
        pair = solver.make("tuple", elements)
        kind: Kind = "broadcast" if endless else "sequence"
        solver.bind(self.node.output, kind, [pair], None, self.node, None)

    def default(self, solver: Solver) -> bool:
        v, out = find(self.node.input), find(self.node.output)
        if not sequential(out):
            return False
        pair = find(solver.view(out).args[0])
        if not _is(pair, T.Tuple, "tuple"):
            return False
        elements = solver.view(pair).args
        if v.head is None:
            if not any(known(element) for element in elements):
                return False
            items = [solver.make("sequence", [element]) for element in elements]
            solver.bind(v, "tuple", items, None, self.node, None)
            return True
        items = solver.view(v).args if _is(v, T.Tuple, "tuple") else []
        if len(items) != len(elements):
            return False
        pairs = zip(items, elements, strict=True)
        return any(sequence_of(solver, self.node, item, element) for item, element in pairs)


class LengthRule(TypeRule):
    """`Length`: of whatever has elements, and an end."""

    __slots__ = ()

    def run(self, solver: Solver) -> None:
        v = find(self.node.input)
        if self.done or v.head is None:
            return
        self.done = True
        if _is(v, T.Broadcast, "broadcast"):
            raise Misfit("an endless sequence has no length")
        if not isinstance(v.head, T.Input) and not compound(v.head):
            hint = "inside a function a tensor has a shape: ar.Function(lambda x: x * x.shape[0])"
            raise Misfit(
                f"Length counts elements, and {v.head} has none", hint if isinstance(v.head, T.Tensor) else ""
            )


class NthRule(TypeRule):
    """`Nth`: known as soon as the kind of the sequence is."""

    __slots__ = ("indexed", "watching")

    def __init__(self, node: Occurrence) -> None:
        super().__init__(node)
        self.watching = False
        self.indexed = False

    def run(self, solver: Solver) -> None:
        v = find(self.node.input)
        if self.done or v.head is None:
            return
        if isinstance(v.head, T.Input):
            self.done = True
            solver.assign(self.node.output, v.head, self.node)
            return
        pair = solver.view(v).args if _is(v, T.Tuple, "tuple") else []
        if len(pair) != 2:
            what = f"a tuple of {len(pair)}" if _is(v, T.Tuple, "tuple") else _word(v)
            raise Misfit(
                f"Nth takes the pair of a sequence and a place, and it gets {what}",
                "put them side by side first: (f & ar.GetItem('place')) >> ar.Nth(); "
                "a place that never changes is ar.GetItem(2)",
            )
        if not self.indexed:
            self.indexed = True
            solver.coerce(pair[1], TypeVariable(T.Input(), self.node), CoercionPlace("place", self.node, 1))
        items = find(pair[0])
        if items.head is None:
            if not self.watching:
                self.watching = True
                solver.add(self, items)
            return
        self.done = True
        if _is(items, T.Broadcast, "broadcast"):
            raise Misfit("item 0 is endless, and all its elements are one", "drop the Broadcast and the Nth")
        if not isinstance(items.head, T.Input) and not compound(items.head):
            raise Misfit(
                f"item 0 is {items.head}, which has no elements",
                "inside a function a tensor has items: ar.Function(lambda x, i: ar.ops.pick(x, i))"
                if isinstance(items.head, T.Tensor)
                else "",
            )
        spread_elements(solver, self.node, items, self.node.output, "zipped")

    def default(self, solver: Solver) -> bool:
        v = find(self.node.input)
        if v.head is None and known(self.node.output):
            pair = [solver.make("sequence", [self.node.output]), TypeVariable(T.Input(), self.node)]
            solver.bind(v, "tuple", pair, None, self.node, None)
            return True
        pair = solver.view(v).args if _is(v, T.Tuple, "tuple") else []
        return len(pair) == 2 and sequence_of(solver, self.node, pair[0], self.node.output)


class UnrollRule(TypeRule):
    """`Stack`: so many elements, each an item."""

    __slots__ = ()

    def run(self, solver: Solver) -> None:
        form = self.node.form
        assert isinstance(form, Unroll)
        v = find(self.node.input)
        if self.done or v.head is None:
            return
        self.done = True
        kind, length = form.kind, form.length
        if isinstance(v.head, T.Input):
            read = f"read it whole: ar.Tensor([{length}, ...]), or its elements first: ar.Map(ar.Vector(n))"
            raise Misfit(f"{kind} joins tensors, and the input is a Python object", read)
        if not compound(v.head):
            raise Misfit(f"{kind} joins the elements of a sequence, and {v.head} has none")
        if _is(v, T.Broadcast, "broadcast"):
            raise Misfit("an endless sequence has no length", f"{kind} what is beside it, after a Zip")
        args = solver.view(v).args
        if _is(v, T.Tuple, "tuple"):
            if len(args) != length:
                raise Misfit(f"{length} elements are expected, and the tuple has {len(args)} items")
            solver.unify(self.node.output, v)
            return
        solver.bind(self.node.output, "tuple", [args[0]] * length, None, self.node, None)


def _word(v: TypeVariable) -> str:
    return str(v.head) if isinstance(v.head, T.Type) else "a sequence"


def _is(v: TypeVariable, ground: type[T.Type], kind: str) -> bool:
    return isinstance(v.head, ground) or (isinstance(v.head, Struct) and v.head.kind == kind)
