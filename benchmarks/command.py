"""The command `python -m benchmarks`: its options, the measurement, and where results go."""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

from arrows.machine import set_threads
from benchmarks import NAMES
from benchmarks.machine import describe, slowdowns, summary
from benchmarks.report import Result, json_lines, table
from benchmarks.tasks import TASKS

DESCRIPTION = "Measures arrows against hand-written code and PyTorch on this machine."


def parser() -> argparse.ArgumentParser:
    """The parser of `python -m benchmarks`."""
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument("--quick", action="store_true", help="one size, few runs: about a minute")
    options.add_argument(
        "--threads",
        type=int,
        metavar="N",
        help="at most so many for NumPy's matrix products (default: one or all, by a trial; for pair: one)",
    )
    options.add_argument(
        "--json", type=Path, metavar="FILE", help="write the results there, one JSON object a line"
    )
    options.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="folder with the Stanford Sentiment Treebank's train.txt; for bilstm-char, with *train*.conllu "
        "(default: ../shared/data/sst or ../shared/data/ud if it is there, else generated data)",
    )
    everything = argparse.ArgumentParser(prog="python -m benchmarks", description=DESCRIPTION)
    names = everything.add_subparsers(dest="name", metavar="NAME", required=True, help=", ".join(NAMES))
    for name in NAMES:
        arguments = names.add_parser(name, parents=[options])
        if name == "gpu":
            arguments.add_argument(
                "--device", default="cuda", metavar="NAME", help="device of arrows (default: cuda)"
            )
        if name == "pair":
            arguments.add_argument("old", type=Path, metavar="OLD", help="a checkout to measure against")
            arguments.add_argument("bench", choices=TASKS, metavar="BENCH", help=", ".join(TASKS))
    return everything


def benchmark(name: str) -> ModuleType:
    """The module of a benchmark; its `run` measures, and yields each result as soon as it has it."""
    return importlib.import_module(f"benchmarks.{name.replace('-', '_')}")


def measure(options: argparse.Namespace) -> int:
    """Measures, writes each result to the JSON file if asked, prints the table, and returns 0.

    Raises:
        OSError: the file cannot be written; nothing is measured then.
    """
    if options.json is not None and not options.json.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(options.json.parent))
    module = benchmark(options.name)
    if options.threads is not None:
        set_threads(options.threads)  # once PyTorch, which brings a BLAS of its own, has been imported
    machine = describe()
    if options.name == "gpu":
        machine |= module.described(options.device)
    print("\n".join(summary(machine)), flush=True)
    for warning in slowdowns(machine):
        print(f"warning: {warning}", file=sys.stderr)
    if not getattr(module, "installed", True):
        print("PyTorch is not there to measure against: pip install 'arrows[bench]'", file=sys.stderr)
    results: list[Result] = []
    arguments = {"quick": options.quick, "data": options.data}
    if options.name == "gpu":
        arguments |= {"device": options.device}
    if options.name == "pair":
        arguments |= {"old": options.old, "bench": options.bench, "threads": options.threads}
    measured = _reported(module.run(**arguments), results)
    # One line at a time: a run that is cut off keeps what it has measured.
    with open(options.json or os.devnull, "w", encoding="utf-8", buffering=1) as file:
        file.writelines(f"{line}\n" for line in json_lines(machine, measured))
    print(table(results))
    return 0


def _reported(measured: Iterable[Result], results: list[Result]) -> Iterator[Result]:
    """Passes results on as they come; names each on standard error and appends it to `results`."""
    for result in measured:
        results.append(result)
        print(f"  measured {result.system} {result.config.get('mode', '')}", file=sys.stderr, flush=True)
        yield result
