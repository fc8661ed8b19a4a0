"""The files here that type checkers read are no tests themselves."""

from __future__ import annotations

collect_ignore = ["good.py", "bad.py"]
