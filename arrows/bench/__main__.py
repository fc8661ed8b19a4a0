"""`python -m arrows.bench NAME` measures in this very process; `arrows bench` starts it without BLAS pins."""

from __future__ import annotations

import sys

from arrows.bench.command import measure, parser

if __name__ == "__main__":
    sys.exit(measure(parser("python -m arrows.bench").parse_args()))
