"""A drawing as SVG: plain shapes, colours that read on light and dark backgrounds, escaped texts."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from arrows.drawing.layout import Drawing, Placed, Polyline

ROUND = 7  # radius of a rounded corner, in pixels
HEAD = 5  # half the width of an arrowhead, in pixels
SIZE = 12  # font size, in pixels

FONTS = "ui-monospace,SFMono-Regular,Menlo,'DejaVu Sans Mono','Liberation Mono',Consolas,monospace"
COLOURS = {
    ".ground": ("fill:#fcfcfd", "fill:#161a21"),
    ".frame": ("fill:#5b6b8c0d;stroke:#9aa5b8", "fill:#a9b8d80d;stroke:#566075"),
    ".box": ("fill:#fff;stroke:#5b6472;stroke-width:1.2", "fill:#222833;stroke:#8a94a6"),
    ".layer": ("fill:#dbe9ff;stroke:#2f6bd0", "fill:#1d3358;stroke:#6ea0f5"),
    ".data": ("fill:#e4f4e4;stroke:#3d8b45", "fill:#1d3a22;stroke:#69b873"),
    ".constant": ("fill:#eef0f3;stroke:#7b8494", "fill:#2b313c;stroke:#8a94a6"),
    ".effect": ("fill:#fff0d6;stroke:#b5761a", "fill:#46341a;stroke:#d99f45"),
    ".again": ("fill:#f6e6fb;stroke:#9a3fb5", "fill:#3d2147;stroke:#c983de"),
    ".more": ("fill:#fff;stroke:#7b8494;stroke-dasharray:4 3", "fill:#222833;stroke:#8a94a6"),
    ".point": ("fill:#eceff4;stroke:#9aa5b8", "fill:#2b313c;stroke:#566075"),
    ".dot": ("fill:#5b6472", "fill:#a3adbd"),
    "text": ("fill:#1c2330", "fill:#e8ecf3"),
    ".type": ("fill:#52607a;font-style:italic", "fill:#a9b6cf"),
    ".title": ("fill:#3d4960;font-weight:bold", "fill:#c3cede"),
    ".wire": ("fill:none;stroke:#5b6472;stroke-width:1.2", "stroke:#a3adbd"),
    ".loop": ("fill:none;stroke:#9a3fb5;stroke-width:1.4;stroke-dasharray:5 3", "stroke:#c983de"),
    ".head": ("fill:#5b6472", "fill:#a3adbd"),
    ".back": ("fill:#9a3fb5", "fill:#c983de"),
}
"""The look of each class, on a light and on a dark background."""
LIGHT, DARK = (
    "\n".join(f".arrows-drawing {name}{{{look[dark]}}}" for name, look in COLOURS.items())
    for dark in (False, True)
)
STYLE = f""".arrows-drawing{{font:{SIZE}px/1.3 {FONTS}}}
{LIGHT}
@media (prefers-color-scheme:dark){{
{DARK}
}}"""


def to_svg(drawing: Drawing, name: str = "") -> str:
    """Writes a drawing as an SVG document.

    Args:
        drawing: a drawing that is laid out in pixels.
        name: what it shows, for screen readers.

    Example:
        >>> from arrows.drawing.layout import Drawing
        >>> to_svg(Drawing(10, 10)).startswith("<svg ")
        True
    """
    out = [_rect(frame, "frame", 8) for frame in drawing.placed if frame.style == "frame"]
    out += map(_line, drawing.lines)
    for each in drawing.placed:
        x, y, w, h = each.rect
        if each.style == "frame":
            continue
        if each.style in ("type", "title"):
            out.append(_text(each, middle=each.style == "type", style=each.style))
        elif not each.text:
            out.append(f'<circle class="dot" cx="{x + w / 2:g}" cy="{y + h / 2:g}" r="{w / 2 - 0.5:g}"/>')
        else:
            point = each.style in ("join", "case", "port")  # which a value passes
            out.append(_rect(each, f"box {'point' if point else each.style}", h // 2 if point else 5))
            out.append(_text(each, middle=True))
    return document(out, drawing.width, drawing.height, name)


def document(elements: Iterable[str], width: int, height: int, name: str) -> str:
    """An SVG document with the style of all drawings."""
    size = f'width="{width}" height="{height}"'
    label = f" aria-label={quoteattr(name)}" if name else ""
    view = f'viewBox="0 0 {width} {height}" role="img"{label}'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="arrows-drawing" {size} {view}>'
    ground = f'<rect class="ground" {size} rx="8"/>'
    return "\n".join([head, f"<style>{STYLE}</style>", ground, *elements, "</svg>"]) + "\n"


def _rect(placed: Placed, style: str, radius: int) -> str:
    x, y, w, h = placed.rect
    place = f'x="{x + 0.5}" y="{y + 0.5}" width="{w - 1}" height="{h - 1}" rx="{radius}"'
    return f'<rect class="{style}" {place}>{_hint(placed)}</rect>'


def _text(placed: Placed, *, middle: bool, style: str = "") -> str:
    x = placed.rect.x + (placed.rect.width / 2 if middle else 0)
    y = placed.rect.y + placed.rect.height / 2 + SIZE * 0.35
    words = (f' class="{style}"' if style else "") + (' text-anchor="middle"' if middle else "")
    return f'<text{words} x="{x:g}" y="{y:g}">{_hint(placed)}{escape(placed.text)}</text>'


def _hint(placed: Placed) -> str:
    return f"<title>{escape(placed.hint)}</title>" if placed.hint and placed.hint != placed.text else ""


def _line(line: Polyline) -> str:
    points = [(x + 0.5, y + 0.5) for x, y in line.points]
    way = f"M{points[0][0]:g} {points[0][1]:g}"
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        start, end = _toward(corner, before, ROUND), _toward(corner, after, ROUND)
        way += f"L{start[0]:g} {start[1]:g}Q{corner[0]:g} {corner[1]:g} {end[0]:g} {end[1]:g}"
    end, head = points[-1], ""
    if line.arrow:
        tip, (x, y) = end, _toward(end, points[-2], 2 * HEAD - 2)
        end = _toward(end, points[-2], HEAD)
        # A wire ends straight down or straight across; its head is as wide across as `HEAD` says, twice.
        across, down = (HEAD, 0) if x == tip[0] else (0, HEAD)
        corners = (tip, (x - across, y - down), (x + across, y + down))
        shape = " ".join(f"{p:g},{q:g}" for p, q in corners)
        head = f'<polygon class="{"back" if line.loop else "head"}" points="{shape}"/>'
    return f'<path class="{"loop" if line.loop else "wire"}" d="{way}L{end[0]:g} {end[1]:g}"/>{head}'


def _toward(corner: tuple[float, float], other: tuple[float, float], far: float) -> tuple[float, float]:
    """The point at a distance from a corner, at most half the way to the other corner."""
    dx, dy = other[0] - corner[0], other[1] - corner[1]
    length = abs(dx) + abs(dy)
    part = min(far, length / 2) / length if length else 0
    return corner[0] + dx * part, corner[1] + dy * part
