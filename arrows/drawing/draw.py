"""A block as a picture; as a notebook shows it, it is never an exception."""

from __future__ import annotations

from html import escape

from arrows.combinators import AnyBlock, title
from arrows.drawing.blocks import piece_of, untyped
from arrows.drawing.pieces import shorten
from arrows.drawing.svg import to_svg
from arrows.inference import Typed, infer, typed_tree
from arrows.typesys import ArrowTypeError, ArrowValueError, printable_lines


def draw(block: AnyBlock | Typed, *, name: str | None = None) -> str:
    """Draws a block as SVG: boxes, and wires between them, which carry types.

    An ill-typed block is drawn without types.

    Args:
        block: a block; or what `ar.infer` gives for it.
        name: the title of the picture for screen readers; by default the block in short.

    Example:
        >>> import arrows as ar
        >>> draw(ar.Scalar()).startswith("<svg ")
        True
    """
    typed = block if isinstance(block, Typed) else _typed(block)[0]
    return to_svg(piece_of(typed), shorten(name or title(typed.form)))


def notebook_html(block: AnyBlock) -> str | None:
    """Draws a block, with its typed tree folded up below; an ill-typed block comes with its error.

    Example:
        >>> import arrows as ar
        >>> "cannot compose" in str(notebook_html(ar.Scalar() >> ar.Vector(3)))
        True
    """
    try:
        typed, error = _typed(block)
        lines = f"<pre>{escape(printable_lines(error or typed_tree(typed)))}</pre>"
        below = lines if error else f"<details><summary>types</summary>{lines}</details>"
        return f'<div style="overflow-x:auto">{draw(typed)}</div>{below}'
    except Exception:  # noqa: BLE001  a picture that fails must not hide the cell's result
        return None


def _typed(block: AnyBlock) -> tuple[Typed, str]:
    """The tree of a block, and why it has no types if it is ill-typed."""
    try:
        return infer(block), ""
    except (ArrowTypeError, ArrowValueError) as error:
        return untyped(block), f"{type(error).__name__}: {error}"
