"""The base of all blocks.

`block.py` has the base class and chains, and makes blocks of what may stand for one. `arguments.py` checks
names and makes refusals. `wires.py` has the wires of arrows and Compositions, and sends calls where they
belong. `printing.py` and `copying.py` walk over blocks without recursion.
"""

from __future__ import annotations
