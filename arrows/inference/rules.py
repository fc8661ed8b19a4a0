"""The rules of single forms that must wait for a type: run again whenever it becomes better known."""

from __future__ import annotations

from typing import Any

from arrows.combinators import Apply, Fan, Item
from arrows.inference.containers import known
from arrows.inference.occurrences import CoercionPlace, Occurrence
from arrows.typesys import types as T
from arrows.typesys.errors import ArrowTypeError
from arrows.typesys.terms import Constraint, Struct, TypeVariable, compound, find, ground, labels_of
from arrows.typesys.unify import Solver


class Misfit(ArrowTypeError):
    """A form cannot take what it is given. The text is one sentence; the message around it is put together
    later.

    Attributes:
        reason: why, in one sentence.
        hint: the obvious repair, or empty.
    """

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


class TypeRule(Constraint):
    """A rule of one node."""

    __slots__ = ("done", "node")

    def __init__(self, node: Occurrence) -> None:
        super().__init__()
        self.node = node
        self.done = False

    def default(self, solver: Solver) -> bool:
        """Settles an input of which only the elements are known, as a sequence; whether it could."""
        return False


class MapRule(TypeRule):
    """`Map`: elements pass to its block, results make a sequence."""

    __slots__ = ("linked", "result", "source")

    def __init__(self, node: Occurrence, source: TypeVariable, result: TypeVariable) -> None:
        super().__init__(node)
        self.source = source
        self.result = result
        self.linked = False

    def run(self, solver: Solver) -> None:
        if self.done:
            return
        v = find(self.node.input)
        if v.head is None:
            out = find(self.node.output)
            if not self.linked and isinstance(out.head, (T.Sequence, T.Broadcast, Struct)):
                self.linked = True
                if len(solver.view(out).args) == 1:
                    solver.unify(self.result, solver.view(out).args[0])
            return
        self.done = True
        endless = spread_elements(solver, self.node, v, self.source, "element")
        solver.bind(
            self.node.output, "broadcast" if endless else "sequence", [self.result], None, self.node, None
        )

    @property
    def inside(self) -> TypeVariable:
        return self.source

    def default(self, solver: Solver) -> bool:
        return sequence_of(solver, self.node, self.node.input, self.source)


class FoldRule(TypeRule):
    """`Fold` and `Scan`: their elements."""

    __slots__ = ("container", "element")

    def __init__(
        self, node: Occurrence, element: TypeVariable, container: TypeVariable | None = None
    ) -> None:
        super().__init__(node)
        self.element = element
        self.container = node.input if container is None else container

    def run(self, solver: Solver) -> None:
        v = find(self.container)
        if self.done or v.head is None:
            return
        self.done = True
        if isinstance(v.head, T.Broadcast) or (isinstance(v.head, Struct) and v.head.kind == "broadcast"):
            raise Misfit(
                f"an endless sequence has no last element, so {self.node.form.kind} over it would never end",
                "go over a Zip of it with a sequence",
            )
        spread_elements(solver, self.node, v, self.element, "folded")

    @property
    def inside(self) -> TypeVariable:
        return self.element

    def default(self, solver: Solver) -> bool:
        return sequence_of(solver, self.node, self.container, self.element)


def sequence_of(solver: Solver, node: Occurrence, container: TypeVariable, element: TypeVariable) -> bool:
    """Makes an open container a sequence of elements of which something is known; whether it could."""
    if find(container).head is not None or not known(element):
        return False
    solver.bind(container, "sequence", [element], None, node, None)
    return True


def spread_elements(
    solver: Solver, node: Occurrence, v: TypeVariable, element: TypeVariable, where: str
) -> bool:
    """What is inside the container at `v` passes to `element`; whether the container is endless.

    Raises:
        Misfit: it has no elements.
    """
    if isinstance(v.head, T.Input):
        solver.coerce(TypeVariable(T.Input(), v.origin), element, CoercionPlace(where, node, 0))
        return False
    if not compound(v.head):
        kind = node.form.kind
        raise Misfit(
            f"{kind} goes over the elements of a sequence, and {v.head} has none",
            _without_map(node, element) if isinstance(v.head, T.Tensor) and kind == "Map" else "",
        )
    struct = solver.view(v)
    if struct.kind == "tuple" and not struct.args:
        raise Misfit(f"an empty tuple has no elements whose type {node.form.kind} could take")
    for i, arg in enumerate(struct.args):
        solver.coerce(arg, element, CoercionPlace(where, node, i if struct.kind == "tuple" else -1))
    return struct.kind == "broadcast"


def _without_map(node: Occurrence, element: TypeVariable) -> str:
    if isinstance(find(element).head, T.Input):
        return f"{node.form.label} reads a Python list itself: leave out what reads it before"
    return "apply the block itself to it, without Map"


class ApplyRule(TypeRule):
    """`Function` and layers: traced once their input is ground."""

    __slots__ = ("float_type", "traces")

    def __init__(self, node: Occurrence, float_type: str | None, traces: dict[Any, Any]) -> None:
        super().__init__(node)
        self.float_type = float_type
        self.traces = traces

    def run(self, solver: Solver) -> None:
        t = ground(self.node.input)
        if self.done or t is None:
            return
        self.done = True
        form = self.node.form
        assert isinstance(form, Apply)
        wrong = no_tensor(t)
        if wrong is not None and form.check(t) is None:
            raise Misfit(*wrong)
        trouble = form.check(t)
        if trouble is not None:
            raise Misfit(*((trouble,) if isinstance(trouble, str) else trouble))
        key = (id(form), t)
        found = self.traces.get(key)
        if found is None:
            from arrows import ops

            found = self.traces[key] = ops.trace(form.function, t, float_type=self.float_type)
        self.node.trace = found
        solver.assign(self.node.output, found.output, self.node)


def no_tensor(t: T.Type) -> tuple[str, str] | None:
    """Why a function of tensors cannot take `t`: a reason and a hint; None if it can."""
    todo = [(t, "it")]
    while todo:
        x, where = todo.pop()
        if isinstance(x, T.Input):
            reason = f"a function takes tensors, and {'the input' if x is t else where} is a Python object"
            reader = "read it first: ar.Scalar(), ar.Vector(n) or ar.Tensor(shape)"
            return reason, f"{reader}; a function of Python objects is ar.InputTransform(f)"
        if isinstance(x, T.Void):
            return f"a function takes tensors, and {'the input' if x is t else where} is Void: nothing", ""
        if isinstance(x, T.Broadcast):
            return f"a function takes tensors, and {'the input' if x is t else where} is endless: {x}", ""
        if isinstance(x, T.Tuple):
            names = x.labels if x.labels is not None else range(len(x.items))
            todo.extend(
                (item, f"item {name!r}") for name, item in reversed(list(zip(names, x.items, strict=True)))
            )
        elif isinstance(x, T.Sequence):
            todo.append((x.element, "an element"))
    return None


class ItemRule(TypeRule):
    """`GetItem`."""

    __slots__ = ()

    def run(self, solver: Solver) -> None:
        form = self.node.form
        assert isinstance(form, Item)
        v = find(self.node.input)
        if self.done or v.head is None:
            return
        self.done = True
        if isinstance(v.head, T.Input):
            solver.assign(self.node.output, v.head, self.node)
            return
        if not compound(v.head):
            hint = "take items before the object is read into a tensor; f & g reads two of them"
            if isinstance(form.key, (int, slice)):
                hint = f"inside a function a tensor has items: ar.Function(lambda x: x[{_index(form.key)}])"
            raise Misfit(f"{v.head} has no items", hint if isinstance(v.head, T.Tensor) else "")
        if isinstance(v.head, T.Tuple):
            self._of_tuple(solver, v, len(v.head.items))
            return
        struct = solver.view(v)
        if struct.kind == "tuple":
            self._of_tuple(solver, v, len(struct.args))
        elif struct.kind == "sequence":
            self._of_sequence(solver, v, struct, form.key)
        else:
            if _endless_part(form.key):
                solver.unify(self.node.output, v)
                return
            raise Misfit(
                "an endless sequence has no items to take; all its elements are one",
                f"drop the {form.kind}",
            )

    def _of_tuple(self, solver: Solver, v: TypeVariable, count: int) -> None:
        form = self.node.form
        assert isinstance(form, Item)
        if form.arity is not None and form.arity != count:
            raise Misfit(
                f"{form.arity} items are expected, and the tuple has {count}", f"take it apart into {count}"
            )
        if isinstance(form.key, slice):
            struct, chosen = solver.view(v), range(count)[form.key]
            labels = tuple(struct.labels[i] for i in chosen) if struct.labels is not None else None
            solver.bind(self.node.output, "tuple", [struct.args[i] for i in chosen], labels, self.node, None)
            return
        try:
            found = v.head.place(form.key) if isinstance(v.head, T.Tuple) else None
            place = position(form.key, labels_of(v.head), count) if found is None else found
        except Misfit as error:
            source = v.origin.form if isinstance(v.origin, Occurrence) else None
            if labels_of(v.head) is None and isinstance(source, Fan) and source.labels is not None:
                error.reason = (
                    f"there is no item {form.key!r}: the places that give this tuple have other keys"
                )
                error.hint = "keys are kept where all places have the same ones in the same order"
            raise
        item = v.head.items[place] if isinstance(v.head, T.Tuple) else None
        if item is not None and not item.labelled:
            # All is known, and no key of the item can be lost later: the tuple's other items need no look,
            # of which there may be thousands.
            solver.assign(self.node.output, item, v.origin, v.via)
        else:
            solver.unify(self.node.output, solver.view(v).args[place])

    @property
    def inside(self) -> TypeVariable | None:
        form = self.node.form
        assert isinstance(form, Item)
        return self.node.output if form.arity is None else None

    def default(self, solver: Solver) -> bool:
        form, v, out = self.node.form, find(self.node.input), find(self.node.output)
        assert isinstance(form, Item)
        if v.head is not None:
            return False
        if form.arity is not None and known(out):  # a parameter of an arrow of several
            items = [out if i == form.key % form.arity else TypeVariable() for i in range(form.arity)]
            solver.bind(v, "tuple", items, None, self.node, None)
            return True
        if not isinstance(form.key, slice) or not sequential(out):
            return False
        solver.unify(v, out)
        return True

    def _of_sequence(self, solver: Solver, v: TypeVariable, struct: Struct, key: Any) -> None:
        if isinstance(key, slice):
            solver.unify(self.node.output, v)
        elif isinstance(key, int):
            solver.unify(self.node.output, struct.args[0])
        else:
            raise Misfit(
                f"an element of a sequence is taken by its number, not by {key!r}",
                f"the item of every element: ar.Map(ar.GetItem({key!r}))",
            )


def sequential(v: TypeVariable) -> bool:
    """Whether it is known to be a sequence, of whatever."""
    return isinstance(v.head, T.Sequence) or (isinstance(v.head, Struct) and v.head.kind == "sequence")


def _endless_part(key: Any) -> bool:
    """Whether a slice of an endless sequence is one itself."""
    return isinstance(key, slice) and key.stop is None and (key.start or 0) >= 0 and (key.step or 1) > 0


def _index(key: int | slice) -> str:
    """An index as it is written between brackets."""
    if isinstance(key, int):
        return str(key)
    words = ["" if x is None else str(x) for x in (key.start, key.stop, key.step)]
    return ":".join(words if key.step is not None else words[:2])


def position(key: Any, labels: tuple[Any, ...] | None, count: int) -> int:
    """The place of a tuple's item: by label first, then by position.

    Raises:
        Misfit: there is no such item.
    """
    if labels is not None and key in labels:
        return labels.index(key)
    if isinstance(key, int):
        if -count <= key < count:
            return key % count
        items = "no items" if count == 0 else f"items 0 to {count - 1}" if count > 1 else "one item, 0"
        raise Misfit(f"there is no item {key}: the tuple has {items}")
    if labels is None:
        raise Misfit(
            f"there is no item {key!r}: the tuple has no keys",
            "take it by position, or make the tuple with ar.Record({...}), which keeps keys",
        )
    raise Misfit(
        f"there is no item {key!r}: the keys are {', '.join(map(repr, labels))}", _nearest(key, labels)
    )


def _nearest(key: Any, labels: tuple[Any, ...]) -> str:
    import difflib

    close = difflib.get_close_matches(str(key), [str(x) for x in labels], 1)
    return f"did you mean {close[0]!r}?" if close else ""


class MetricRule(TypeRule):
    """`Metric`: a tensor, or a tensor and a label."""

    __slots__ = ()

    def run(self, solver: Solver) -> None:
        v = find(self.node.input)
        if self.done or v.head is None:
            return
        self.done = True
        if isinstance(v.head, T.Tensor):
            return
        hint = "a metric takes a tensor, or the pair of a tensor and a Python object that labels it"
        if isinstance(v.head, T.Tuple) or (isinstance(v.head, Struct) and v.head.kind == "tuple"):
            struct = solver.view(v)
            if len(struct.args) != 2:
                raise Misfit(f"it gets a tuple of {len(struct.args)} items", hint)
            solver.coerce(
                struct.args[1], TypeVariable(T.Input(), self.node), CoercionPlace("label", self.node, 0)
            )
            return
        if isinstance(v.head, T.Input):
            hint = "read it first: ar.Scalar() >> ar.Metric(...)"
        raise Misfit(
            f"it gets {v.head if isinstance(v.head, T.Type) else 'a sequence'}, which is no tensor", hint
        )
