"""How `arrows fit` trains: its options, the files that it writes, and the training."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import arrows as ar
from arrows.cli.job import is_first
from arrows.cli.option_types import OPTIMIZERS, add_device, count, positive, rate
from arrows.cli.outputs import add_overwrite, require_output
from arrows.model_file import save_model
from arrows.storage import require_replaceable
from arrows.training import (
    Callback,
    Checkpoint,
    EarlyStopping,
    Epoch,
    Evaluation,
    History,
    JsonLines,
    Optimizer,
    Plateau,
    find_learning_rate,
    train,
    world,
)
from arrows.training.saving import EVALUATION
from arrows.typesys.errors import NotFiniteError
from arrows.typesys.quoting import printable


def add_training_options(
    parser: argparse.ArgumentParser,
    *,
    example: str,
    batch_size: int,
    epochs: int,
    optimizer: str,
    learning_rate: float,
    l2: float,
    patience: int | None = None,
) -> None:
    """Adds the options that say how to train, with these defaults."""
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
    add_device(parser)
    add(
        "--accumulate",
        type=positive,
        default=1,
        metavar="N",
        help="take each step on N batches, whose gradients are summed up (default: 1)",
    )
    add(
        "--keep-last",
        type=positive,
        default=2,
        metavar="N",
        help="how many states of the run to keep, in case the newest is damaged (default: 2)",
    )
    add("--resume", action="store_true", help="continue from the saved state of the run if there is one")
    add_overwrite(parser)
    add("--evaluate-every", type=positive, metavar="N", help="evaluate on dev after every N steps, too")
    add(
        "--patience",
        type=count,
        default=patience,
        metavar="N",
        help="stop after more than N evaluations without improvement"
        + ("" if patience is None else f" (default: {patience})"),
    )
    add(
        "--plateau",
        type=count,
        metavar="N",
        help="halve the learning rates after more than N evaluations without improvement",
    )
    add(
        "--find-rate",
        action="store_true",
        help="print a learning rate to begin with, found in a short run, and train nothing",
    )
    add("--log", type=Path, metavar="FILE", help="append a line of JSON for each step, evaluation and epoch")


def checkpoint_path(path: Path) -> Path:
    """The file for the state of the run that keeps its best model at `path`."""
    return path.with_name(f"{path.name}.state")


def train_best(
    options: argparse.Namespace,
    model: ar.Model,
    examples: object,
    optimizer: Optimizer,
    *,
    evaluate: Callable[[], Mapping[str, float]],
    best_by: str,
    kept: ar.Model,
    metadata: Mapping[str, str],
    test: Callable[[], str],
    report: Callable[[Epoch], str] = str,
    texts: Mapping[str, str] | None = None,
) -> History | None:
    """Trains, prints a line for each epoch, and keeps the model of the best one; tests it at the end.

    Args:
        options: of `add_training_options`; `options.save` says where the model is kept.
        model, examples, optimizer, evaluate: see `arrows.training.train`.
        best_by: likewise; higher is better.
        kept: what is saved: a model of the same parameters that predicts.
        metadata: what the numbers of the run depend on besides; a resumed run must have the same.
        test: measures the model that was kept on the test examples; returns the lines about it.
        report: the line about an epoch.
        texts: what else the model file keeps.

    Returns:
        The epochs and evaluations; None if a learning rate was all that `options` ask for, and on all ranks
        of an MPI job but the first, which reports.

    Raises:
        NotFiniteError: loss or parameters became NaN, or `best_by` always was; the best model until then is
            kept, if there is one.
        KeyboardInterrupt: on Ctrl-C; the run can be resumed.
    """
    reporter = _Reporter(
        kept=kept,
        path=options.save,
        report=report,
        texts=texts,
        evaluations=options.evaluate_every is not None,
    )
    if options.find_rate:
        _find_rate(options, model, examples, optimizer)
        return None
    rules: list[Callback] = []
    if options.patience is not None:
        rules.append(EarlyStopping(best_by, options.patience, lower=False))
    if options.plateau is not None:
        rules.append(Plateau(best_by, 0.5, options.plateau, lower=False))
    try:
        history = train(
            model,
            examples,
            optimizer,
            epochs=options.epochs,
            batch_size=options.batch_size,
            accumulate=options.accumulate,
            seed=options.seed,
            evaluate=evaluate,
            evaluate_every=options.evaluate_every,
            best_by=best_by,
            lower=False,
            callbacks=[reporter, *rules, *run_logs(options)],
            checkpoint=Checkpoint(
                checkpoint_path(options.save),
                keep=options.keep_last,
                resume=options.resume,
                overwrite=options.overwrite,
                metadata=metadata,
            ),
            comm=world(),
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt("continue with --resume") from None
    if not is_first():
        return None
    best = history.best
    if best is None:
        raise NotFiniteError(f"{best_by} was no number in any evaluation; no model has been kept")
    figures = test()
    step = f", step {best.step:,}" if options.evaluate_every else ""
    print(f"test, with the model of epoch {best.epoch}{step} ({printable(str(options.save))}):\n{figures}")
    return history


def run_logs(options: argparse.Namespace) -> list[Callback]:
    """The callbacks that `options` ask for, on the first rank alone.

    Raises:
        ArrowValueError: the file is one that the command reads, a model, or the state of a run.
        OSError: the file cannot be written.
    """
    if options.log is None or not is_first():
        return []
    read = [value for name, value in vars(options).items() if name not in ("log", "save")]
    require_output(options.log, *read, option="--log")
    require_replaceable(options.log)
    return [JsonLines(options.log)]


def _find_rate(options: argparse.Namespace, model: ar.Model, examples: object, optimizer: Optimizer) -> None:
    search = find_learning_rate(
        model, examples, optimizer, batch_size=options.batch_size * options.accumulate, seed=options.seed
    )
    lowest, highest = search.rates[0], search.rates[-1]
    print(
        f"a learning rate to begin with: {search.suggestion:.2g}, where the loss falls fastest in "
        f"{len(search.rates)} steps at rates from {lowest:.2g} to {highest:.2g}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reporter(Callback):
    """Prints a line for each epoch, and for each evaluation if asked to; saves the best model so far."""

    kept: ar.Model
    path: Path
    report: Callable[[Epoch], str]
    texts: Mapping[str, str] | None
    evaluations: bool

    def after_evaluation(self, evaluation: Evaluation, /) -> None:
        figures = ", ".join(f"{name} {value:.4f}" for name, value in evaluation.figures.items())
        if evaluation.best:
            made = f"epoch {evaluation.epoch}, step {evaluation.step:,}, {figures}"
            save_model(self.kept, self.path, metadata={**(self.texts or {}), EVALUATION: made})
        if self.evaluations:
            print(f"  step {evaluation.step:,}: {figures}{_best(evaluation)}", flush=True)

    def after_epoch(self, epoch: Epoch, /) -> None:
        print(f"{self.report(epoch)}{_best(epoch)}", flush=True)


def _best(result: Epoch | Evaluation) -> str:
    return ", best so far" if result.best else ""


def parameter_count(model: ar.Model) -> str:
    """The number of a model's scalar parameters, as text."""
    return f"{sum(array.size for array in model.params.values()):,} parameters"


def content_hash(chunks: Iterable[bytes]) -> str:
    """A short hash of the data that a run is trained on."""
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()[:16]
