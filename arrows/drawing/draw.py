"""A block as a picture, in the format that is asked for; as a notebook shows it, it is never an exception."""

from __future__ import annotations

from html import escape
from typing import Literal

from arrows.combinators import AnyBlock, title
from arrows.drawing.layout import CHARACTERS, lay_out
from arrows.drawing.mermaid import to_mermaid
from arrows.drawing.scene import clean, scene_of, shorten
from arrows.drawing.svg import to_svg
from arrows.drawing.text import to_text
from arrows.inference import Typed, infer, typed_tree
from arrows.typesys import ArrowTypeError, ArrowValueError, printable_lines

NOTEBOOK = 120  # about the most boxes in a notebook

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
figure,pre{{margin:1rem 0;overflow-x:auto}}
figure svg{{max-width:100%;min-width:{least}px;height:auto}}
pre{{font:13px/1.45 ui-monospace,Menlo,'DejaVu Sans Mono',Consolas,monospace}}
.error{{border-left:4px solid #c22;padding:.5rem 1rem}}
@media (prefers-color-scheme:dark){{body{{background:#0f1216;color:#e8ecf3}}}}
</style>
</head>
<body>
<h1>{title}</h1>
{error}<figure>
{svg}</figure>
{tree}</body>
</html>
"""


def draw(
    block: AnyBlock | Typed,
    format: Literal["text", "svg", "mermaid", "html"] = "text",
    *,
    name: str | None = None,
    error: str = "",
) -> str:
    """Draws a block: boxes, and wires between them.

    Args:
        block: a block; or what `ar.infer` gives for it, whose wires carry types.
        format: "text", "svg", "mermaid", or "html" for a page of its own.
        name: the title of the page, and of the picture for screen readers; by default the block in short.
        error: why there are no types, on the page.

    Raises:
        ArrowValueError: there is no such format.

    Example:
        >>> import arrows as ar
        >>> print(draw(ar.Scalar(), "mermaid").splitlines()[0])
        flowchart TD
    """
    scene = scene_of(block)
    name = name or title(block.form if isinstance(block, Typed) else block)
    match format:
        case "text":
            return to_text(lay_out(scene, CHARACTERS))
        case "mermaid":
            return to_mermaid(scene)
        case "svg":
            return to_svg(lay_out(scene), shorten(name))
        case "html":
            drawing = lay_out(scene)
            tree = typed_tree(block) if isinstance(block, Typed) else ""
            return to_page(name, to_svg(drawing, shorten(name)), drawing.width, tree, error)
    raise ArrowValueError(f"a block is drawn as text, svg, mermaid or html, not as {format!r}")


def to_page(title: str, svg: str, width: int, tree: str = "", error: str = "") -> str:
    """Writes a web page.

    Args:
        title: what the page shows.
        svg: the drawing.
        width: the drawing's width. A narrow page shrinks it to no less than three quarters, so that letters
            stay legible, and scrolls.
        tree: the typed tree; empty if there is none.
        error: why there are no types; empty if there are.

    Example:
        >>> "<h1>a &lt; b</h1>" in to_page("a < b", "<svg/>", 100)
        True
    """
    return PAGE.format(
        title=escape(clean(title)),
        svg=svg,
        least=width * 3 // 4,
        tree=f"<pre>{_escaped(tree)}</pre>\n" if tree else "",
        error=f'<pre class="error">{_escaped(error)}</pre>\n' if error else "",
    )


def notebook_html(block: AnyBlock) -> str | None:
    """Draws a block, with its typed tree folded up below; an ill-typed block comes with its error.

    Example:
        >>> import arrows as ar
        >>> "cannot compose" in str(notebook_html(ar.Scalar() >> ar.Vector(3)))
        True
    """
    try:
        drawn: AnyBlock | Typed = block
        try:
            drawn = infer(block)
            tree = _escaped(typed_tree(drawn))
            below = f"<details><summary>types</summary><pre>{tree}</pre></details>"
        except (ArrowTypeError, ArrowValueError) as error:
            below = f"<pre>{_escaped(f'{type(error).__name__}: {error}')}</pre>"
        svg = to_svg(lay_out(scene_of(drawn, NOTEBOOK)), shorten(block.label))
        return f'<div style="overflow-x:auto">{svg}</div>{below}'
    except Exception:  # noqa: BLE001  a picture that fails must not hide the cell's result
        return None


def _escaped(lines: str) -> str:
    return escape(printable_lines(lines))
