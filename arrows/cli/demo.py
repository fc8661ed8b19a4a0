"""The demonstration: a sentiment Tree-LSTM, from a typed block to a trained, saved and reloaded model."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import arrows as ar
from arrows.cli.option_types import positive
from arrows.data import CLASSES, Tree, format_tree, generate, label_tree, parse_tree, words
from arrows.models import Examination, Sentiment, sentiment
from arrows.storage import require_replaceable
from arrows.training import Adagrad, train
from arrows.typesys import ArrowValueError, InputError

SIZE, BATCH, LEARNING_RATE = 64, 32, 0.05
BUILT_IN = (
    "((not good) film)",
    "(very (not good))",
    "(not (very good))",
    "((this plot) (slightly dull))",
    "((a_word unseen) (never awful))",
    "((bad script) (but ((brilliant cast) (truly (moving music)))))",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `arrows demo` to a parser."""
    add = parser.add_argument
    add("trees", nargs="*", metavar="TREE", help="a tree to classify at the end: '((not good) film)'")
    add("--examples", type=positive, default=4000, help="trees to train on (default: 4000)")
    add("--epochs", type=positive, default=6, help="default: 6")
    add("--save", type=Path, metavar="FILE", help="keep the model in a new file (default: it is not kept)")


def run(options: argparse.Namespace) -> int:
    """Prints the typed expression, trains with a progress bar, measures, saves, loads back and classifies.

    Raises:
        ArrowValueError: there is a file at `--save`; a demonstration replaces none.
        InputError: one of the user's trees is not a tree; nothing has been trained then.
        OSError: the model cannot be saved.
        NotFiniteError: loss or parameters became NaN; nothing has been saved then.
    """
    users = [parse_tree(text, source=f"tree {number}") for number, text in enumerate(options.trees, start=1)]
    if options.save is not None:  # rather than fail after the training
        require_replaceable(options.save)
        if options.save.exists():
            raise ArrowValueError(f"--save {options.save}: there is a file already; give another path")
    size = options.examples
    learning, held_out = generate(size), generate(max(1, size // 8), seed=1)
    blocks = sentiment(ar.Vocabulary.of(words(learning)), size=SIZE)

    _title("The model, type-checked; nothing has run yet")
    print(ar.infer(blocks.learn))

    _title(f"Training on {size:,} generated trees, {len(held_out):,} held out")
    for tree in learning[1:3]:
        print(f"for example {format_tree(tree)}")
    model = ar.compile(blocks.learn, loss="loss")
    judge = ar.compile(blocks.judge, params=model.params)
    train(
        model,
        learning,
        Adagrad(LEARNING_RATE, weight_decay=1e-5, clip_norm=5.0),
        epochs=options.epochs,
        batch_size=BATCH,
        evaluate=Examination(judge, held_out),
        callbacks=[lambda epoch: print(epoch, flush=True)],
    )

    _title("What batching gains")
    batched, single = speed(blocks, model, learning[: 4 * BATCH])
    print(f"in batches of {BATCH}: {batched:,.0f} trees/s; one node at a time: {single:,.0f} trees/s")
    print(f"speed-up: {batched / single:.1f} times")

    _title("Saved, loaded back, and asked")
    with tempfile.TemporaryDirectory() as folder:
        path = options.save or Path(folder, "sentiment.safetensors")
        ar.save_model(judge, path, metadata={"classes": json.dumps(CLASSES)})
        restored = ar.load_model(path)
        kilobytes = path.stat().st_size / 1e3
    print(f"{path}: {kilobytes:,.0f} kB, {len(model.params)} parameters")
    for tree in [parse_tree(text) for text in BUILT_IN] + users:
        print(f"  {format_tree(tree):<64} {judgement(restored, tree)}")
    return 0


def speed(blocks: Sentiment, model: ar.Model, trees: list[Tree]) -> tuple[float, float]:
    """Trees per second in training, batched and one node at a time; the best of three alternating rounds.

    Gradients are computed and dropped, so the model does not change.

    >>> from arrows.models import sentiment
    >>> blocks = sentiment(ar.Vocabulary([]), size=2)
    >>> batched, single = speed(blocks, ar.compile(blocks.learn, loss="loss"), generate(8))
    >>> batched > 0 and single > 0
    True
    """
    one_by_one = ar.compile(blocks.learn, loss="loss", schedule="none", params=model.params)
    runs = [(runner, runner.prepare(trees)) for runner in (model, one_by_one)]
    best = [float("inf"), float("inf")]
    for _ in range(3):
        for system, (runner, examples) in enumerate(runs):
            start = time.perf_counter()
            for first in range(0, len(trees), BATCH):
                runner.value_and_grad(examples[first : first + BATCH])
            best[system] = min(best[system], time.perf_counter() - start)
    return len(trees) / best[0], len(trees) / best[1]


def judgement(judge: ar.Model, tree: Tree) -> str:
    """The class that a model predicts, with its probability, and the grammar's if it knows all words.

    >>> from arrows.models import sentiment
    >>> judge = ar.compile(sentiment(ar.Vocabulary([]), size=2, num_classes=1).judge)
    >>> judgement(judge, {"word": "good"})
    'very negative 100 %  (the grammar: positive)'
    """
    shares = ar.ops.softmax(ar.to_numpy(judge([tree]))[0])
    try:
        known = f"the grammar: {CLASSES[label_tree(tree)['label']]}"
    except InputError:
        known = "some words are new"
    return f"{CLASSES[int(shares.argmax())]} {100 * shares.max():.0f} %  ({known})"


def _title(text: str) -> None:
    print(f"\n== {text} ==", flush=True)
