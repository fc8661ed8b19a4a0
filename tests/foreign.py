"""An array of another library, which has DLPack and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np


class Foreign:
    """Lends a NumPy array's memory, or says that it lies on another device.

    Args:
        array: the memory.
        device: what `__dlpack_device__` returns; (1, 0) is the host, (2, 0) the first GPU.
    """

    def __init__(self, array: Any, device: tuple[int, int] = (1, 0)) -> None:
        self.array, self.device = np.asarray(array), device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(**keywords)
