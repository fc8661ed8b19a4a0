"""What all blocks have, whatever they do.

`block.py` is the base class, `frozen.py` keeps it from changing, `naming.py` checks names, `convert.py` tells
what else may stand for a block.  `wires.py` and `recorder.py` draw arrows and Compositions.  `printing.py`,
`copying.py` and `traversal.py` walk over blocks without recursion.
"""

from __future__ import annotations
