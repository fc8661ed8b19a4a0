"""Fits a model of costs to what `python -m benchmarks scaling` has measured, and writes what it says.

`python -m benchmarks.scaling_page RESULTS.jsonl [PAGE.md]`: without a page, it prints the section.
"""

from __future__ import annotations

import json
import math
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu_page import replaced
from benchmarks.report import duration

TITLE = "## Figures"
RANKS = (8, 64, 512)
NODES = 10**9  # of a large data set
ETHERNET, INFINIBAND = "10 Gbit/s Ethernet", "100 Gbit/s InfiniBand"


@dataclass(frozen=True, slots=True)
class Network:
    """What a message costs: `latency` seconds, and `byte` seconds for each byte.

    Two ranks add up a buffer in two messages' latency: each sends what it has of the one half, then of the
    other.
    """

    latency: float
    byte: float

    def sum(self, ranks: int, size: float) -> float:
        """Seconds in which all ranks add up a buffer of so many bytes.

        Halves are exchanged and added up, then gathered (Rabenseifner, "Optimization of collective reduction
        operations", ICCS 2004).

        >>> Network(1.0, 0.5).sum(4, 8), Network(1.0, 0.5).sum(1, 8)
        (10.0, 0.0)
        """
        return 2 * math.log2(ranks) * self.latency + 2 * (ranks - 1) / ranks * size * self.byte

    def gather(self, ranks: int, size: float) -> float:
        """Seconds in which each rank gets as many bytes from every other one.

        >>> Network(1.0, 0.5).gather(4, 8)
        14.0
        """
        return math.log2(ranks) * self.latency + (ranks - 1) * size * self.byte


# What such networks give an MPI job as a rule; neither was measured here.
NETWORKS = {ETHERNET: Network(30e-6, 8 / 10e9), INFINIBAND: Network(2e-6, 8 / 100e9)}


def fitted(messages: Mapping[int, float], ranks: int) -> Network:
    """The network that explains the seconds of all-reduces, by bytes, with the least relative error.

    >>> true = Network(1e-5, 1e-9)
    >>> fitted({size: true.sum(2, size) for size in (8, 10_000, 1_000_000)}, 2) == true
    True
    """
    rows = [[2 * math.log2(ranks) / t, 2 * (ranks - 1) / ranks * size / t] for size, t in messages.items()]
    latency, byte = np.linalg.lstsq(np.array(rows), np.ones(len(rows)), rcond=None)[0].tolist()
    return Network(round(max(latency, 0.0), 12), round(max(byte, 0.0), 15))


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """The costs of a step on n ranks, each with a batch as large as that of one process.

    Attributes:
        step: seconds of a step of one process, its update included.
        dense: bytes of the dense gradients.
        rows: bytes of the row-sparse gradients of a rank.
        row_byte: seconds that the update takes longer for each byte of rows from other ranks.
        uneven: by number of ranks, how much more than the mean the fullest share has.
    """

    step: float
    dense: float
    rows: float
    row_byte: float
    uneven: Mapping[int, float]

    def seconds(self, ranks: int, network: Network) -> float:
        """Seconds of a step."""
        compute = self.step * self.uneven.get(ranks, 1.0)
        update = (ranks - 1) * self.rows * self.row_byte
        # Values and row numbers are gathered one after the other, and before them how many there are.
        gather = network.gather(ranks, self.rows) + 2 * math.log2(ranks) * network.latency
        return compute + update + network.sum(ranks, self.dense) + (gather if self.rows else 0.0)


def section(lines: Sequence[str]) -> str:
    """The section, from the lines of the results."""
    machine, *results = (json.loads(line) for line in lines)
    train = {r["config"]["ranks"]: r for r in _of(results, "train") if r["system"] == "arrows"}
    apart = {r["config"]["ranks"]: r for r in _of(results, "train") if r["system"] == "apart"}
    # Whatever else the machine does makes a message slower and never faster.
    sums = [r for r in _of(results, "all-reduce") if r["config"]["ranks"] == 2]
    messages = {r["config"]["bytes"]: min(r["runs"]) for r in sums}
    here, costs, prepare = fitted(messages, 2), _costs(results, train), _of(results, "prepare")[0]
    config, nodes = train[1]["config"], train[1]["nodes_per_tree"]
    paragraphs = [
        TITLE,
        _measurement(machine["machine"], config),
        _measured(train, apart),
        _fill(
            f"An all-reduce of m bytes on two ranks of this machine takes {_time(2 * here.latency)} + m * "
            f"{here.byte * 1e9:.3f} ns: the line of least relative error through the quickest runs."
        ),
        _messages(messages, here),
        _fill(
            f"A step adds up {costs.dense / 1e6:.2f} MB of dense gradients, and each rank sends "
            f"{costs.rows / 1e6:.2f} MB of rows, whose update takes {costs.row_byte * 1e9:.2f} ns a byte. "
            f"By these costs a step on two ranks takes {_time(costs.seconds(2, here))}; measured were "
            f"{_time(train[2]['median_s'])}, and {_time(apart[2]['median_s'])} `apart`."
        ),
        _assumptions(nodes),
        _predicted(costs, config["batch"] * nodes),
        _fill(
            f"Preparing 10^9 nodes takes one process {_hours(prepare['median_s'] * NODES)} "
            f"({prepare['median_s'] * 1e6:.2f} µs a node; `prepare(executor=)` divides it), and the file "
            f"that `prepare(cache=)` writes has {prepare['bytes_per_node'] * NODES / 1e9:.0f} GB, which the "
            "ranks of a machine map and share."
        ),
    ]
    return "\n\n".join(paragraphs) + "\n"


def _costs(results: Sequence[Mapping[str, Any]], train: Mapping[int, Mapping[str, Any]]) -> Costs:
    small, large = sorted(_of(results, "update"), key=lambda result: int(result["config"]["bytes"]))
    extra = max(large["median_s"] - small["median_s"], 0.0)
    return Costs(
        step=train[1]["median_s"],
        dense=train[2]["dense_bytes"],
        rows=train[2]["row_bytes"],
        row_byte=extra / (large["config"]["bytes"] - small["config"]["bytes"]),
        uneven={r["config"]["ranks"]: r["most_over_mean"] for r in _of(results, "shares")},
    )


def _measurement(machine: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    return _fill(
        f"`make scaling` on {machine.get('cpu', 'a processor')}, {machine['cores']} cores, load "
        f"{machine.get('load', 0):.1f} when it began (a load other than 0 slows two ranks more than one): "
        f"the Tree-LSTM of state {config['state']} on trees of `{config['trees']}`, {config['batch']} trees "
        "a rank, one thread a rank, medians. `apart` is as many processes that train a model each and send "
        "nothing: what the machine itself allows. Waiting is time in sums and gathers."
    )


def _assumptions(nodes: float) -> str:
    networks = "; ".join(
        f"{name}, {network.latency * 1e6:g} µs a message and {network.byte * 1e9:g} ns a byte"
        for name, network in NETWORKS.items()
    )
    return _fill(
        "What the costs say of more machines, each rank as fast as one here, and of a data set of 10^9 nodes "
        f"(a tree here has {nodes:.0f}). Efficiency is the throughput of a rank over that of one process. "
        f"The networks are assumed, not measured: {networks}."
    )


def _fill(text: str) -> str:
    return textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False)


def _time(seconds: float) -> str:
    return duration(seconds).strip()


def _of(results: Sequence[Mapping[str, Any]], mode: str) -> list[Mapping[str, Any]]:
    return [result for result in results if result["config"]["mode"] == mode]


def _measured(train: Mapping[int, Mapping[str, Any]], apart: Mapping[int, Mapping[str, Any]]) -> str:
    rows = [["ranks", "a step", "trees/s", "times one rank", "`apart`, times one", "waiting"]]
    for ranks, result in train.items():
        ours, bound = result["trees_per_s"], apart[ranks]["trees_per_s"]
        waiting = _time(result["waiting_s"]) if ranks > 1 else ""
        rows.append(
            [
                str(ranks),
                _time(result["median_s"]),
                f"{ours:,.0f}",
                f"{ours / train[1]['trees_per_s']:.2f}",
                f"{bound / apart[1]['trees_per_s']:.2f}",
                waiting,
            ]
        )
    return _table(rows)


def _messages(messages: Mapping[int, float], network: Network) -> str:
    rows = [["bytes", "measured", "fitted"]]
    for size, seconds in messages.items():
        fit = network.sum(2, size)
        rows.append([f"{size:,}", _time(seconds), _time(fit)])
    return _table(rows)


def _predicted(costs: Costs, nodes: float) -> str:
    head = "ranks, network, a step, sums and gathers, update of others' rows, efficiency, 10^9 nodes"
    rows = [head.split(", ")]
    for ranks in RANKS:
        for name, network in NETWORKS.items():
            step = costs.seconds(ranks, network)
            update = (ranks - 1) * costs.rows * costs.row_byte
            sent = step - update - costs.step * costs.uneven.get(ranks, 1.0)
            rows.append(
                [
                    str(ranks),
                    name,
                    _time(step),
                    _time(sent),
                    _time(update),
                    f"{costs.step / step:.0%}".replace("%", " %"),
                    _hours(NODES / (nodes * ranks) * step),
                ]
            )
    return _table(rows)


def _table(rows: list[list[str]]) -> str:
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def _hours(seconds: float) -> str:
    """Seconds in hours or minutes.

    >>> _hours(7200), _hours(90)
    ('2.0 h', '1.5 min')
    """
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.1f} min"


def main(results: str, page: str | None = None) -> None:
    """Writes the section of the results into the page, or prints it."""
    text = section(Path(results).read_text(encoding="utf-8").splitlines())
    if page is None:
        print(text, end="")
        return
    path = Path(page)
    path.write_text(replaced(path.read_text(encoding="utf-8"), text, TITLE), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
