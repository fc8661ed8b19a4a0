"""`python -m arrows` is the command `arrows`."""

from __future__ import annotations

import sys

from arrows.cli import main

if __name__ == "__main__":
    sys.exit(main())
