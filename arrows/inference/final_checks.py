"""What can be judged only when all types are known."""

from __future__ import annotations

from typing import Any

from arrows.combinators import Constant, Graph, Item, Layer, Metric, NoDefault, Source, Tap, without_zero
from arrows.inference import explain
from arrows.inference.occurrences import Occurrence
from arrows.inference.rules import Misfit, position
from arrows.typesys import types as T
from arrows.typesys.terms import ground


def final_check(node: Occurrence, metrics: dict[str, tuple[T.Type, Occurrence]]) -> None:
    """What can be judged only when all types are known.

    Raises:
        ArrowTypeError: a last rule is broken.
    """
    form = node.form
    if isinstance(form, Metric):
        t = ground(node.input)
        tensor = t.children[0] if isinstance(t, T.Tuple) else t
        if not isinstance(tensor, T.Tensor):
            raise explain.refused(node, Misfit(f"the first item is {tensor}, which is no tensor"))
        known = metrics.setdefault(form.metric, (tensor, node))
        if known[0] != tensor:
            raise explain.two_metrics(node, tensor, known[1], known[0])
    elif isinstance(form, Tap):
        t = ground(node.input)
        assert t is not None
        wrong = untapped(t)
        if wrong is not None:
            raise explain.refused(node, wrong)
        known = metrics.setdefault(f"tap {form.tap}", (t, node))
        if known[0] != t:
            raise explain.two_metrics(node, t, known[1], known[0])
    elif isinstance(form, Constant) and form.type is None and not isinstance(form, NoDefault):
        t = ground(node.output)
        assert t is not None
        if without_zero(t) is not None:
            raise explain.no_default(node, t)
    elif isinstance(form, Item):
        t = ground(node.input)
        if isinstance(t, T.Tuple) and not isinstance(form.key, slice) and t.place(form.key) is None:
            try:
                position(form.key, t.labels, len(t.items))
            except Misfit as error:
                error.reason += "; places that give this tuple differ in their keys, and so it has none"
                raise explain.refused(node, error) from None
    elif isinstance(form, Graph):
        read = _read_wires(form)
        for j, part in enumerate(node.parts):
            void = isinstance(ground(part.output), T.Void) or isinstance(part.form, Tap)
            if j + 1 not in read and not void:
                raise explain.unread(node, j)
    elif isinstance(form, Layer) and node.first is not None:
        node.trace = node.first.trace


def untapped(t: T.Type) -> Misfit | None:
    """Why values of this type cannot be kept by a tap; None if they can."""
    todo, kinds = [t], set()
    while todo:
        x = todo.pop()
        if isinstance(x, T.Broadcast):
            return Misfit(
                f"{t} is endless, and what it is made of cannot all be kept", "tap one element of it"
            )
        if isinstance(x, (T.Input, T.Tensor)):
            kinds.add(type(x))
        todo.extend(x.children)
    if len(kinds) == 2:
        hint = "tap the items one by one, each under a name of its own"
        return Misfit(f"{t} has both tensors and Python objects inside, which are kept apart", hint)
    return None


def _read_wires(form: Graph[Any, Any]) -> set[int]:
    read: set[int] = set()
    todo: list[Source] = [form.output, *(n.source for n in form.nodes)]
    while todo:
        x = todo.pop()
        if isinstance(x, int):
            read.add(x)
        else:
            todo.extend(x)
    return read
