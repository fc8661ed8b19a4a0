"""The base of all blocks.

`block.py` has the base class, and `frozen.py` freezes its objects. `arguments.py` checks names and makes
refusals; `convert.py` makes blocks of what may stand for one. `wires.py` and `recorder.py` record arrows and
Compositions. `printing.py`, `copying.py` and `traversal.py` walk over blocks without recursion.
"""

from __future__ import annotations
