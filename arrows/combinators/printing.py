"""Blocks as text, by explicit stacks."""

from __future__ import annotations

from collections import deque
from typing import Any

from arrows.combinators.block import AnyBlock, Block
from arrows.combinators.choice import Choice
from arrows.combinators.compose import Pipe
from arrows.combinators.fanout import AndFan, Fan
from arrows.combinators.inputs import Item, function_name
from arrows.combinators.notation import Graph
from arrows.combinators.parallel import Parallel
from arrows.combinators.recursion import Fix, Reference
from arrows.combinators.wires import Source

PIECES = 1_000_000
LONG = 20_000  # pieces; what is longer has names for what stands in it more than once
SHORT = 12  # pieces of a block that gets no name for that


def expression(block: AnyBlock) -> str:
    """A block as the expression that makes it.

    Example:
        >>> import arrows as ar
        >>> (ar.GetItem("a") >> ar.Scalar() & ar.Zeros([2])) >> ar.Concat()
        (GetItem('a') >> Scalar('float32') & Zeros(float32[2])) >> Concat()

        Definitions that refer to one another are printed once, behind the expression:

        >>> a, b = ar.fix(lambda a, b: (ar.GetItem(0) >> b, ar.OneOf(len).case(0, ar.Scalar()).case(1, a)))
        >>> ar.Map(a)
        Map(a) where a = GetItem(0) >> b, b = OneOf(len, {0: Scalar('float32'), 1: a})

        So are blocks that stand in several places, where the expression would get too long without.

        >>> block = ar.Scalar()
        >>> for _ in range(60):
        ...     block = ar.AllOf(block, block) >> ar.Sum()
        >>> block
        AllOf(block, block) >> Sum() where block = AllOf(block_2, block_2) >> Sum(), ...
    """
    text: list[str] = []
    several = _several(block)
    todo: list[AnyBlock | str] = [block]
    names: dict[int, str] = {}
    taken: dict[str, int] = {}
    beyond: deque[tuple[str, AnyBlock]] = deque()
    count = 0
    begun = block
    while todo:
        if len(text) > PIECES:
            return "".join(text) + "..."
        x = todo.pop()
        if isinstance(x, str):
            text.append(x)
        elif id(x) in several and x is not begun:
            name = names.get(id(x))
            if name is None:
                name = names[id(x)] = _unused(x.name or "block", taken)
                beyond.append((name, x))
            text.append(name)
        elif isinstance(x, (Fix, Reference)):
            name = names.get(id(x.token))
            if name is None:
                name = names[id(x.token)] = _unused(x.token.name, taken)
                if x.definition is not None:
                    beyond.append((name, x.definition))
            todo.extend((")", x.body, f"fix({name}: ") if isinstance(x, Fix) else (name,))
        else:
            todo.extend(reversed(_pieces(x)))
        if not todo and beyond:
            name, definition = beyond.popleft()
            begun = definition
            todo = [definition, f"{', ' if count else ' where '}{name} = "]
            count += 1
    return "".join(text)


def _printed(x: AnyBlock) -> list[AnyBlock]:
    """The blocks that are printed where a block is."""
    if isinstance(x, (Fix, Reference)):
        return list(x.parts)
    return [piece for piece in _pieces(x) if isinstance(piece, Block)]


def _several(root: AnyBlock) -> set[int]:
    """The blocks to print once, by name, for the whole is too long else."""
    sizes: dict[int, int] = {}
    inside: dict[int, list[AnyBlock]] = {}
    roots = [root]
    for start in roots:
        todo = [start]
        while todo:
            x = todo[-1]
            if id(x) not in inside:
                inside[id(x)] = _printed(x)
                todo.extend(piece for piece in inside[id(x)] if id(piece) not in inside)
                roots.extend([x.definition] if x.definition is not None else [])
                continue
            todo.pop()
            if id(x) not in sizes:
                sizes[id(x)] = 1 + sum(sizes[id(piece)] for piece in inside[id(x)])
    if sum(sizes[id(start)] for start in {id(start): start for start in roots}.values()) <= LONG:
        return set()
    places: dict[int, int] = {}
    for pieces in inside.values():
        for piece in pieces:
            places[id(piece)] = places.get(id(piece), 0) + 1
    return {block for block, count in places.items() if count > 1 and sizes[block] > SHORT}


def _unused(name: str, taken: dict[str, int]) -> str:
    """A name for a reference; another knot may have the same, and both may stand in one text.

    `taken` counts the names that were made of each.
    """
    made = name
    while made in taken:
        taken[name] += 1
        made = f"{name}_{taken[name]}"
    taken[made] = 1
    return made


def _pieces(x: AnyBlock) -> list[AnyBlock | str]:
    """A block as text around its parts."""
    parts = x.parts
    name = "" if x.name is None else f"name={x.name!r}"
    written = x.written()
    if isinstance(x, Pipe) and x.name is None and parts and written is None:
        pieces: list[AnyBlock | str] = []
        for i, step in enumerate(parts):
            pieces.append(" >> " if i else "")
            loose = isinstance(step, AndFan) or (
                isinstance(step, Pipe) and step.name is None and len(step.parts) > 1 and not step.written()
            )
            pieces.extend(["(", step, ")"] if loose else [step])
        return pieces
    if isinstance(x, AndFan):
        pieces = []
        for i, part in enumerate(parts):
            pieces.append(" & " if i else "")
            pieces.extend(["(", part, ")"] if isinstance(part, AndFan) else [part])
        return pieces
    if isinstance(x, Parallel):
        return _beside(x)
    if isinstance(x, Graph):
        return _graph(x)
    head = "Identity" if isinstance(x, Pipe) and not parts and written is None else x.kind
    inside: list[list[AnyBlock | str]]
    if isinstance(x, Fan) and x.labels is not None:
        fields: list[AnyBlock | str] = []
        for i, (key, part) in enumerate(zip(x.labels, parts, strict=True)):
            fields.extend([", " if i else "{", f"{key!r}: ", *_field(key, part)])
        inside = [[*fields, "}"] if fields else ["{}"]]
    elif isinstance(x, Choice) and x.kind != "Optional":
        cases: list[AnyBlock | str] = []
        for i, (key, case) in enumerate(zip(x.keys, x.cases, strict=True)):
            cases.extend([", " if i else "{", f"{key!r}: ", case])
        key_block = x.key_block
        inside = [[key_block if key_block is not None else function_name(x.key)], [*cases, "}"]]
    elif written is not None:
        inside = [written]
    elif parts:
        inside = [[part] for part in parts]
    else:
        inside = [[x.arguments()]] if x.arguments() else []
    if name:
        inside.append([name])
    pieces = [f"{head}("]
    for i, group in enumerate(inside):
        pieces.extend([", " if i else "", *group])
    return [*pieces, ")"]


def _field(key: Any, part: AnyBlock) -> list[AnyBlock | str]:
    """A record's field without the `GetItem` that a Record puts before it."""
    if isinstance(part, Item) and part.key == key:
        return ["Identity()"]
    if isinstance(part, Pipe) and part.name is None and part.parts:
        first = part.parts[0]
        if isinstance(first, Item) and first.key == key:
            pieces: list[AnyBlock | str] = []
            for i, step in enumerate(part.parts[1:]):
                pieces.append(" >> " if i else "")
                pieces.extend(["(", step, ")"] if isinstance(step, AndFan) else [step])
            return pieces
    return [part]


def _beside(x: Parallel) -> list[AnyBlock | str]:
    pieces: list[AnyBlock | str] = []
    for i, (steps, brackets) in enumerate(x.operands()):
        pieces.extend([" * "] if i else [])
        pieces.extend(["("] if brackets else [])
        for j, step in enumerate(steps):
            inner = len(steps) > 1 and isinstance(step, AndFan)
            pieces.extend([" >> "] if j else [])
            pieces.extend(["(", step, ")"] if inner else [step])
        pieces.extend([] if steps else ["Identity()"])
        pieces.extend([")"] if brackets else [])
    return pieces


def _graph(x: Graph[Any, Any]) -> list[AnyBlock | str]:
    root = x.parameters[0] if len(x.parameters) == 1 else "input"
    head = "" if x.title else f"arrow {x.name or 'lambda'}({', '.join(x.parameters)}) "
    pieces: list[AnyBlock | str] = [f"{head}{{"]
    for j, (node, block) in enumerate(zip(x.nodes, x.parts, strict=True)):
        pieces.extend([f"w{j + 1} = (", block, f")({_source(node.source, root)}); "])
    return [*pieces, f"return {_source(x.output, root)}}}"]


def _source(source: Source, root: str) -> str:
    text: list[str] = []
    todo: list[Source | str] = [source]
    while todo:
        x = todo.pop()
        if isinstance(x, str):
            text.append(x)
        elif isinstance(x, int):
            text.append(root if x == 0 else f"w{x}")
        else:
            inside: list[Source | str] = ["("]
            for i, item in enumerate(x):
                inside.extend([", ", item] if i else [item])
            todo.extend(reversed([*inside, ",)" if len(x) == 1 else ")"]))
    return "".join(text)
