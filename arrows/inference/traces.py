"""What the functions of an expression compute, remembered while its types are inferred."""

from __future__ import annotations

from arrows import ops
from arrows.combinators import AnyBlock, Apply, Constant
from arrows.ops import Trace
from arrows.typesys import ArrowTypeError, ArrowValueError, types as T


class Traces:
    """The traces of blocks: each function runs once for each type of its input, also where it fails.

    Inference may run again after an error, and guesses of what was meant ask what else a function would take.

    Args:
        float_type: every floating element type becomes this one; None leaves them.
    """

    def __init__(self, float_type: str | None) -> None:
        self.float_type = float_type
        self._known: dict[tuple[int, T.Type], Trace | ArrowTypeError | ArrowValueError] = {}

    def of(self, form: AnyBlock, t: T.Type) -> Trace:
        """Returns what a function, a layer or a trainable constant computes of this type.

        Raises:
            ArrowTypeError, ArrowValueError: it does not take the type.
        """
        key = (id(form), t)
        known = self._known.get(key)
        if known is None:
            assert isinstance(form, (Apply, Constant))
            function = form.of_example if isinstance(form, Apply) else form.parameter
            try:
                known = ops.trace(function, t, float_type=self.float_type)
            except (ArrowTypeError, ArrowValueError) as error:  # all that tracing raises
                known = error
            self._known[key] = known
        if not isinstance(known, Trace):
            raise known
        return known

    def takes(self, form: Apply[object, object], t: T.Type) -> bool:
        """Whether a layer or function would take this type."""
        try:
            return form.check(t) is None and self.of(form, t) is not None
        except (ArrowTypeError, ArrowValueError):
            return False
