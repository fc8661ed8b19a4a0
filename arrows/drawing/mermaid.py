"""A scene as a Mermaid flow chart; documentation sites and code hosts render these."""

from __future__ import annotations

from arrows.drawing.scene import Box, Scene, shorten

ROUNDED = "([", "])"
SHAPES = {
    "join": ROUNDED,
    "case": ROUNDED,
    "port": ROUNDED,
    "again": ("[[", "]]"),
    "effect": ("[/", "/]"),
}
"""The brackets around the text of a box; a style that is not listed has square ones."""
UNSAFE = str.maketrans({c: f"#{ord(c)};" for c in '"#&<>`\\|{}[]()*_~;'})


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
    knots: dict[object, str] = {}
    loops: list[tuple[str, object]] = []
    wires: list[tuple[Box, Box]] = []
    todo = [(scene, 0, "  ")]
    while todo:
        inner, at, indent = todo.pop()
        if at == len(inner.boxes):
            wires.extend((inner.boxes[a], inner.boxes[b]) for a, b in inner.wires)
            if inner is not scene:
                lines.append(f"{indent[2:]}end")
            continue
        todo.append((inner, at + 1, indent))
        box = inner.boxes[at]
        name = names[id(box)] = f"n{len(names)}"
        if at == 0 and inner.knot is not None:
            knots[inner.knot] = name
        if box.knot is not None:
            loops.append((name, box.knot))
        text = f'"{box.text.translate(UNSAFE)}"'
        if box.scene is not None:
            lines.append(f"{indent}subgraph {name}[{text}]")
            todo.append((box.scene, 0, f"{indent}  "))
        else:
            left, right = ("((", "))") if box.is_dot else SHAPES.get(box.style, ("[", "]"))
            lines.append(f"{indent}{name}{left}{' ' if box.is_dot else text}{right}")
    for source, target in wires:
        word = f'|"{shorten(source.output).translate(UNSAFE)}"|' if source.output else ""
        lines.append(f"  {names[id(_end(source, -1))]} -->{word} {names[id(_end(target, 0))]}")
    lines += [f'  {name} -.->|"again"| {knots[knot]}' for name, knot in loops]
    return "\n".join(lines) + "\n"


def _end(box: Box, place: int) -> Box:
    """Returns the node at which a wire ends: for a frame with one entrance and one exit, one of these."""
    while box.scene is not None and sum(inner.is_dot for inner in box.scene.boxes) == 2:
        box = box.scene.boxes[place]
    return box
