"""The command `python -m benchmarks`: its options, the measurement, and where results go."""

from __future__ import annotations

import argparse
import errno
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import arrows as ar
from benchmarks import gpu, latency, pair, scaling
from benchmarks.baselines.pytorch import installed
from benchmarks.machine import describe
from benchmarks.report import Result, json_line, table, with_ratios
from benchmarks.task import Setting
from benchmarks.timing import measure

NAMES = (*pair.TASKS, "latency", "gpu", "scaling", "pair")
BUSY = 0.5  # a load average from which on figures may be low


def parser() -> argparse.ArgumentParser:
    """The parser of `python -m benchmarks`."""
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument("--quick", action="store_true", help="few sizes, few runs: about a minute")
    options.add_argument("--threads", type=int, metavar="N", help="at most so many for matrix products")
    options.add_argument("--json", type=Path, metavar="FILE", help="write a line there for each result")
    options.add_argument(
        "--data", type=Path, metavar="DIR", help="folder with treebanks (default: ../shared/data)"
    )
    description = "Measures arrows against hand-written code and PyTorch on this machine."
    everything = argparse.ArgumentParser(prog="python -m benchmarks", description=description)
    names = everything.add_subparsers(dest="name", metavar="NAME", required=True, help=", ".join(NAMES))
    for name in NAMES:
        arguments = names.add_parser(name, parents=[options])
        if name == "gpu":
            arguments.add_argument(
                "--device", default="cuda", metavar="NAME", help="of arrows (default: cuda)"
            )
        if name == "pair":
            arguments.add_argument("old", type=Path, metavar="OLD", help="a checkout to measure against")
            arguments.add_argument("bench", choices=pair.TASKS, metavar="BENCH", help=", ".join(pair.TASKS))
    return everything


def main(options: argparse.Namespace, scale: str | None = None) -> int:
    """Measures, writes each result to the JSON file if asked, prints the table, and returns 0.

    Args:
        options: of the parser.
        scale: of the benchmark; None: as the options say.

    Raises:
        OSError: the file cannot be written; nothing is measured then.
    """
    if options.json is not None and not options.json.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(options.json.parent))
    if options.threads is not None:
        ar.set_threads(options.threads)
    machine = describe()
    if options.name == "gpu":
        machine |= gpu.described(options.device)
    ar.show_config()
    print(f"{machine['cpu']}; GFLOP/s of float32 products by threads: {machine['gemm_gflops']}", flush=True)
    if (machine["load"] or 0) > BUSY:
        print(f"warning: the machine is busy (load {machine['load']}); figures may be low", file=sys.stderr)
    if not installed:
        print("PyTorch is not there to measure against: pip install 'arrows[torch]'", file=sys.stderr)
    setting = Setting(
        scale=scale or ("quick" if options.quick else "full"),
        data=options.data,
        device=getattr(options, "device", "cpu"),
    )
    results: list[Result] = []
    # One line at a time: a run that is cut off keeps what it has measured.
    with open(options.json or os.devnull, "w", encoding="utf-8", buffering=1) as file:
        file.write(json.dumps({"machine": machine}, ensure_ascii=False) + "\n")
        for result, ratio in with_ratios(measured(options, setting)):
            results.append(result)
            file.write(json_line(result, ratio) + "\n")
            print(f"  measured {result.system} {result.config.get('mode', '')}", file=sys.stderr, flush=True)
    print(table(results))
    return 0


def measured(options: argparse.Namespace, setting: Setting) -> Iterator[Result]:
    """The results of a benchmark, each as soon as it is there."""
    if options.name == "pair":
        yield from pair.run(setting, options.old, options.bench, options.threads)
    elif options.name in pair.TASKS:
        for task in pair.TASKS[options.name](setting):
            yield from measure(options.name, task, setting.scale)
    else:
        yield from {"gpu": gpu.run, "latency": latency.run, "scaling": scaling.run}[options.name](setting)
