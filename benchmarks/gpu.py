"""The Tree-LSTM, random trees and the tagger on a GPU, beside PyTorch on the same GPU: eager and compiled.

They are the tasks of the benchmarks for the CPU. A run ends when the GPU has finished its work; within a run
no system makes the host wait.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import replace

from arrows.engine.device import get_device
from benchmarks import iclr, taggers, treelstm
from benchmarks.baselines.pytorch import installed, torch
from benchmarks.report import Result
from benchmarks.task import Setting
from benchmarks.timing import measure

TASKS = {"treelstm": treelstm.tasks, "iclr": iclr.tasks, "bilstm": taggers.bilstm}


def run(setting: Setting) -> Iterator[Result]:
    """Measures training and inference on a GPU.

    On a device that is none it rehearses that: in sizes whose times mean nothing, with PyTorch on the CPU.
    """
    device = get_device(setting.device)
    is_gpu = device.name.startswith("cuda")
    setting = replace(setting, device=device.name, scale=setting.scale if is_gpu else "tiny")
    if installed and is_gpu:
        # cuDNN would round the operands of an LSTM's products to 10 bits, which nothing else here does.
        torch.backends.cudnn.allow_tf32 = False

    def wait() -> None:
        device.synchronize()
        if installed and is_gpu:
            torch.cuda.synchronize(device.name)

    for name, tasks in TASKS.items():
        for task in tasks(setting):
            task = replace(task, config={"model": name, **task.config})
            yield from measure("gpu", task, setting.scale, wait)


def described(device: str) -> dict[str, object]:
    """The device and the versions of what drives it, for the line of the machine.

    >>> described("fake")["device"]
    'fake'
    """
    facts: dict[str, object] = {"device": get_device(device).name}
    if device.startswith("cuda") or device == "auto":
        cupy = importlib.import_module("cupy")
        runtime = cupy.cuda.runtime
        number = int(get_device(device).name.partition(":")[2] or 0)
        facts["gpu"] = runtime.getDeviceProperties(number)["name"].decode()
        facts |= {"cupy": cupy.__version__, "driver": runtime.driverGetVersion()}
        facts["runtime"] = runtime.runtimeGetVersion()
    if installed:
        facts["torch"] = torch.__version__
    return facts
