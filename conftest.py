"""What pytest skips where a package is not installed: the docstrings that use it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

collect_ignore = ["benchmarks/baselines/dynet_programs.py"]  # for another Python
collect_ignore += [] if find_spec("torch") else ["benchmarks/torch_module.py"]
WITH_TORCH = Path(__file__).parent / "arrows" / "torch.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path == WITH_TORCH and find_spec("torch") is None:
            item.add_marker(pytest.mark.skip(reason="PyTorch is not installed"))
