"""Message passing on graphs: each node's state is updated by messages along the edges to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from arrows.combinators.base.arguments import require_flag, wrong_argument
from arrows.combinators.base.block import AnyBlock, B, Block, Pipe, as_block, chain, derived
from arrows.combinators.base.printing import Argument, keywords
from arrows.combinators.base.wires import Wire
from arrows.combinators.fanout import Fan
from arrows.combinators.items import GroupBy, Item, Nth
from arrows.combinators.reductions import Max, Mean, Sum
from arrows.combinators.sequences import Broadcast, Map, Zip
from arrows.typesys import explains_arguments

COMBINE: dict[str, Callable[[], AnyBlock]] = {
    "sum": Sum,
    "mean": lambda: Mean(default=0),
    "max": lambda: Max(default=0),
}


@explains_arguments("block")
def MessagePassing(
    message: Callable[[Wire[Any]], Wire[Any]],
    update: Callable[[Wire[Any]], Wire[B]] | None = None,
    combine: str | Callable[[Wire[Any]], Wire[Any]] = "sum",
    *,
    features: bool = False,
    name: str | None = None,
) -> Block[Any, Sequence[B]]:
    """One round of message passing on a graph: from (nodes, edges) to the new nodes.

    Along each edge (i, j) goes the message `message(node i, node j)`. Node j becomes
    `update(messages to j, node j)`, where its messages are combined to one. All nodes change at once.

    The nodes are a sequence of states, of any type. The edges are Python objects: pairs (source, target) of
    places, integers from 0, or a sequence of such pairs; each edge has one direction, and a bond that goes
    both ways stands there twice. With `features=True` the input is (nodes, edges, features), the features are
    a sequence with an element for each edge, and the message is `message(node i, node j, features)`.

    Several rounds are several blocks, or the same one again: that shares its weights. The work is that of
    `message` for each edge and of `update` for each node, each as one operation for all graphs of a batch.

    Args:
        message: from (source, target), or (source, target, features), to a message.
        update: from (combined messages, node) to the new node, as a cell takes (element, state). Left out,
            the combined messages are the result.
        combine: how the messages to one node become one: "sum", "mean" or "max", each number by itself, zeros
            where there are none; or a block from the sequence of messages, such as `ar.Attention(score)`.
        features: whether the input has features of edges.
        name: the name in messages.

    Raises:
        ArrowTypeError: an argument is no block, or no such word; at `compile`, an input that is no such pair
            or triple, edges that are tensors, or blocks that do not fit.
        InputError: at evaluation, an edge to a place where no node is, or another number of features.

    Source: Gilmer, Schoenholz, Riley, Vinyals, Dahl, "Neural message passing for quantum chemistry", ICML
        2017, equations 1 and 2; Battaglia et al., "Relational inductive biases, deep learning, and graph
        networks", 2018.

    Example:
        >>> import arrows as ar
        >>> nodes = ar.GetItem("nodes") >> ar.Map(ar.Scalar())
        >>> add = ar.Function(lambda messages, node: node + messages)
        >>> block = (nodes & ar.GetItem("edges")) >> ar.MessagePassing(ar.GetItem(0), add)
        >>> graph = {"nodes": [1, 10, 100], "edges": [[0, 1], [2, 1], [1, 2]]}
        >>> [float(x) for x in block.eval(graph)]
        [1.0, 111.0, 110.0]
    """
    require_flag("a MessagePassing", "features", features)
    if not isinstance(combine, str):
        pool = as_block(combine, "the combine of a MessagePassing")
    elif combine in COMBINE:
        pool = COMBINE[combine]()
    else:
        ways = ", ".join(map(repr, COMBINE))
        raise wrong_argument("a MessagePassing", f"combine is one of {ways}, or a block, not {combine!r}")
    send = as_block(message, "the message of a MessagePassing")
    change = None if update is None else as_block(update, "the update of a MessagePassing")
    words: list[Argument] = [send] if change is None else [send, change]
    if combine != "sum":
        words.append(f"combine={combine!r}" if isinstance(combine, str) else ["combine=", pool])
    words += keywords(features=features)

    wanted = "(nodes, edges), with features=True (nodes, edges, features)"
    inputs: list[AnyBlock] = [Item(i, arity=2 + features, takes=wanted) for i in range(2 + features)]
    nodes, edges, *beside = inputs
    sources, targets = (chain(edges, Map(_EndOfEdge(i))) for i in (0, 1))
    every_node, node = chain(nodes, Broadcast()), _NodeAt()
    states = [chain(Fan((every_node, end)), Pipe(Zip(), Map(node))) for end in (sources, targets)]
    messages = chain(Fan((*states, *beside)), Pipe(_Sides(), Map(send)))
    received: AnyBlock = chain(Fan((messages, targets, nodes)), Pipe(GroupBy(), Map(pool)))
    if change is not None:
        received = Pipe(Fan((received, nodes)), Zip(), Map(change))
    return derived("MessagePassing", words, *received.parts, name=name)


class _EndOfEdge(Item[Any, Any]):
    """The place that an end of an edge names; edges are Python objects."""

    of_objects = True


class _NodeAt(Nth):
    """The node at a place."""

    from_end = False


class _Sides(Zip):
    """The nodes at both ends of each edge, and its features."""

    uneven = "each edge has its features, in the order of the edges"
