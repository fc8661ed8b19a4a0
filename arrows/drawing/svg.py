"""A drawing as SVG: plain shapes, colours that read on light and dark backgrounds, escaped texts."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from arrows.drawing.shapes import Drawing, Placed, PlacedText, Polyline, TextStyle

ROUND = 7  # radius of a rounded corner, in pixels
HEAD = 5  # half the width of an arrowhead, in pixels
SIZE = 12  # font size, in pixels

FONTS = "ui-monospace,SFMono-Regular,Menlo,'DejaVu Sans Mono','Liberation Mono',Consolas,monospace"
COLOURS = """\
.arrows-drawing .ground{fill:#fcfcfd}
.arrows-drawing .frame{fill:#5b6b8c0d;stroke:#9aa5b8;stroke-width:1}
.arrows-drawing .box{fill:#fff;stroke:#5b6472;stroke-width:1.2}
.arrows-drawing .layer{fill:#dbe9ff;stroke:#2f6bd0}
.arrows-drawing .data{fill:#e4f4e4;stroke:#3d8b45}
.arrows-drawing .constant{fill:#eef0f3;stroke:#7b8494}
.arrows-drawing .effect{fill:#fff0d6;stroke:#b5761a}
.arrows-drawing .again{fill:#f6e6fb;stroke:#9a3fb5}
.arrows-drawing .more{fill:#fff;stroke:#7b8494;stroke-dasharray:4 3}
.arrows-drawing .join,.arrows-drawing .case,.arrows-drawing .port{fill:#eceff4;stroke:#9aa5b8}
.arrows-drawing .dot{fill:#5b6472}
.arrows-drawing text{fill:#1c2330}
.arrows-drawing .type{fill:#52607a;font-style:italic}
.arrows-drawing .title{fill:#3d4960;font-weight:bold}
.arrows-drawing .wire{fill:none;stroke:#5b6472;stroke-width:1.2}
.arrows-drawing .loop{fill:none;stroke:#9a3fb5;stroke-width:1.4;stroke-dasharray:5 3}
.arrows-drawing .head{fill:#5b6472}
.arrows-drawing .back{fill:#9a3fb5}
@media (prefers-color-scheme:dark){
.arrows-drawing .ground{fill:#161a21}
.arrows-drawing .frame{fill:#a9b8d80d;stroke:#566075}
.arrows-drawing .box{fill:#222833;stroke:#8a94a6}
.arrows-drawing .layer{fill:#1d3358;stroke:#6ea0f5}
.arrows-drawing .data{fill:#1d3a22;stroke:#69b873}
.arrows-drawing .constant{fill:#2b313c;stroke:#8a94a6}
.arrows-drawing .effect{fill:#46341a;stroke:#d99f45}
.arrows-drawing .again{fill:#3d2147;stroke:#c983de}
.arrows-drawing .more{fill:#222833;stroke:#8a94a6}
.arrows-drawing .join,.arrows-drawing .case,.arrows-drawing .port{fill:#2b313c;stroke:#566075}
.arrows-drawing .dot,.arrows-drawing .head{fill:#a3adbd}
.arrows-drawing text{fill:#e8ecf3}
.arrows-drawing .type{fill:#a9b6cf}
.arrows-drawing .title{fill:#c3cede}
.arrows-drawing .wire{stroke:#a3adbd}
.arrows-drawing .loop{stroke:#c983de}
.arrows-drawing .back{fill:#c983de}
}"""
STYLE = f".arrows-drawing{{font:{SIZE}px/1.3 {FONTS}}}\n{COLOURS}"


def to_svg(drawing: Drawing, name: str = "") -> str:
    """Writes a drawing as an SVG document.

    Args:
        drawing: a drawing that is laid out in pixels.
        name: what it shows, for screen readers.

    Example:
        >>> from arrows.drawing.shapes import Drawing
        >>> to_svg(Drawing(10, 10)).startswith("<svg ")
        True
    """
    width, height = drawing.width, drawing.height
    size = f'width="{width}" height="{height}"'
    label = f" aria-label={quoteattr(name)}" if name else ""
    view = f'viewBox="0 0 {width} {height}" role="img"{label}'
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="arrows-drawing" {size} {view}>',
        f"<style>{STYLE}</style>",
        f'<rect class="ground" {size} rx="8"/>',
    ]
    for frame in drawing.frames:
        out.append(_rect(frame, "frame", 8))
    for line in drawing.lines:
        out.append(_line(line))
    for box in drawing.boxes:
        x, y, w, h = box.rect
        if not box.text:
            out.append(f'<circle class="dot" cx="{x + w / 2:g}" cy="{y + h / 2:g}" r="{w / 2 - 0.5:g}"/>')
            continue
        out.append(_rect(box, f"box {box.style}", h // 2 if box.style.rounded else 5))
        out.append(_text(box, x + w / 2, "middle"))
    for text in drawing.texts:
        middle = text.style is TextStyle.TYPE
        out.append(
            _text(text, text.rect.x + (text.rect.width / 2 if middle else 0), "middle" if middle else "")
        )
    out.append("</svg>")
    return "\n".join(out) + "\n"


def _rect(placed: Placed, style: str, radius: int) -> str:
    x, y, w, h = placed.rect
    shape = (
        f'<rect class="{style}" x="{x + 0.5}" y="{y + 0.5}" width="{w - 1}" height="{h - 1}" rx="{radius}"'
    )
    return f"{shape}>{_hint(placed)}</rect>" if _hint(placed) else f"{shape}/>"


def _text(placed: Placed, x: float, anchor: str) -> str:
    y = placed.rect.y + placed.rect.height / 2 + SIZE * 0.35
    style = f' class="{placed.style}"' if isinstance(placed, PlacedText) else ""
    where = f'x="{x:g}" y="{y:g}"' + (f' text-anchor="{anchor}"' if anchor else "")
    return f"<text{style} {where}>{_hint(placed)}{escape(placed.text)}</text>"


def _hint(placed: Placed) -> str:
    return f"<title>{escape(placed.hint)}</title>" if placed.hint and placed.hint != placed.text else ""


def _line(line: Polyline) -> str:
    points = [(x + 0.5, y + 0.5) for x, y in line.points]
    way = f"M{points[0][0]:g} {points[0][1]:g}"
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        start, end = _toward(corner, before), _toward(corner, after)
        way += f"L{start[0]:g} {start[1]:g}Q{corner[0]:g} {corner[1]:g} {end[0]:g} {end[1]:g}"
    (px, py), (x, y) = points[-2:]
    head = ""
    if line.arrow:
        down = x == px
        sign = (1 if y > py else -1) if down else (1 if x > px else -1)
        tip = (x, y - 0.5) if down else (x, y)
        a, b = (HEAD, 2 * HEAD - 2)
        left, right = ((x - a, y - b * sign), (x + a, y - b * sign))
        if not down:
            left, right = (x - b * sign, y - a), (x - b * sign, y + a)
        x, y = (x, y - sign * a) if down else (x - sign * a, y)
        corners = " ".join(f"{p:g},{q:g}" for p, q in (tip, left, right))
        head = f'<polygon class="{"back" if line.loop else "head"}" points="{corners}"/>'
    return f'<path class="{"loop" if line.loop else "wire"}" d="{way}L{x:g} {y:g}"/>{head}'


def _toward(corner: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """Returns the point where the rounding of a corner begins, at most half the way to the other corner."""
    dx, dy = other[0] - corner[0], other[1] - corner[1]
    length = abs(dx) + abs(dy)
    part = min(ROUND, length / 2) / length if length else 0
    return corner[0] + dx * part, corner[1] + dy * part
