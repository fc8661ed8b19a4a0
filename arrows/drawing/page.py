"""A drawing and the typed tree below it, as one self-contained web page."""

from __future__ import annotations

from html import escape

from arrows.drawing.views import clean, clean_lines

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
        tree=f"<pre>{escape(clean_lines(tree))}</pre>\n" if tree else "",
        error=f'<pre class="error">{escape(clean_lines(error))}</pre>\n' if error else "",
    )
