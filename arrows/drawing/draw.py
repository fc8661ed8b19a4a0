"""A block as a picture, in the format that is asked for; as a notebook shows it, it is never an exception."""

from __future__ import annotations

from html import escape
from typing import Literal

from arrows.combinators import AnyBlock, title
from arrows.drawing.blocks import piece_of
from arrows.drawing.pieces import clean, shorten
from arrows.drawing.svg import to_svg
from arrows.inference import Typed, infer, typed_tree
from arrows.typesys import ArrowTypeError, ArrowValueError, printable_lines

PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root{{color-scheme:light dark}}
body{{margin:0 auto;padding:1.5rem;max-width:110rem;font:16px/1.5 system-ui,sans-serif}}
body{{background:#fff;color:#1c2330}}
h1{{font-size:1.3rem;overflow-wrap:anywhere}}
div,pre{{margin:1rem 0;overflow-x:auto}}
pre{{font:13px/1.45 ui-monospace,Menlo,'DejaVu Sans Mono',Consolas,monospace}}
@media (prefers-color-scheme:dark){{body{{background:#0f1216;color:#e8ecf3}}}}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


def draw(block: AnyBlock | Typed, format: Literal["svg", "html"] = "svg", *, name: str | None = None) -> str:
    """Draws a block: boxes, and wires between them, which carry types.

    An ill-typed block is drawn without types; a page has the error.

    Args:
        block: a block; or what `ar.infer` gives for it.
        format: "svg", or "html" for a page of its own, with the typed tree.
        name: the title of the page, and of the picture for screen readers; by default the block in short.

    Raises:
        ArrowValueError: there is no such format.

    Example:
        >>> import arrows as ar
        >>> draw(ar.Scalar()).startswith("<svg ")
        True
    """
    if format not in ("svg", "html"):
        raise ArrowValueError(f"a block is drawn as svg or html, not as {format!r}")
    name = name or title(block.form if isinstance(block, Typed) else block)
    svg, lines, _ = _drawn(block, name)
    return svg if format == "svg" else to_page(name, f"<div>{svg}</div>{lines}")


def to_page(title: str, body: str) -> str:
    """Writes a web page.

    Example:
        >>> "<h1>a &lt; b</h1>" in to_page("a < b", "<svg/>")
        True
    """
    return PAGE.format(title=escape(clean(title)), body=body)


def notebook_html(block: AnyBlock) -> str | None:
    """Draws a block, with its typed tree folded up below; an ill-typed block comes with its error.

    Example:
        >>> import arrows as ar
        >>> "cannot compose" in str(notebook_html(ar.Scalar() >> ar.Vector(3)))
        True
    """
    try:
        svg, lines, error = _drawn(block, title(block))
    except Exception:  # noqa: BLE001  a picture that fails must not hide the cell's result
        return None
    below = lines if error else f"<details><summary>types</summary>{lines}</details>"
    return f'<div style="overflow-x:auto">{svg}</div>{below}'


def _drawn(block: AnyBlock | Typed, name: str) -> tuple[str, str, bool]:
    """The picture as SVG; the typed tree as HTML, or the error; and whether there is one."""
    error = False
    try:
        block = block if isinstance(block, Typed) else infer(block)
        lines = typed_tree(block)
    except (ArrowTypeError, ArrowValueError) as reason:
        lines, error = f"{type(reason).__name__}: {reason}", True
    return to_svg(piece_of(block), shorten(name)), f"<pre>{escape(printable_lines(lines))}</pre>", error
