"""The command `arrows fit`: reads a file, proposes a block, trains it, and reports."""

from __future__ import annotations

import argparse
import json
import shlex
from dataclasses import asdict
from pathlib import Path

from arrows.cli.fit.examples import ExampleFile, Parts, read_examples, split_examples
from arrows.cli.fit.leakage import revealing_fields
from arrows.cli.fit.options import SHARE
from arrows.cli.fit.report import (
    Table,
    class_tables,
    epoch_table,
    field_table,
    figure_table,
    miss_table,
    page,
    text_report,
)
from arrows.cli.fit.task import Classes, Result, figure_text, figures_text
from arrows.cli.fit.training import Fit, cross_validation, label_path, state_path, train_best
from arrows.cli.table_columns import METADATA
from arrows.documents import LEFT_OUT
from arrows.model_file import save_model
from arrows.storage import previous, replacing
from arrows.training import History, described_file
from arrows.typesys import ArrowValueError, counted, printable, quoted

FEW_TO_MEASURE = 50  # examples; the standard error of an accuracy is 0.07 then
WRITTEN = ("model.safetensors", "block.py", "history.json", "report.html")


def run(options: argparse.Namespace) -> int:
    """Trains, tests and reports; returns the exit status 0.

    Raises:
        InputError, ArrowValueError, OSError: wrong data or options; no model has been written then.
        NotFiniteError: loss or parameters became NaN, or the figure that decides always was.
        KeyboardInterrupt: on Ctrl-C; the run can be resumed.
    """
    name = options.data.name.removesuffix(".gz")
    folder: Path = options.output or options.data.with_name(f"{Path(name).stem}.fit")
    paths = [folder / name for name in WRITTEN]
    states = _require_free(options, paths)
    parts, data = _read(options)
    fit = Fit.of(options, data.keys, parts)
    task, label = fit.task, label_path(data.keys)
    warnings = [*data.notes, *_warnings(fit, parts, label)]
    print("\n".join(warnings), end="\n" * bool(warnings))
    parts = fit.readable(parts)
    # All examples are read before anything is written: one may be unlike those to learn from.
    scores = {name: fit.scores_of(parts[name]) for name in ("validation", "test") if parts[name]}
    train, validation, test = (len(part) for part in parts.values())
    validate = "in folds" if options.folds is not None else f"{validation:,} to validate by"
    size = sum(array.size for array in fit.learner.params.values())
    print(
        f"{train + validation + test:,} examples: {train:,} to learn from, {validate}, {test:,} to test by; "
        f"{quoted(options.label)} is {printable(str(task))}; {size:,} parameters; the best epoch is that of "
        f"the best {task.best_by}",
        flush=True,
    )
    folder.mkdir(exist_ok=True)
    # What the columns of tables hold that the model reads.
    rows, columns = fit.proposal.decisions, data.columns.items()
    left_out = {path for path, row in rows.items() if row["kind"] == LEFT_OUT}
    kept = {name: kind for name, kind in columns if label_path([name]) not in left_out}
    texts = {METADATA: json.dumps(kept)} if data.columns else {}
    results, folds = dict[str, Result](), list[History]()
    if options.folds is None:
        history, best = train_best(fit, parts, scores["validation"], paths[0], texts)
        matter = fit.field_losses(parts["validation"])
    else:
        best, results["cross-validation"], folds, matter = cross_validation(
            options, data.keys, parts["train"]
        )
        print(f"the folds are best after {best} epochs, on average; now to learn from all", flush=True)
        history = fit.train(parts["train"], epochs=best)
        save_model(fit.judge, paths[0], metadata=texts)
        for state in states:  # no run goes on from the state of the one whose model this replaces
            state.unlink(missing_ok=True)
    results |= {name: Result.of(task, parts[name], score()) for name, score in scores.items()}
    print(f"the model of epoch {best} ({printable(str(paths[0]))}):")
    for name, result in results.items():
        print(f"  {name}: {figures_text(result.figures)}")

    figure, guess = result.figures[task.best_by], result.baseline[task.best_by]
    if not figure > guess:
        warnings.append(
            f"warning: on the {name} examples the model is not better than the best guess that reads no "
            f"document: {task.best_by} {figure_text(figure)}, and {figure_text(guess)} of the guess"
        )
    read = [
        (path, kind, "the label" if path == label else because)
        for path, kind, because in fit.proposal.table()
    ]
    tables = [
        figure_table(results),
        *(class_tables(task, name, result) if isinstance(task, Classes) else ()),
        miss_table(task, name, result),
        field_table(matter),
        Table("How documents are read", [("path", "read as", "because the examples have"), *read], False),
        epoch_table(history),
    ]
    print(f"\n{text_report(warnings, tables)}")
    counts = ", ".join(f"{len(part):,} {name}" for name, part in parts.items() if part)
    about = f"Predicts {task}. Examples: {counts}. The model is that of epoch {best} of {len(history)}."
    curves = _curves(history) | ({"folds": [*map(_curves, folds)]} if folds else {})
    written = {
        "block.py": fit.proposal.source,
        "history.json": json.dumps(curves, indent=1) + "\n",
        "report.html": page(f"{options.label} of {options.data.name}", about, warnings, tables),
    }
    for path in paths[1:]:
        if not (options.resume and path.name == "block.py" and path.exists()):  # the user may have edited it
            with replacing(path) as file:
                file.write(_encoded(written[path.name]))
    print(f"written to {printable(str(folder))}: {', '.join(WRITTEN)}")
    return 0


def _read(options: argparse.Namespace) -> tuple[Parts, ExampleFile]:
    """The examples in parts, and what the file holds."""
    if options.folds is not None and (options.validation is not None or options.resume):
        raise ArrowValueError(
            f"--folds and --{'resume' if options.resume else 'validation'} do not go together: with folds, "
            "all examples but those to test by validate, once each, after each epoch of a run of its own"
        )
    data = read_examples(options.data, options.label, skip=options.skip_errors)
    usual = SHARE if options.folds is None else 0.0
    given = {"validation": options.validation, "test": options.test}
    files = {name: part for name, part in given.items() if isinstance(part, Path)}
    shares = {name: 0.0 if name in files else usual if part is None else part for name, part in given.items()}
    if sum(shares.values()) >= 1:
        raise ArrowValueError("--validation and --test leave nothing to learn from")
    parts = split_examples(data.examples, seed=options.seed, **shares)
    for name, path in files.items():
        part = read_examples(path, options.label, skip=options.skip_errors, like=data)
        parts[name] = part.examples
        data.notes.extend(part.notes)
    return parts, data


def _warnings(fit: Fit, parts: Parts, label: str) -> list[str]:
    """What makes the figures doubtful before any has been measured."""
    folds = fit.options.folds is not None
    hint = "" if folds else "; --folds 5 measures by all of them"
    found = [
        f"warning: only {counted(len(part), 'example')} {use}, and a figure of so few is off by much{hint}"
        for part, use in (
            (parts["train" if folds else "validation"], "to validate by"),
            (parts["test"], "to test by"),
        )
        if 0 < len(part) < FEW_TO_MEASURE
    ]
    rows = fit.proposal.decisions.items()
    ignored = [*fit.options.ignore, *(path for path, row in rows if row["kind"] == LEFT_OUT)]
    return found + [
        f"warning: the field {quoted(name)} says what the label is, in every example; if it is not known "
        f"when the model is used, leave it out: --ignore {shlex.quote(printable(name))}"
        for name in revealing_fields(parts["train"], label)
        if not any(name == path or name.startswith((f"{path}.", f"{path}[")) for path in ignored)
    ]


def _require_free(options: argparse.Namespace, paths: list[Path]) -> list[Path]:
    """Refuses to replace what another run has left.

    Returns:
        Where the run keeps its state, and the states before it.

    Raises:
        ArrowValueError: something is there; it says what, and what to do.
    """
    state = state_path(paths[0])
    states = [state, previous(state, 1), previous(state, 2)]
    there = next((path for path in [*states, *paths] if path.exists()), None)
    resumes = options.resume and any(path.exists() for path in states[:2])
    if there is None or options.overwrite or resumes:
        return states
    raise ArrowValueError(
        f"{there} is {described_file(there)}; --resume goes on with a run, --overwrite replaces what is "
        "there, another --output keeps it"
    )


def _curves(history: History) -> dict[str, object]:
    """The epochs and evaluations as plain JSON, without times, so that equal runs write equal files."""
    epochs = [
        {"epoch": epoch.number, "loss": epoch.loss, **epoch.figures, "best": epoch.best} for epoch in history
    ]
    return {"epochs": epochs, "evaluations": [asdict(evaluation) for evaluation in history.evaluations]}


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")
