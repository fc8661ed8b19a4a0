"""The command `arrows fit`: reads a file, proposes a block, trains it, and reports."""

from __future__ import annotations

import argparse
import errno
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import arrows as ar
from arrows.cli.fit.examples import DataSplit, Example, ExampleFile, read_examples, split_examples
from arrows.cli.fit.folds import CrossValidation, cross_validation
from arrows.cli.fit.leakage import revealing_fields
from arrows.cli.fit.models import SETS, Built, Measured, Result, label_path, optimizer_of, prepared, trained
from arrows.cli.fit.options import SHARE, require_folds
from arrows.cli.fit.report import (
    Report,
    Table,
    class_tables,
    epoch_table,
    figure_table,
    miss_table,
    page,
    text_report,
)
from arrows.cli.fit.task import (
    FEW_TO_MEASURE,
    Classes,
    Task,
    counted,
    figure_text,
    figures_text,
    task_of,
)
from arrows.cli.job import in_job
from arrows.cli.outputs import require_free, states
from arrows.cli.table_columns import METADATA, is_missing
from arrows.cli.train_command import checkpoint_path, content_hash, parameter_count, run_logs, train_best
from arrows.model_file import save_model
from arrows.storage import replacing
from arrows.training import Epoch, History, load
from arrows.typesys import ArrowValueError
from arrows.typesys.quoting import printable, quoted
from arrows.version import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A fit that is ready to train.

    Attributes:
        options: of the command.
        data: the file of the examples.
        split: the examples in parts.
        task: what is predicted.
        built: the models.
        measured: the parts that measure the model.
        sets: the folder for examples in files, or None.
    """

    options: argparse.Namespace
    data: ExampleFile
    split: DataSplit
    task: Task
    built: Built
    measured: Mapping[str, Measured]
    sets: Path | None

    @property
    def texts(self) -> dict[str, str]:
        """What the model file says about the columns of tables, all but the label and those left out."""
        left_out = {label_path(self.data.keys[:1]), *self.options.ignore}
        columns = self.data.columns.items()
        kept = {name: kind for name, kind in columns if label_path([name]) not in left_out}
        return {METADATA: json.dumps(kept)} if columns else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a training.

    Attributes:
        history: of the model that was kept.
        best: the number of its epoch.
        results: by part; the last is what the report is about.
        folds: of the cross-validation, if there was one.
    """

    history: History
    best: int
    results: Mapping[str, Result]
    folds: CrossValidation | None = None


def run(options: argparse.Namespace) -> int:
    """Trains, tests and reports; returns the exit status 0.

    Raises:
        InputError, ArrowValueError, OSError: wrong data or options; no model has been written then.
        And as `train_best`.
    """
    require_folds(options)
    folder = _folder(options)
    options.save = folder / "model.safetensors"  # where `train_best` keeps the model
    _require_folder(options, folder)
    split, data = _split(options)
    # With folds, all that is not to test by validates.
    validating = split.validation if options.folds is None else split.train
    examples = [*split.train, *split.validation, *split.test]
    task = task_of(examples, split, options.task, options.label, validating=len(validating))
    built = Built.of(options, split.train, task)
    warnings = [*data.notes, *_warnings(options, task, split, validating)]
    print("\n".join(warnings), end="\n" * bool(warnings))
    if options.skip_errors:
        split = built.readable(split)
    # All examples are read before anything is written: one may be unlike those to learn from.
    sets = folder if options.on_disk else None
    if sets is not None:
        folder.mkdir(exist_ok=True)
        for left in () if in_job() else folder.glob(f"{SETS}*"):  # by a run that was killed
            shutil.rmtree(left, ignore_errors=True)
    measured = {
        name: Measured(built.scores, part, prepared(built.scores, part, sets), task)
        for name, part in (("validation", split.validation), ("test", split.test))
        if part
    }
    count = len(split.train) + len(split.validation) + len(split.test)
    validate = "in folds" if options.folds is not None else f"{len(split.validation):,} to validate by"
    print(
        f"{count:,} examples: {len(split.train):,} to learn from, {validate}, {len(split.test):,} to test "
        f"by; {quoted(options.label)} is {printable(str(task))}; {parameter_count(built.learner)}; the best "
        f"epoch is that of the best {task.best_by}",
        flush=True,
    )
    if not options.find_rate:
        folder.mkdir(exist_ok=True)
    fit = Fit(
        options=options,
        data=data,
        split=split,
        task=task,
        built=built,
        measured=measured,
        sets=sets,
    )
    outcome = _trained(fit) if options.folds is None else _trained_after_folds(fit)
    if outcome is not None:
        report = _report(fit, [*warnings, *_weaknesses(task, outcome.results)], outcome)
        print(f"\n{text_report(report)}")
        _write(folder / "history.json", json.dumps(_histories(outcome), indent=1) + "\n")
        _write(folder / "report.html", page(report))
        if not (options.resume and (folder / "block.py").exists()):  # the user may have edited it
            _write(folder / "block.py", _formatted(built.proposal.source))
        written = "model.safetensors, block.py, history.json, report.html"
        print(f"written to {printable(str(folder))}: {written}")
    return 0


def _trained(fit: Fit) -> Outcome | None:
    """Trains, and keeps the model that is best on the validation examples; None if nothing is to report."""
    options, built = fit.options, fit.built
    results: dict[str, Result] = {}

    def test() -> str:
        kept = ar.compile(built.blocks.scores, device=options.device)
        load(kept, options.save)
        results.update((name, replace(part, model=kept).result()) for name, part in fit.measured.items())
        return _figure_lines(results)

    history = train_best(
        options,
        built.learner,
        prepared(built.learner, fit.split.train, fit.sets),
        optimizer_of(options),
        evaluate=fit.measured["validation"],
        best_by=fit.task.best_by,
        kept=built.judge,
        metadata=_run_identity(fit),
        test=test,
        report=_epoch_line,
        texts=fit.texts,
    )
    if history is None:
        return None
    assert history.best is not None
    return Outcome(history=history, best=history.best.epoch, results=results)


def _trained_after_folds(fit: Fit) -> Outcome:
    """Measures by folds, and then trains on all examples for as many epochs as were best."""
    options, built = fit.options, fit.built
    folds = cross_validation(options, fit.split.train, fit.sets)
    print(
        f"the folds are best after {folds.epochs} epochs, on average; now to learn from all of them",
        flush=True,
    )
    logs = run_logs(options)
    history = trained(options, built, fit.split.train, fit.sets, epochs=folds.epochs, callbacks=logs)
    save_model(built.judge, options.save, metadata=fit.texts)
    # With `--overwrite`: no run goes on from the state of the one whose model this replaces.
    for state in states(options, checkpoint_path(options.save)):
        state.unlink(missing_ok=True)
    results = {"cross-validation": folds.result}
    results |= {name: part.result() for name, part in fit.measured.items()}
    print(f"the model ({printable(str(options.save))}):\n{_figure_lines(results)}")
    return Outcome(history=history, best=folds.epochs, results=results, folds=folds)


def _figure_lines(results: Mapping[str, Result]) -> str:
    return "\n".join(f"  {name}: {figures_text(part.figures)}" for name, part in results.items())


def _epoch_line(epoch: Epoch) -> str:
    return (
        f"epoch {epoch.number}: loss {epoch.loss:.4g}, {figures_text(epoch.figures)}, "
        f"{epoch.examples_per_second:,.0f} documents/s"
    )


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
    return replace(split_examples(data.examples, seed=options.seed, **shares), **files), data


def _shares(options: argparse.Namespace) -> dict[str, float]:
    """The shares of the examples that validate and that test, where no file has these."""
    usual = SHARE if options.folds is None else 0.0
    given = {"validation": options.validation_share, "test": options.test_share}
    return {name: usual if share is None else share for name, share in given.items()}


def _warnings(
    options: argparse.Namespace, task: Task, split: DataSplit, validating: Sequence[Example]
) -> list[str]:
    """What makes the figures doubtful before any has been measured."""
    hint = "; --folds 5 measures by all of them" if options.folds is None else ""
    few = [
        f"warning: only {counted(len(part), 'example')} {use}, and a figure of so few is off by much{hint}"
        for part, use in ((validating, "to validate by"), (split.test, "to test by"))
        if 0 < len(part) < FEW_TO_MEASURE
    ]
    # A class may have a name by which people say that nothing is known.
    missing = [
        f"warning: {quoted(name)} is a class; if it says that a label is missing, leave these lines out"
        for name in (task.names if isinstance(task, Classes) else ())
        if is_missing(name)
    ]
    revealing = [
        f"warning: the field {quoted(name)} says what the label is, in every example; if it is not known "
        f"when the model is used, leave it out: --ignore {shlex.quote(printable(name))}"
        for name in revealing_fields(split.train)
        if not any(name == path or name.startswith((f"{path}.", f"{path}[")) for path in options.ignore)
    ]
    return [*few, *missing, *revealing]


def _weaknesses(task: Task, results: Mapping[str, Result]) -> list[str]:
    """Says so if the model is not better than the best guess that reads no document."""
    name, result = [*results.items()][-1]
    figure, guess = result.figures[task.best_by], result.baseline[task.best_by]
    warning = (
        f"warning: on the {name} examples the model is not better than the best guess that reads no "
        f"document: {task.best_by} {figure_text(figure)}, and {figure_text(guess)} of the guess"
    )
    return [] if figure > guess else [warning]


def _folder(options: argparse.Namespace) -> Path:
    """The folder to write to."""
    name = options.data.name.removesuffix(".gz").removesuffix(".zst")
    folder: Path = options.output or options.data.with_name(f"{Path(name).stem}.fit")
    return folder


def _require_folder(options: argparse.Namespace, folder: Path) -> None:
    """Refuses a folder whose files cannot be written, or would replace what another run has left.

    Raises:
        ArrowValueError, OSError: so it is.
    """
    if options.find_rate and folder.is_dir():
        return
    if folder.exists():
        names = ("block.py", "history.json", "report.html")
        written = [options.save, *(folder / name for name in names)]
        require_free(options, written, checkpoint_path(options.save), "--output")
    elif not folder.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(folder.parent))


def _formatted(source: str) -> str:
    """A source as ruff lays it out; as it is where there is no ruff."""
    program = shutil.which("ruff") or shutil.which("ruff", path=Path(sys.executable).parent)
    if program is None:
        return source
    command = [program, "format", "--isolated", "--stdin-filename", "block.py", "-"]
    done = subprocess.run(command, input=_encoded(source), capture_output=True, check=False)
    return source if done.returncode else done.stdout.decode("utf-8")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _write(path: Path, text: str) -> None:
    with replacing(path) as file:
        file.write(_encoded(text))


def _run_identity(fit: Fit) -> dict[str, str]:
    """What the numbers of a run depend on besides the optimizer: a resumed run must have the same."""
    lines = (
        _encoded(f"{example.digest} {example.label!r}\n")
        for part in (fit.split.train, fit.split.validation)
        for example in part
    )
    return {
        "data": content_hash(lines),
        "block": content_hash([json.dumps(fit.built.proposal.decisions, sort_keys=True).encode()]),
        "--label": fit.options.label,
        "--dropout": str(fit.options.dropout),
    }


def _report(fit: Fit, warnings: Sequence[str], outcome: Outcome) -> Report:
    options, task = fit.options, fit.task
    part, result = [*outcome.results.items()][-1]
    label = label_path(fit.data.keys)
    decisions = [
        (path, kind, "the label" if path == label else because)
        for path, kind, because in fit.built.proposal.table()
    ]
    spreads = {} if outcome.folds is None else {"cross-validation": outcome.folds.spread}
    tables = [
        figure_table(outcome.results, spreads),
        *(class_tables(task, part, result) if isinstance(task, Classes) else ()),
        miss_table(task, part, result),
        Table("How documents are read", [("path", "read as", "because the samples have"), *decisions], False),
        epoch_table(outcome.history),
        Table("Settings", [("option", "value"), *_settings(options).items()], False, most=0),
    ]
    split = fit.split
    parts = {"train": split.train, "validation": split.validation, "test": split.test}
    counts = [f"{len(each):,} {name}" for name, each in parts.items() if each or options.folds is None]
    about = (
        f"Predicts {task}. Examples: {', '.join(counts)}. The model is that of epoch {outcome.best} of "
        f"{len(outcome.history)}."
    )
    return Report(f"{options.label} of {options.data.name}", about, warnings, tables, outcome.history)


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


def _histories(outcome: Outcome) -> dict[str, object]:
    """The history of the model that was kept, and those of the folds."""
    folds = {} if outcome.folds is None else {"folds": [_history(each) for each in outcome.folds.histories]}
    return _history(outcome.history) | folds


def _history(history: History) -> dict[str, object]:
    """The epochs and evaluations as plain JSON, without times, so that equal runs write equal files."""
    epochs = [
        {"epoch": epoch.number, "loss": epoch.loss, **epoch.figures, "best": epoch.best} for epoch in history
    ]
    return {"epochs": epochs, "evaluations": [asdict(evaluation) for evaluation in history.evaluations]}
