"""A training run in a process of its own, for tests that kill it: prints each step, writes its result.

run_to_kill.py CHECKPOINT RESULT OPTIMIZER EVERY [resume]

run_to_kill.py CHECKPOINT RESULT OPTIMIZER EVERY LIVES SEED

Kills the run by SIGKILL at so many random moments, goes on with it each time, and prints the step that each
life came to.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import arrows as ar
from arrows import training
from tests.training.models import sequences, word_sums


def optimizer_of(name: str) -> training.Optimizer:
    rates = {"words/*": 0.01}
    return {
        "sgd": lambda: training.SGD(0.002, momentum=0.9, rates=rates, average=1.0),
        "adagrad": lambda: training.Adagrad(0.05, rates=rates, average=0.9, clip_norm=1.0),
        "adam": lambda: training.Adam(0.01, rates=rates, average=0.9),
    }[name]()


def told(model: Any) -> Any:
    """The model, telling of each step."""
    step = model.train_step

    def train_step(batch: Any, optimizer: Any, check: Any = None) -> Any:
        loss = step(batch, optimizer, check=check)
        print("step", optimizer.steps, flush=True)
        return loss

    model.train_step = train_step
    return model


def main(checkpoint: str, result: str, name: str, every: str, *resume: str) -> None:
    model, optimizer = ar.compile(word_sums(30, 6, 6)), optimizer_of(name)
    examples = sequences(40, 30)

    def evaluate() -> dict[str, float]:
        return {"figure": -float(ar.to_numpy(model(examples[:7])).sum())}

    history = training.train(
        told(model),
        examples,
        optimizer,
        epochs=4,
        batch_size=3,
        evaluate=evaluate,
        best_by="figure",
        lower=False,
        evaluate_every=6,
        callbacks=[training.Plateau("figure", 0.7, patience=1, lower=False)],
        checkpoint=training.Checkpoint(checkpoint, every=int(every), resume=bool(resume)),
        progress=False,
    )
    with optimizer.use_averages(model):
        averages = {f"average {name}": np.array(array) for name, array in model.params.items()}
    np.savez(result, **model.params, **averages)
    lines = [[e.number, e.loss, dict(e.figures), e.best] for e in history]
    Path(result + ".json").write_text(json.dumps(lines), encoding="utf-8")


def live(arguments: list[str], steps: int, seconds: float) -> int:
    """A run in a process of its own, killed some seconds after so many steps; returns the last step seen."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(writes, sys.stdout.fileno())
        try:
            main(*arguments, "resume")
        finally:
            sys.stdout.flush()
            os._exit(0)
    os.close(writes)
    last = 0
    with os.fdopen(reads) as shown:
        for _ in range(steps):
            line = shown.readline()
            last = int(line.split()[1]) if line else last
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return last


def lives(count: int, seed: int, arguments: list[str]) -> None:
    draw = random.Random(seed)
    print("lives", *(live(arguments, draw.randint(1, 4), draw.uniform(0, 0.008)) for _ in range(count)))
    main(*arguments, "resume")


if __name__ == "__main__":
    if len(sys.argv) > 6:
        lives(int(sys.argv[5]), int(sys.argv[6]), sys.argv[1:5])
    else:
        main(*sys.argv[1:])
