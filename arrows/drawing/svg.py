"""A drawing as SVG: plain shapes, colours that read on light and dark backgrounds, escaped texts."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import quoteattr

from arrows.drawing.pieces import Piece, moved

MARGIN = 14  # in pixels

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
STYLE = f""".arrows-drawing{{font:12px/1.3 {FONTS}}}
{LIGHT}
@media (prefers-color-scheme:dark){{
{DARK}
}}"""


def to_svg(piece: Piece, name: str = "") -> str:
    """Writes a piece as an SVG document.

    Args:
        piece: what is drawn.
        name: what it shows, for screen readers.

    Example:
        >>> to_svg(Piece(right=100)).startswith("<svg ")
        True
    """
    width, height = round(piece.right - piece.left) + 2 * MARGIN, round(piece.height) + 2 * MARGIN
    return document([moved(piece, MARGIN - piece.left, MARGIN)], width, height, name)


def document(elements: Iterable[str], width: int, height: int, name: str) -> str:
    """An SVG document with the style of all drawings."""
    size = f'width="{width}" height="{height}"'
    label = f" aria-label={quoteattr(name)}" if name else ""
    view = f'viewBox="0 0 {width} {height}" role="img"{label}'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="arrows-drawing" {size} {view}>'
    ground = f'<rect class="ground" {size} rx="8"/>'
    return "\n".join([head, f"<style>{STYLE}</style>", ground, *elements, "</svg>"]) + "\n"
