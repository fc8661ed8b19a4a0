"""`python -m arrows.bench NAME` measures in this very process; `arrows bench` starts it without BLAS pins."""

from __future__ import annotations

import sys

from arrows.bench.command import measure, parser
from arrows.exits import exit_status, open_streams

if __name__ == "__main__":
    open_streams()
    options = parser("python -m arrows.bench").parse_args()
    sys.exit(exit_status("arrows bench", lambda: measure(options)))
