"""The command `arrows fit`: reads a file, proposes a block, trains it, and reports."""

from __future__ import annotations

import argparse
import errno
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from arrows.cli.fit.examples import Example, ExampleFile, Parts, read_examples, split_examples
from arrows.cli.fit.leakage import revealing_fields
from arrows.cli.fit.options import SHARE
from arrows.cli.fit.report import (
    Table,
    class_tables,
    epoch_table,
    figure_table,
    miss_table,
    page,
    text_report,
)
from arrows.cli.fit.task import Classes, Result, Task, counted, figure_text, figures_text, task_of
from arrows.cli.fit.training import Models, cross_validation, label_path, state_path, train_best, trained
from arrows.cli.table_columns import METADATA, is_missing
from arrows.model_file import save_model
from arrows.storage import previous, replacing, require_replaceable
from arrows.training import History
from arrows.training.saving import STATE, described_file, kind_of
from arrows.typesys import ArrowValueError
from arrows.typesys.errors import message
from arrows.typesys.quoting import printable, quoted
from arrows.version import __version__

FEW_TO_MEASURE = 50  # the standard error of an accuracy is 0.07 then
WRITTEN = ("model.safetensors", "block.py", "history.json", "report.html")
_NO_SETTINGS = ("command", "run", "data", "output", "label", "device", "threads", "resume", "overwrite")


def run(options: argparse.Namespace) -> int:
    """Trains, tests and reports; returns the exit status 0.

    Raises:
        InputError, ArrowValueError, OSError: wrong data or options; no model has been written then.
        NotFiniteError: loss or parameters became NaN, or the figure that decides always was.
        KeyboardInterrupt: on Ctrl-C; the run can be resumed.
    """
    name = options.data.name.removesuffix(".gz").removesuffix(".zst")
    folder: Path = options.output or options.data.with_name(f"{Path(name).stem}.fit")
    model = folder / "model.safetensors"
    states = _require_folder(options, folder, model)
    parts, data = _read(options)
    # With folds, all that is not to test by validates.
    validating = parts["validation" if options.folds is None else "train"]
    task = task_of(parts, options.task, options.label, validating=len(validating))
    models = Models.of(options, parts["train"], task, data.keys)
    warnings = [*data.notes, *_warnings(options, parts, data.keys, task, validating)]
    print("\n".join(warnings), end="\n" * bool(warnings))
    if options.skip_errors:
        parts = models.readable(parts)
    # All examples are read before anything is written: one may be unlike those to learn from.
    scores = {name: models.scores_of(parts[name]) for name in ("validation", "test") if parts[name]}
    train, validation, test = (len(part) for part in parts.values())
    validate = "in folds" if options.folds is not None else f"{validation:,} to validate by"
    size = sum(array.size for array in models.learner.params.values())
    print(
        f"{train + validation + test:,} examples: {train:,} to learn from, {validate}, {test:,} to test by; "
        f"{quoted(options.label)} is {printable(str(task))}; {size:,} parameters; the best epoch is that of "
        f"the best {task.best_by}",
        flush=True,
    )
    folder.mkdir(exist_ok=True)
    texts, results, folds = _texts(options, data), dict[str, Result](), list[History]()
    if options.folds is None:
        history, best = train_best(options, models, parts, scores["validation"], model, texts)
    else:
        best, results["cross-validation"], folds = cross_validation(options, parts["train"], data.keys)
        print(
            f"the folds are best after {best} epochs, on average; now to learn from all of them", flush=True
        )
        history = trained(options, models, parts["train"], epochs=best)
        save_model(models.judge, model, metadata=texts)
        for state in states:  # no run goes on from the state of the one whose model this replaces
            state.unlink(missing_ok=True)
    results |= {name: Result.of(task, parts[name], score()) for name, score in scores.items()}
    figures = "\n".join(f"  {name}: {figures_text(result.figures)}" for name, result in results.items())
    print(f"the model of epoch {best} ({printable(str(model))}):\n{figures}")

    warnings += _weaknesses(task, results)
    tables = _tables(options, data, models, results, history)
    counts = ", ".join(f"{len(part):,} {name}" for name, part in parts.items() if part)
    about = f"Predicts {task}. Examples: {counts}. The model is that of epoch {best} of {len(history)}."
    print(f"\n{text_report(warnings, tables)}")
    curves = _curves(history) | ({"folds": [*map(_curves, folds)]} if folds else {})
    _write(folder / "history.json", json.dumps(curves, indent=1) + "\n")
    _write(folder / "report.html", page(f"{options.label} of {options.data.name}", about, warnings, tables))
    if not (options.resume and (folder / "block.py").exists()):  # the user may have edited it
        _write(folder / "block.py", _formatted(models.proposal.source))
    print(f"written to {printable(str(folder))}: {', '.join(WRITTEN)}")
    return 0


def _read(options: argparse.Namespace) -> tuple[Parts, ExampleFile]:
    """The examples in parts, and what the file holds."""
    if options.folds is not None:
        for name in ("validation", "resume"):
            if getattr(options, name):
                raise ArrowValueError(
                    f"--folds and --{name} do not go together: with folds, all examples but those to test by "
                    "validate, once each, after each epoch of a run of its own"
                )
    data = read_examples(options.data, options.label, skip=options.skip_errors)
    usual = SHARE if options.folds is None else 0.0
    given = {"validation": options.validation, "test": options.test}
    shares = {name: usual if part is None else part for name, part in given.items()}
    files = {name: part for name, part in shares.items() if isinstance(part, Path)}
    shares |= dict.fromkeys(files, 0.0)
    if sum(shares.values()) >= 1:
        raise ArrowValueError("--validation and --test leave nothing to learn from")
    parts = split_examples(data.examples, seed=options.seed, **shares)
    for name, path in files.items():
        part = read_examples(path, options.label, skip=options.skip_errors, columns=data.columns)
        parts[name] = part.examples
        data.notes.extend(part.notes)
        if part.keys != data.keys:
            raise ArrowValueError(
                f"--{name} {path}: the label is at {quoted('.'.join(part.keys))} there, and at "
                f"{quoted('.'.join(data.keys))} in {options.data}"
            )
    return parts, data


def _warnings(
    options: argparse.Namespace,
    parts: Parts,
    keys: Sequence[str],
    task: Task,
    validating: Sequence[Example],
) -> list[str]:
    """What makes the figures doubtful before any has been measured."""
    hint = "; --folds 5 measures by all of them" if options.folds is None else ""
    few = [
        f"warning: only {counted(len(part), 'example')} {use}, and a figure of so few is off by much{hint}"
        for part, use in ((validating, "to validate by"), (parts["test"], "to test by"))
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
        for name in revealing_fields(parts["train"], label_path(keys))
        if not any(name == path or name.startswith((f"{path}.", f"{path}[")) for path in options.ignore)
    ]
    return [*few, *missing, *revealing]


def _weaknesses(task: Task, results: dict[str, Result]) -> list[str]:
    """Says so if the model is not better than the best guess that reads no document."""
    name, result = [*results.items()][-1]
    figure, guess = result.figures[task.best_by], result.baseline[task.best_by]
    warning = (
        f"warning: on the {name} examples the model is not better than the best guess that reads no "
        f"document: {task.best_by} {figure_text(figure)}, and {figure_text(guess)} of the guess"
    )
    return [] if figure > guess else [warning]


def _tables(
    options: argparse.Namespace,
    data: ExampleFile,
    models: Models,
    results: dict[str, Result],
    history: History,
) -> list[Table]:
    """The tables of the report; the settings say nothing of this machine."""
    name, result = [*results.items()][-1]
    read = [
        (path, kind, "the label" if path == label_path(data.keys) else because)
        for path, kind, because in models.proposal.table()
    ]
    settings = vars(options) | {"kind": ["=".join(kind) for kind in options.kind]}
    shown = [
        (f"--{option.replace('_', '-')}", ", ".join(value) if isinstance(value, list) else str(value))
        for option, value in settings.items()
        if option not in _NO_SETTINGS and value not in (None, False, []) and not isinstance(value, Path)
    ]
    return [
        figure_table(results),
        *(class_tables(models.task, name, result) if isinstance(models.task, Classes) else ()),
        miss_table(models.task, name, result),
        Table("How documents are read", [("path", "read as", "because the samples have"), *read], False),
        epoch_table(history),
        Table("Settings", [("option", "value"), *shown, ("arrows", __version__)], False, most=0),
    ]


def _texts(options: argparse.Namespace, data: ExampleFile) -> dict[str, str]:
    """What the model file says about the columns of tables, all but the label and those left out."""
    left_out = {label_path(data.keys[:1]), *options.ignore}
    kept = {name: kind for name, kind in data.columns.items() if label_path([name]) not in left_out}
    return {METADATA: json.dumps(kept)} if data.columns else {}


def _require_folder(options: argparse.Namespace, folder: Path, model: Path) -> list[Path]:
    """Refuses a folder whose files cannot be written, or would replace what another run has left.

    Returns:
        Where the run keeps its state, and the states before it.

    Raises:
        ArrowValueError, OSError: so it is.
    """
    state, paths = state_path(model), [folder / name for name in WRITTEN]
    states = [state, previous(state, 1), previous(state, 2)]
    if not folder.exists():
        if not folder.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "no such folder", str(folder.parent))
        return states
    for path in [*paths, state]:
        require_replaceable(path)
    there = next((path for path in [*states, *paths] if path.exists()), None)
    resumes = options.resume and any(path.exists() for path in states[:2])
    if there is None or options.overwrite or resumes:
        return states
    goes_on = "--resume goes on with it, " if there in states and kind_of(there) == STATE else ""
    raise ArrowValueError(
        message(
            f"cannot begin a run that writes {model}",
            reason=f"{there} is {described_file(there)}",
            hint=f"{goes_on}--overwrite replaces it, another --output keeps it",
        )
    )


def _curves(history: History) -> dict[str, object]:
    """The epochs and evaluations as plain JSON, without times, so that equal runs write equal files."""
    epochs = [
        {"epoch": epoch.number, "loss": epoch.loss, **epoch.figures, "best": epoch.best} for epoch in history
    ]
    return {"epochs": epochs, "evaluations": [asdict(evaluation) for evaluation in history.evaluations]}


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
