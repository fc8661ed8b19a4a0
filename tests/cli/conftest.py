"""A file of a user's for the tests of commands that read one."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture
def path(tmp_path, monkeypatch, request):
    """The file `model.py` with the text that a test's module calls MODEL."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "model.py").write_text(request.module.MODEL, encoding="utf-8")
    return str(tmp_path / "model.py")
