"""From a block to its typed tree: constraints, rules, and the explanations of what does not fit."""

from arrows.inference.infer import infer
from arrows.inference.typed import Knot, Path, Typed

__all__ = ["Knot", "Path", "Typed", "infer"]
