"""Helpers for the tests of several commands."""

from __future__ import annotations

from typing import Any

from arrows import cli


def outcome(capsys: Any, *arguments: str) -> tuple[int, str, str]:
    """Runs `arrows`: its exit status, and what it wrote to standard output and standard error."""
    status = cli.main(list(arguments))
    out, err = capsys.readouterr()
    return status, out, err
