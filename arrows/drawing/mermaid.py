"""A scene as a Mermaid flow chart; documentation sites and code hosts render these."""

from __future__ import annotations

from collections.abc import Hashable

from arrows.drawing.scene import Box, FrameBox, ReferenceBox, Scene, is_dot
from arrows.drawing.shapes import BoxStyle

SHAPES = {
    BoxStyle.JOIN: ("([", "])"),
    BoxStyle.CASE: ("([", "])"),
    BoxStyle.PORT: ("([", "])"),
    BoxStyle.AGAIN: ("[[", "]]"),
    BoxStyle.EFFECT: ("[/", "/]"),
}
"""The brackets around the text of a box; a style that is not listed has square ones."""
UNSAFE = {c: f"#{ord(c)};" for c in '"#&<>`\\|{}[]()*_~;'}


def to_mermaid(scene: Scene) -> str:
    """Writes a scene as a flow chart: wires carry types, and a recursion is a dotted wire that leads back.

    Example:
        >>> import arrows as ar
        >>> from arrows.drawing import scene_of
        >>> print(to_mermaid(scene_of(ar.infer(ar.Map(ar.Scalar("int32"))))), end="")
        flowchart TD
          n0(( ))
          n1["Map#40;Scalar#40;'int32'#41;#41;"]
          n2(( ))
          n0 -->|"Input"| n1
          n1 -->|"Sequence#40;int32#41;"| n2
    """
    lines = ["flowchart TD"]
    names: dict[int, str] = {}
    knots: dict[Hashable, str] = {}
    loops: list[tuple[str, Hashable]] = []
    wires: list[tuple[Box, Box]] = []
    todo: list[tuple[Scene, int, int]] = [(scene, 0, 1)]
    while todo:
        inner, at, depth = todo.pop()
        indent = "  " * depth
        if at == len(inner.boxes):
            wires.extend((inner.boxes[a], inner.boxes[b]) for a, b in inner.wires)
            if inner is not scene:
                lines.append(f"{'  ' * (depth - 1)}end")
            continue
        todo.append((inner, at + 1, depth))
        box = inner.boxes[at]
        name = names[id(box)] = f"n{len(names)}"
        if at == 0 and inner.knot is not None:
            knots[inner.knot] = name
        if isinstance(box, ReferenceBox):
            loops.append((name, box.knot))
        if isinstance(box, FrameBox):
            lines.append(f'{indent}subgraph {name}["{quoted(box.text)}"]')
            todo.append((box.scene, 0, depth + 1))
        elif not box.text:
            lines.append(f"{indent}{name}(( ))")
        else:
            left, right = SHAPES.get(box.style, ("[", "]"))
            lines.append(f'{indent}{name}{left}"{quoted(box.text)}"{right}')
    for source, target in wires:
        word = f'|"{quoted(source.output.short)}"|' if source.output.short else ""
        lines.append(f"  {names[id(_end(source, -1))]} -->{word} {names[id(_end(target, 0))]}")
    for name, knot in loops:
        lines.append(f'  {name} -.->|"again"| {knots[knot]}')
    return "\n".join(lines) + "\n"


def _end(box: Box, place: int) -> Box:
    """Returns the node at which a wire ends: for a frame with one entrance and one exit, one of these."""
    while isinstance(box, FrameBox) and sum(is_dot(b) for b in box.scene.boxes) == 2:
        box = box.scene.boxes[place]
    return box


def quoted(text: str) -> str:
    """Escapes a text for the quotation marks of Mermaid: characters of its syntax become codes.

    Example:
        >>> quoted('say "hi"')
        'say #34;hi#34;'
    """
    return "".join(UNSAFE.get(c, c) for c in text)
