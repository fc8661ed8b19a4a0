"""The command `arrows fit`: reads a file, proposes a block, trains it, and reports."""

from __future__ import annotations

import argparse
import errno
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import arrows as ar
from arrows.cli.fit.building import Built, label_path, optimizer_of
from arrows.cli.fit.examples import DataSplit, Example, ExampleFile, read_examples, split_examples
from arrows.cli.fit.folds import CrossValidation, cross_validation
from arrows.cli.fit.leakage import revealing_fields
from arrows.cli.fit.measured import Measured, Result
from arrows.cli.fit.options import SHARE, require_folds
from arrows.cli.fit.page import page
from arrows.cli.fit.report import Report, text_report
from arrows.cli.fit.task import (
    FEW_TO_MEASURE,
    Classes,
    Task,
    counted,
    figure_text,
    figures_text,
    task_of,
)
from arrows.cli.job import is_first
from arrows.cli.outputs import require_free, states
from arrows.cli.run_logs import run_logs
from arrows.cli.table_columns import METADATA, is_missing, types_text
from arrows.cli.train_command import checkpoint_path, content_hash, parameter_count, train_best
from arrows.documents import Proposal
from arrows.documents.schema import ROOT, below
from arrows.files import replacing
from arrows.model_files import save_model
from arrows.training import Epoch, History, load, train
from arrows.typesys import ArrowValueError
from arrows.typesys.quoting import printable, quoted
from arrows.version import __version__

MOST_MISSES = 20  # wrong predictions in the report


def run(options: argparse.Namespace) -> int:
    """Trains, tests and reports; returns the exit status 0.

    Raises:
        InputError, ArrowValueError, OSError: wrong data or options; no model has been written then.
        And as `train_best`.
    """
    require_folds(options)
    folder = _folder(options)
    split, data = _split(options)
    # With folds, all that is not to test by validates.
    validating = split.validation if options.folds is None else split.train
    examples = [*split.train, *split.validation, *split.test]
    task = task_of(examples, split, options.task, options.label, validating=len(validating))
    built = Built.of(options, split.train, task)
    source = None if options.find_rate else _source_to_write(options, folder / "block.py", built.proposal)
    path = label_path(data.keys)
    decisions = [
        (each, kind, "the label" if each == path else because)
        for each, kind, because in built.proposal.table()
    ]
    warnings = [*data.notes, *_few(validating, split.test, folds=options.folds is not None)]
    warnings += _missing_labels(task)
    warnings += [
        f"warning: the field {quoted(name)} says what the label is, in every example; if it is not known "
        f"when the model is used, leave it out: --ignore {shlex.quote(printable(name))}"
        for name in revealing_fields(split.train)
        if not any(name == path or name.startswith((f"{path}.", f"{path}[")) for path in options.ignore)
    ]
    print("\n".join(warnings), end="\n" * bool(warnings))
    if options.skip_errors:
        split = built.readable(split)
    # All examples are read before anything is written: one may be unlike those to learn from.
    if options.on_disk:
        folder.mkdir(exist_ok=True)
    sets = folder if options.on_disk else None
    measured = {
        name: Measured.of(built.scores, part, task, sets)
        for name, part in (("validation", split.validation), ("test", split.test))
        if part
    }
    if not options.find_rate:
        folder.mkdir(exist_ok=True)
    count = len(split.train) + len(split.validation) + len(split.test)
    validate = "in folds" if options.folds is not None else f"{len(split.validation):,} to validate by"
    print(
        f"{count:,} examples: {len(split.train):,} to learn from, {validate}, {len(split.test):,} to test "
        f"by; {quoted(options.label)} is {printable(str(task))}; {parameter_count(built.learner)}; the best "
        f"epoch is that of the best {task.best_by}",
        flush=True,
    )
    if source is not None:
        _write(folder / "block.py", source)
    run_training = _trained if options.folds is None else _trained_after_folds
    outcome = run_training(options, built, split, task, measured, sets, _column_texts(options, data))
    if outcome is not None:
        warnings += _weaknesses(task, outcome.results)
        _write_report(folder, _report(options, split, task, decisions, warnings, outcome), outcome)
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """What came of a training.

    Attributes:
        history: of the model that was kept.
        best: the number of its epoch.
        results: by part.
        folds: of the cross-validation, if there was one.
    """

    history: History
    best: int
    results: Mapping[str, Result]
    folds: CrossValidation | None = None


def _trained(
    options: argparse.Namespace,
    built: Built,
    split: DataSplit,
    task: Task,
    measured: Mapping[str, Measured],
    sets: Path | None,
    texts: Mapping[str, str],
) -> _Outcome | None:
    """Trains, and keeps the model that is best on the validation examples; None if nothing is to report."""
    results: dict[str, Result] = {}

    def test() -> str:
        kept = ar.compile(built.blocks.scores, device=options.device)
        load(kept, options.save)
        for name, part in measured.items():
            results[name] = replace(part, model=kept).result()
        return _figure_lines(results)

    history = train_best(
        options,
        built.learner,
        built.prepared(split.train, sets),
        optimizer_of(options),
        evaluate=measured["validation"],
        best_by=task.best_by,
        kept=built.judge,
        metadata=_run_identity(options, split, built.proposal),
        unit="document",
        test=test,
        report=_epoch_line,
        texts=texts,
    )
    if history is None:
        return None
    best = history.best
    assert best is not None
    return _Outcome(history=history, best=best.epoch, results=results)


def _trained_after_folds(
    options: argparse.Namespace,
    built: Built,
    split: DataSplit,
    task: Task,
    measured: Mapping[str, Measured],
    sets: Path | None,
    texts: Mapping[str, str],
) -> _Outcome:
    """Measures by folds, and then trains on all examples for as many epochs as were best."""
    folds = cross_validation(options, split.train, sets)
    print(
        f"the folds are best after {folds.epochs} epochs, on average; now to learn from all of them",
        flush=True,
    )
    with run_logs(options) as logs:
        history = train(
            built.learner,
            built.prepared(split.train, sets),
            optimizer_of(options),
            epochs=folds.epochs,
            batch_size=options.batch_size,
            accumulate=options.accumulate,
            seed=options.seed,
            callbacks=logs,
            unit="document",
        )
    save_model(built.judge, options.save, metadata=texts)
    # With `--overwrite`: no run goes on from the state of the one whose model this replaces.
    for state in states(options, checkpoint_path(options.save)):
        state.unlink(missing_ok=True)
    results = {"cross-validation": folds.result} | {name: part.result() for name, part in measured.items()}
    print(f"the model ({printable(str(options.save))}):\n{_figure_lines(results)}")
    return _Outcome(history=history, best=folds.epochs, results=results, folds=folds)


def _figure_lines(results: Mapping[str, Result]) -> str:
    return "\n".join(f"  {name}: {figures_text(part.figures)}" for name, part in results.items())


def _column_texts(options: argparse.Namespace, data: ExampleFile) -> dict[str, str]:
    """What the model file says about the columns of tables, all but the label and those that are ignored."""
    left_out = {below(ROOT, data.keys[0]), *options.ignore}
    read = {name: kind for name, kind in data.columns.items() if below(ROOT, name) not in left_out}
    return {METADATA: types_text(read)} if data.columns else {}


def _epoch_line(epoch: Epoch) -> str:
    return (
        f"epoch {epoch.number}: loss {epoch.loss:.4g}, {figures_text(epoch.figures)}, "
        f"{epoch.examples_per_second:,.0f} documents/s"
    )


def _write_report(folder: Path, report: Report, outcome: _Outcome) -> None:
    print(f"\n{text_report(report)}")
    _write(folder / "history.json", json.dumps(_histories(outcome), indent=1) + "\n")
    _write(folder / "report.html", page(report))
    print(f"written to {printable(str(folder))}: model.safetensors, block.py, history.json, report.html")


def _split(options: argparse.Namespace) -> tuple[DataSplit, ExampleFile]:
    """The examples in parts, and what the file holds."""
    data = read_examples(options.data, options.label, skip=options.skip_errors)
    shares = _shares(options)
    files: dict[str, Sequence[Example]] = {}
    for name in shares:
        path = getattr(options, name)
        if path is not None:
            part = read_examples(path, options.label, skip=options.skip_errors, columns=data.columns)
            files[name], shares[name] = part.examples, 0.0
            if part.keys != data.keys:
                raise ArrowValueError(
                    f"--{name} {path}: the label is at {quoted('.'.join(part.keys))} there, and at "
                    f"{quoted('.'.join(data.keys))} in {options.data}"
                )
    if shares["validation"] + shares["test"] >= 1:
        raise ArrowValueError("--validation-share and --test-share leave nothing to learn from")
    split = split_examples(
        data.examples, seed=options.seed, validation=shares["validation"], test=shares["test"]
    )
    return replace(split, **files), data


def _shares(options: argparse.Namespace) -> dict[str, float]:
    """The shares of the examples that validate and that test, where no file has these."""
    usual = SHARE if options.folds is None else 0.0
    return {
        name: usual if share is None else share
        for name, share in (("validation", options.validation_share), ("test", options.test_share))
    }


def _few(validating: Sequence[Example], testing: Sequence[Example], *, folds: bool) -> list[str]:
    """Says so if a figure is that of few examples."""
    hint = "" if folds else "; --folds 5 measures by all of them"
    return [
        f"warning: only {counted(len(part), 'example')} {use}, and a figure of so few is off by much{hint}"
        for part, use in ((validating, "to validate by"), (testing, "to test by"))
        if 0 < len(part) < FEW_TO_MEASURE
    ]


def _missing_labels(task: Task) -> list[str]:
    """Says so if a class has a name by which people say that nothing is known."""
    return [
        f"warning: {quoted(name)} is a class; if it says that a label is missing, leave these lines out"
        for name in (task.names if isinstance(task, Classes) else ())
        if is_missing(name)
    ]


def _folder(options: argparse.Namespace) -> Path:
    """The folder to write to; sets where the model goes.

    Raises:
        ArrowValueError, OSError: its files cannot be written, or would replace what another run has left.
    """
    folder: Path | None = options.output
    if folder is None:
        name = options.data.name.removesuffix(".gz").removesuffix(".zst")
        folder = options.data.with_name(f"{Path(name).stem}.fit")
    options.save = folder / "model.safetensors"
    if options.find_rate and folder.is_dir():
        return folder
    if folder.exists():
        written = [options.save, *(folder / name for name in ("history.json", "report.html"))]
        require_free(options, written, checkpoint_path(options.save), "--output")
    elif not folder.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(folder.parent))
    return folder


def _source_to_write(options: argparse.Namespace, path: Path, proposal: Proposal) -> str | None:
    """The source of the block; None where it stands already, or `--resume` leaves what the user edited.

    Raises:
        ArrowValueError: another source is there.
    """
    if not is_first():
        return None
    if path.exists():
        if options.resume or (path.is_file() and path.read_bytes() == _encoded(proposal.source)):
            return None
        require_free(options, [path], None, "--output")
    return proposal.source


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _write(path: Path, text: str) -> None:
    with replacing(path) as file:
        file.write(_encoded(text))


def _run_identity(options: argparse.Namespace, split: DataSplit, proposal: Proposal) -> dict[str, str]:
    """What the numbers of a run depend on besides the optimizer: a resumed run must have the same."""
    lines = (
        f"{example.digest} {example.label!r}\n".encode("utf-8", "backslashreplace")
        for part in (split.train, split.validation)
        for example in part
    )
    return {
        "data": content_hash(lines),
        "block": content_hash([json.dumps(proposal.decisions, sort_keys=True).encode()]),
        "--label": options.label,
        "--dropout": str(options.dropout),
    }


def _report(
    options: argparse.Namespace,
    split: DataSplit,
    task: Task,
    decisions: Sequence[tuple[str, str, str]],
    warnings: Sequence[str],
    outcome: _Outcome,
) -> Report:
    results = outcome.results
    name, last = [*results.items()][-1]
    counts = {"train": len(split.train), "validation": len(split.validation), "test": len(split.test)}
    return Report(
        data=options.data.name,
        label=options.label,
        task=str(task),
        warnings=warnings,
        settings=_settings(options),
        counts={part: count for part, count in counts.items() if count or options.folds is None},
        figures={part: (result.figures, result.baseline) for part, result in results.items()},
        spread={} if outcome.folds is None else {"cross-validation": outcome.folds.spread},
        part=name,
        matrix=task.matrix(last.scores, last.examples) if isinstance(task, Classes) else None,
        misses=tuple(task.misses(last.scores, last.examples)[:MOST_MISSES]),
        decisions=decisions,
        epochs=tuple(outcome.history),
        best=outcome.best,
    )


def _weaknesses(task: Task, results: Mapping[str, Result]) -> list[str]:
    """Says so if the model is not better than the best guess that reads no document."""
    name, result = [*results.items()][-1]
    figure, guess = result.figures[task.best_by], result.baseline[task.best_by]
    if figure > guess:
        return []
    warning = (
        f"warning: on the {name} examples the model is not better than the best guess that reads no "
        f"document: {task.best_by} {figure_text(figure)}, and {figure_text(guess)} of the guess"
    )
    return [warning]


def _settings(options: argparse.Namespace) -> dict[str, str]:
    """What a report says about how the model was made; nothing of this machine."""
    names = (
        "width dropout batch_size accumulate epochs patience plateau evaluate_every optimizer learning_rate "
        "l2 seed folds skip_errors"
    )
    settings = {f"--{name.replace('_', '-')}": getattr(options, name) for name in names.split()}
    settings |= {f"--{name}-share": share for name, share in _shares(options).items()}
    settings |= {"--ignore": ", ".join(options.ignore), "--kind": ", ".join(map("=".join, options.kind))}
    settings["arrows"] = __version__
    return {name: str(value) for name, value in settings.items() if value not in (None, "", False)}


def _histories(outcome: _Outcome) -> dict[str, object]:
    """The history of the model that was kept, and those of the folds."""
    folds = {} if outcome.folds is None else {"folds": [_history(each) for each in outcome.folds.histories]}
    return _history(outcome.history) | folds


def _history(history: History) -> dict[str, object]:
    """The epochs and evaluations as plain JSON, without times, so that equal runs write equal files."""
    epochs = [
        {"epoch": epoch.number, "loss": epoch.loss, **epoch.figures, "best": epoch.best} for epoch in history
    ]
    return {"epochs": epochs, "evaluations": [asdict(evaluation) for evaluation in history.evaluations]}
