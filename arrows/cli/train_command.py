"""What the commands `arrows train ...` share: their options, the files that they write, and the training."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import arrows as ar
from arrows.cli.option_types import OPTIMIZERS, count, positive, rate
from arrows.files import require_replaceable
from arrows.training import Epoch, Optimizer, save, train


def add_training_options(
    parser: argparse.ArgumentParser,
    *,
    example: str,
    batch_size: int,
    epochs: int,
    optimizer: str,
    learning_rate: float,
    l2: float,
    save: str,
) -> None:
    """Adds the options that every training command has, with the defaults of this one.

    >>> parser = argparse.ArgumentParser()
    >>> add_training_options(
    ...     parser,
    ...     example="tree",
    ...     batch_size=25,
    ...     epochs=10,
    ...     optimizer="adagrad",
    ...     learning_rate=0.05,
    ...     l2=0,
    ...     save="m",
    ... )
    >>> parser.parse_args([]).batch_size
    25
    """
    add = parser.add_argument
    add(
        "--batch-size",
        type=positive,
        default=batch_size,
        metavar="N",
        help=f"{example}s in a step (default: {batch_size})",
    )
    add("--epochs", type=positive, default=epochs, metavar="N", help=f"default: {epochs}")
    add("--optimizer", choices=sorted(OPTIMIZERS), default=optimizer, help=f"default: {optimizer}")
    add("--learning-rate", type=rate, default=learning_rate, metavar="RATE", help=f"default: {learning_rate}")
    add("--l2", type=rate, default=l2, metavar="WEIGHT", help=f"weight decay (default: {l2:g})")
    add("--seed", type=count, default=0, metavar="N", help="default: 0")
    add(
        "--save",
        type=Path,
        default=Path(save),
        metavar="FILE",
        help=f"where to save the best model (default: {save}); FILE.state holds the state of the run",
    )
    add("--resume", action="store_true", help="continue from FILE.state if it exists")


def require_writable(path: Path) -> None:
    """Refuses, before an epoch is spent on training, a model file that could not be written.

    Raises:
        OSError: the file `path` or its checkpoint could not be written; see `arrows.files.replacing`.

    >>> require_writable(Path("/nowhere/m.safetensors"))
    Traceback (most recent call last):
    ...
    FileNotFoundError: [Errno 2] no such folder: '/nowhere'
    """
    require_replaceable(path)
    require_replaceable(checkpoint_path(path))


def checkpoint_path(path: Path) -> Path:
    """Where the state of the run is saved whose best model is at `path`.

    >>> checkpoint_path(Path("m.safetensors")).name
    'm.safetensors.state'
    """
    return path.with_name(f"{path.name}.state")


def train_best(
    options: argparse.Namespace,
    model: ar.Model,
    examples: list[Any],
    optimizer: Optimizer,
    *,
    evaluate: Callable[[], Mapping[str, float]],
    best_by: str,
    texts: Mapping[str, str],
    metadata: Mapping[str, str],
    unit: str,
    report: Callable[[Epoch], str] = str,
) -> Epoch:
    """Trains, prints a line for each epoch, and keeps the model of the best epoch in `options.save`.

    Args:
        options: of `add_training_options`.
        model: the model to train.
        examples: what to train it on.
        optimizer: takes the steps.
        evaluate: measures the model after each epoch.
        best_by: the figure of `evaluate` that decides which epoch is the best.
        texts: texts to save with the model.
        metadata: what the numbers of the run depend on besides; a resumed run must have the same.
        unit: what an example is called.
        report: the line about an epoch.

    Returns:
        The best epoch.

    Raises:
        NotFiniteError: loss or parameters became NaN; the best model until then is kept.
        KeyboardInterrupt: on Ctrl-C; the run can be resumed.
    """

    def after_epoch(epoch: Epoch) -> None:
        if epoch.best:
            save(model, options.save, texts)
        print(f"{report(epoch)}{', best so far' if epoch.best else ''}", flush=True)

    try:
        history = train(
            model,
            examples,
            optimizer,
            epochs=options.epochs,
            batch_size=options.batch_size,
            seed=options.seed,
            evaluate=evaluate,
            after_epoch=after_epoch,
            best_by=best_by,
            checkpoint_path=checkpoint_path(options.save),
            resume=options.resume,
            metadata=metadata,
            unit=unit,
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt("continue with --resume") from None
    return next(epoch for epoch in reversed(history) if epoch.best)


def parameter_count(model: ar.Model) -> str:
    """How many numbers the parameters of a model are, in words.

    >>> parameter_count(ar.compile(ar.Vector(2) >> ar.FC(1)))
    '3 parameters'
    """
    return f"{sum(array.size for array in model.params.values()):,} parameters"


def content_hash(chunks: Iterable[bytes]) -> str:
    """A short hash of the data that a run is trained on.

    >>> content_hash([b"a", b"b"]) == content_hash([b"ab"])
    True
    """
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()[:16]
