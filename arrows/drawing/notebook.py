"""How a notebook shows a block: as a drawing if the block is small enough, and never as an exception."""

from __future__ import annotations

from html import escape

from arrows.combinators import AnyBlock
from arrows.drawing.layout import lay_out
from arrows.drawing.scene import scene_of
from arrows.drawing.svg import to_svg
from arrows.drawing.views import DrawnBlock, clean_lines, shorten
from arrows.inference import Typed, infer, typed_tree
from arrows.typesys import ArrowTypeError, ArrowValueError

INFERRED = 2_000  # larger blocks are drawn without types; up to here inference takes less than a second
BOXES = 120


def notebook_svg(block: AnyBlock) -> str | None:
    """Draws a block as SVG; None if that fails.

    Example:
        >>> import arrows as ar
        >>> str(notebook_svg(ar.Scalar())).startswith("<svg ")
        True
    """
    try:
        return _drawn(_typed(block)[0], block)
    except Exception:  # noqa: BLE001  a picture that fails must not hide the cell's result
        return None


def notebook_html(block: AnyBlock) -> str | None:
    """Draws a block, with its typed tree folded up below; an ill-typed block comes with its error.

    Example:
        >>> import arrows as ar
        >>> "cannot compose" in str(notebook_html(ar.Scalar() >> ar.Vector(3)))
        True
    """
    try:
        typed, error = _typed(block)
        svg = _drawn(typed, block)
        below = ""
        if error:
            below = f"<pre>{escape(clean_lines(error))}</pre>"
        elif typed is not None:
            tree = escape(clean_lines(typed_tree(typed)))
            below = f"<details><summary>types</summary><pre>{tree}</pre></details>"
        return f'<div style="overflow-x:auto">{svg}</div>{below}'
    except Exception:  # noqa: BLE001  as above
        return None


def _typed(block: AnyBlock) -> tuple[Typed | None, str]:
    """Infers the types of a block that is small enough; returns the typed expression or the error."""
    if DrawnBlock.of(block).count(INFERRED) >= INFERRED:
        return None, ""
    try:
        return infer(block), ""
    except (ArrowTypeError, ArrowValueError) as error:
        return None, f"{type(error).__name__}: {error}"


def _drawn(typed: Typed | None, block: AnyBlock) -> str:
    name = shorten(block.label)
    return to_svg(lay_out(scene_of(typed if typed is not None else block, BOXES)), name)
