"""What type checkers accept also runs; `make types` reads the files beside this one."""

from __future__ import annotations

import runpy
from pathlib import Path


def test_good_builds() -> None:
    runpy.run_path(str(Path(__file__).with_name("good.py")))
