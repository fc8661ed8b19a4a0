"""The command `arrows fit`: reads a file, proposes a block, trains it, and reports."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import arrows as ar
from arrows.cli.fit.examples import (
    DataSplit,
    Example,
    documents_of,
    read_examples,
    split_examples,
)
from arrows.cli.fit.leakage import revealing_fields
from arrows.cli.fit.measured import BATCH, Measured, Result, prepared_on_disk
from arrows.cli.fit.page import page
from arrows.cli.fit.report import Report, text_report
from arrows.cli.fit.task import Classes, Task, figure_text, figures_text, task_of
from arrows.cli.job import is_first
from arrows.cli.option_types import OPTIMIZERS
from arrows.cli.table_columns import METADATA, ColumnType, types_text
from arrows.cli.train_command import (
    content_hash,
    parameter_count,
    require_writable,
    train_best,
)
from arrows.documents import Decision, Proposal, infer_block
from arrows.documents.schema import ROOT, below
from arrows.files import replacing, require_replaceable
from arrows.training import Epoch, History, load
from arrows.typesys import ArrowValueError, InputError
from arrows.typesys.quoting import printable, printable_lines, quoted
from arrows.version import __version__

MOST_MISSES = 20  # wrong predictions in the report


def run(options: argparse.Namespace) -> int:
    """Trains, tests and reports; returns the exit status 0.

    Raises:
        InputError, ArrowValueError, OSError: wrong data or options; no model has been written then.
        And as `train_best`.
    """
    split, keys, columns = _split(options)
    task = task_of([*split.train, *split.validation, *split.test], split, options.task, options.label)
    path = below(ROOT, keys[0])
    for key in keys[1:]:
        path = below(path, key)
    proposal = infer_block(
        documents_of(split.train),
        width=options.width,
        ignore=[path, *options.ignore],
        kinds=dict(options.kind),
    )
    decisions = [
        replace(each, reason="the label") if each.path == path else each for each in proposal.decisions
    ]
    warnings = [
        f"warning: the field {quoted(name)} says what the label is, in every example; if it is not known "
        f"when the model is used, leave it out: --ignore {shlex.quote(printable(name))}"
        for name in revealing_fields(split.train)
        if not any(name == path or name.startswith((f"{path}.", f"{path}[")) for path in options.ignore)
    ]
    print("\n".join(warnings), end="\n" * bool(warnings))
    blocks = task.model(proposal.program, keys, options.dropout)
    model = ar.compile(blocks.learn, seed=options.seed, device=options.device)
    scores, judge = (
        ar.compile(block, params=model.params, device=options.device)
        for block in (blocks.scores, blocks.judge)
    )
    if options.skip_errors:
        split = _readable(split, judge)
        if not split.validation:
            raise InputError("none of the examples to validate by is like those to learn from")
    # All examples are read before anything is written: one may be unlike those to learn from.
    sets = _folder(options) if options.on_disk else None
    measured = {
        name: Measured.of(scores, part, task, sets)
        for name, part in (("validation", split.validation), ("test", split.test))
        if part
    }
    folder = _folder(options)
    options.save = folder / "model.safetensors"
    count = len(split.train) + len(split.validation) + len(split.test)
    print(
        f"{count:,} examples: {len(split.train):,} to learn from, {len(split.validation):,} to "
        f"validate by, {len(split.test):,} to test by; {quoted(options.label)} is {printable(str(task))}; "
        f"{parameter_count(model)}",
        flush=True,
    )
    if is_first():
        _write(folder / "block.py", proposal.source)
    results: dict[str, Result] = {}

    def test() -> str:
        kept = ar.compile(blocks.scores, device=options.device)
        load(kept, options.save)
        for name, part in measured.items():
            results[name] = replace(part, model=kept).result()
        return "\n".join(f"  {name}: {figures_text(part.figures)}" for name, part in results.items())

    history = train_best(
        options,
        model,
        documents_of(split.train) if sets is None else prepared_on_disk(model, split.train, sets),
        OPTIMIZERS[options.optimizer](options.learning_rate, weight_decay=options.l2, clip_norm=5.0),
        evaluate=measured["validation"],
        best_by=task.best_by,
        kept=judge,
        metadata=_run_identity(options, split, proposal),
        unit="document",
        test=test,
        report=_epoch_line,
        texts=_column_texts(options, keys, columns),
    )
    if history is not None:
        warnings += _weaknesses(task, results)
        report = _report(options, split, task, decisions, warnings, history, results)
        _write_report(folder, report, history)
    return 0


def _column_texts(
    options: argparse.Namespace, keys: tuple[str, ...], columns: Mapping[str, ColumnType]
) -> dict[str, str]:
    """What the model file says about the columns of tables, all but the label and those that are ignored."""
    left_out = {below(ROOT, keys[0]), *options.ignore}
    read = {name: kind for name, kind in columns.items() if below(ROOT, name) not in left_out}
    return {METADATA: types_text(read)} if columns else {}


def _epoch_line(epoch: Epoch) -> str:
    return (
        f"epoch {epoch.number}: loss {epoch.loss:.4g}, {figures_text(epoch.figures)}, "
        f"{epoch.examples_per_second:,.0f} documents/s"
    )


def _write_report(folder: Path, report: Report, history: History) -> None:
    print(f"\n{text_report(report)}")
    _write(folder / "history.json", json.dumps(_history(history), indent=1) + "\n")
    _write(folder / "report.html", page(report))
    print(f"written to {printable(str(folder))}: model.safetensors, block.py, history.json, report.html")


def _split(options: argparse.Namespace) -> tuple[DataSplit, tuple[str, ...], Mapping[str, ColumnType]]:
    """The examples in parts, the keys that lead to the label, and what the columns of a table hold."""
    data = read_examples(options.data, options.label, skip=options.skip_errors)
    shares = {"validation": options.validation_share, "test": options.test_share}
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
    return replace(split, **files), data.keys, data.columns


def _readable(split: DataSplit, judge: ar.Model) -> DataSplit:
    """The same without the documents that the model cannot read; says how many these are.

    All that it learns from it can read, since its block is inferred from them.
    """
    parts: dict[str, Sequence[Example]] = {"validation": split.validation, "test": split.test}
    errors: list[InputError] = []
    for name, part in parts.items():
        rows = list(judge.predict(documents_of(part), batch_size=BATCH, errors="return"))
        errors += [row for row in rows if isinstance(row, InputError)]
        parts[name] = [
            example for example, row in zip(part, rows, strict=True) if not isinstance(row, InputError)
        ]
    if errors:
        print(
            f"left out examples that are unlike those to learn from: {len(errors):,}; the first: "
            f"{printable_lines(str(errors[0]))}"
        )
    return replace(split, **parts)


def _folder(options: argparse.Namespace) -> Path:
    """The folder to write to, which is made, and in which all files can be written."""
    folder: Path | None = options.output
    if folder is None:
        name = options.data.name.removesuffix(".gz").removesuffix(".zst")
        folder = options.data.with_name(f"{Path(name).stem}.fit")
    folder.mkdir(exist_ok=True)
    require_writable(folder / "model.safetensors")
    for name in ("block.py", "history.json", "report.html"):
        require_replaceable(folder / name)
    return folder


def _write(path: Path, text: str) -> None:
    with replacing(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


def _run_identity(options: argparse.Namespace, split: DataSplit, proposal: Proposal) -> dict[str, str]:
    """What the numbers of a run depend on besides the optimizer: a resumed run must have the same."""
    lines = (
        f"{example.digest} {example.label!r}\n".encode("utf-8", "backslashreplace")
        for part in (split.train, split.validation)
        for example in part
    )
    return {
        "data": content_hash(lines),
        "block": content_hash([json.dumps(proposal.program, sort_keys=True).encode()]),
        "--label": options.label,
        "--dropout": str(options.dropout),
    }


def _report(
    options: argparse.Namespace,
    split: DataSplit,
    task: Task,
    decisions: Sequence[Decision],
    warnings: Sequence[str],
    history: History,
    results: dict[str, Result],
) -> Report:
    name, last = [*results.items()][-1]
    best = history.best
    assert best is not None
    return Report(
        data=options.data.name,
        label=options.label,
        task=str(task),
        warnings=warnings,
        settings=_settings(options),
        counts={"train": len(split.train), "validation": len(split.validation), "test": len(split.test)},
        figures={part: (result.figures, result.baseline) for part, result in results.items()},
        part=name,
        matrix=task.matrix(last.scores, last.examples) if isinstance(task, Classes) else None,
        misses=tuple(task.misses(last.scores, last.examples)[:MOST_MISSES]),
        decisions=decisions,
        epochs=tuple(history),
        best=best.epoch,
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
        "l2 seed validation_share test_share skip_errors"
    )
    settings = {f"--{name.replace('_', '-')}": getattr(options, name) for name in names.split()}
    settings |= {"--ignore": ", ".join(options.ignore), "--kind": ", ".join(map("=".join, options.kind))}
    settings["arrows"] = __version__
    return {name: str(value) for name, value in settings.items() if value not in (None, "", False)}


def _history(history: History) -> dict[str, object]:
    """The epochs and evaluations as plain JSON, without times, so that equal runs write equal files."""
    epochs = [
        {"epoch": epoch.number, "loss": epoch.loss, **epoch.figures, "best": epoch.best} for epoch in history
    ]
    return {"epochs": epochs, "evaluations": [asdict(evaluation) for evaluation in history.evaluations]}
