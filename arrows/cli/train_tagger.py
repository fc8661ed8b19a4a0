"""`arrows train tagger`: a part-of-speech tagger on a treebank of Universal Dependencies."""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import arrows as ar
from arrows.cli.model_files import contents, loaded, numbers_in, size_in, sizes_in
from arrows.cli.option_types import OPTIMIZERS, count, positive, rate, share
from arrows.cli.output_files import check_places, state_path
from arrows.data import Sentence, read_conllu
from arrows.machine import limited_to
from arrows.models import Lexicon, TagExamination, tagger
from arrows.training import Epoch, Optimizer, save, train
from arrows.typesys.errors import ArrowValueError, InputError
from arrows.typesys.quoting import printable

PARTS = ("train", "dev", "test")
SIZES = ("size", "embedding", "character_size", "character_embedding")
DESCRIPTION = """Trains a bidirectional LSTM over the words of sentences, each word being its embedding and
the last states of a bidirectional LSTM over its characters, to tell universal parts of speech. After each
epoch it prints the loss and the accuracy on dev; the model of the best epoch is kept, and measured on test at
the end."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command to a parser.

    >>> parser = argparse.ArgumentParser()
    >>> add_options(parser)
    >>> parser.parse_args(["--data", "ud"]).batch_size
    16
    """
    parser.description = DESCRIPTION
    add = parser.add_argument
    add(
        "--data",
        type=Path,
        required=True,
        metavar="DIR",
        help="holds one CoNLL-U file each whose name ends in train.conllu, dev.conllu and test.conllu",
    )
    add("--state-size", dest="size", type=positive, default=100, metavar="N", help="default: 100")
    add("--embedding-size", dest="embedding", type=positive, default=64, metavar="N", help="default: 64")
    add(
        "--character-state-size",
        dest="character_size",
        type=positive,
        default=32,
        metavar="N",
        help="default: 32",
    )
    add(
        "--character-embedding-size",
        dest="character_embedding",
        type=positive,
        default=24,
        metavar="N",
        help="default: 24",
    )
    add("--batch-size", type=positive, default=16, metavar="N", help="sentences in a step (default: 16)")
    add("--epochs", type=positive, default=15, metavar="N", help="default: 15")
    add("--optimizer", choices=sorted(OPTIMIZERS), default="adam", help="default: adam")
    add("--learning-rate", type=rate, default=0.003, metavar="RATE", help="default: 0.003")
    add(
        "--dropout",
        type=share,
        default=0.5,
        metavar="SHARE",
        help="of what the LSTM over words reads and gives that is not seen in training (default: 0.5)",
    )
    add("--l2", type=rate, default=0.0, metavar="WEIGHT", help="weight decay (default: 0)")
    add("--clip", type=rate, default=5.0, metavar="NORM", help="of the gradients; 0: none (default: 5)")
    add("--seed", type=count, default=0, metavar="N", help="default: 0")
    add(
        "--save",
        type=Path,
        default=Path("tagger.safetensors"),
        metavar="FILE",
        help="of the best model (default: tagger.safetensors); the state of the run is in FILE.state",
    )
    add("--resume", action="store_true", help="go on from FILE.state where it is there")


def find(folder: Path) -> dict[str, Path]:
    """The files of a treebank, by part.

    Raises:
        InputError: there is no such file, or several, for a part.
        OSError: the folder cannot be read.

    >>> sorted(find(Path("ud")))  # doctest: +SKIP
    ['dev', 'test', 'train']
    """
    names = sorted(path.name for path in folder.iterdir())
    found = {}
    for part in PARTS:
        matching = [name for name in names if name.endswith(f"{part}.conllu")]
        if len(matching) != 1:
            listed = ", ".join(matching) or "none"
            raise InputError(f"{folder}: expected one file *{part}.conllu, found {listed}")
        found[part] = folder / matching[0]
    return found


def read(files: dict[str, Path]) -> dict[str, list[Sentence]]:
    """The sentences of a treebank, by part.

    Raises:
        InputError: a line that is not CoNLL-U, a file without sentences.
        OSError: a file cannot be read.

    >>> read({})
    {}
    """
    sentences = {}
    for part, path in files.items():
        sentences[part] = read_conllu(path)
        if not sentences[part]:
            raise InputError(f"{path}: there are no sentences in this file")
    return sentences


def run(options: argparse.Namespace) -> int:
    """Trains, prints the figures of each epoch, keeps the best model and measures it on the test sentences.

    Returns:
        The exit status 0.

    Raises:
        InputError, ArrowValueError, OSError: data or options that are wrong; nothing has been written then.
        NotFiniteError: loss or parameters have become NaN; the best model until then is kept.
        KeyboardInterrupt: on Ctrl-C; the run can be resumed.

    >>> parser = argparse.ArgumentParser()
    >>> add_options(parser)
    >>> run(parser.parse_args(["--data", "ud", "--epochs", "5"]))  # doctest: +SKIP
    0
    """
    check_places(options.save)
    files = find(options.data)
    data = read(files)
    lexicon = Lexicon.of(data["train"])
    sizes = {name: getattr(options, name) for name in SIZES}
    blocks = tagger(lexicon, **sizes, dropout=options.dropout)
    model = ar.compile(blocks.learn, loss="loss", seed=options.seed)
    judge = ar.compile(blocks.judge, params=model.params)
    about = describe(lexicon, sizes)
    tokens = {part: sum(map(len, sentences)) for part, sentences in data.items()}
    print(
        f"{tokens['train']:,} words in {len(data['train']):,} sentences to learn from, "
        f"{tokens['dev']:,} dev, {tokens['test']:,} test; {len(lexicon.words):,} words with vectors, "
        f"{len(lexicon.characters):,} characters; "
        f"{sum(array.size for array in model.params.values()):,} parameters",
        flush=True,
    )
    examination = TagExamination.of(judge, data["dev"], lexicon)

    def after_epoch(epoch: Epoch) -> None:
        if epoch.best:
            save(model, options.save, about)
        # An example is a sentence; what is told is about its words.
        loss = epoch.loss * len(data["train"]) / tokens["train"]
        figures = ", ".join(f"{name} {value:.4f}" for name, value in epoch.figures.items())
        speed = tokens["train"] / epoch.seconds if epoch.seconds else 0.0
        best = ", best so far" if epoch.best else ""
        print(
            f"epoch {epoch.number}: loss {loss:.4f}, dev {figures}, {speed:,.0f} tokens/s{best}", flush=True
        )

    # Products this small gain nothing from a second thread, and on a busy machine threads that wait for each
    # other cost fifty times the work (measured).
    with limited_to(options.threads or 1):
        try:
            history = train(
                model,
                data["train"],
                _optimizer(options),
                epochs=options.epochs,
                batch_size=options.batch_size,
                seed=options.seed,
                evaluate=examination,
                after_epoch=after_epoch,
                best_by="accuracy",
                checkpoint_path=state_path(options.save),
                resume=options.resume,
                metadata={
                    **_contents(files),
                    **{k: str(v) for k, v in sizes.items()},
                    "dropout": str(options.dropout),
                },
                unit="sentence",
            )
        except KeyboardInterrupt:
            raise KeyboardInterrupt("--resume goes on from here") from None
        best = max((epoch for epoch in history if epoch.best), key=lambda epoch: epoch.number)
        restored, lexicon = restore(options.save)
        figures = TagExamination.of(restored, data["test"], lexicon)()
    print(f"test, with the model of epoch {best.number} ({printable(str(options.save))}):")
    print(
        f"  accuracy {figures['accuracy']:.4f}; of rare words, without a vector, {figures['rare words']:.4f}"
    )
    return 0


def describe(lexicon: Lexicon, sizes: dict[str, int]) -> dict[str, str]:
    """The texts that `restore` needs, to be saved with the parameters of a tagger.

    >>> describe(Lexicon({"a": 1}, {}), {"size": 3})
    {'model': 'tagger', 'words': '{"a": 1}', 'characters': '{}', 'sizes': '{"size": 3}'}
    """
    texts = {"words": lexicon.words, "characters": lexicon.characters, "sizes": sizes}
    return {"model": "tagger"} | {key: json.dumps(x, ensure_ascii=False) for key, x in texts.items()}


def restore(path: str | Path) -> tuple[ar.Model, Lexicon]:
    """A model that tags sentences, made from a saved file alone, and its lexicon.

    Raises:
        ArrowValueError: the file is damaged, or holds something else than a tagger.
        OSError: the file cannot be read.

    >>> restore("tagger.safetensors")  # doctest: +SKIP
    """
    about, entries = contents(path)
    try:
        lexicon = Lexicon(numbers_in(about, "words"), numbers_in(about, "characters"))
        given = sizes_in(about, "sizes")
        sizes: dict[str, Any] = {name: size_in(given, name) for name in SIZES}
        blocks = tagger(lexicon, **sizes)
    except ArrowValueError as error:
        raise ArrowValueError(f"{path} holds no tagger: {error}") from None
    return loaded(path, blocks.judge, entries), lexicon


def _optimizer(options: argparse.Namespace) -> Optimizer:
    return OPTIMIZERS[options.optimizer](
        options.learning_rate, weight_decay=options.l2, clip_norm=options.clip or None
    )


def _contents(files: dict[str, Path]) -> dict[str, str]:
    """What the numbers of a run depend on: a resumed run must have the same."""
    contents = hashlib.sha256()
    for part in PARTS[:2]:
        contents.update(files[part].read_bytes())
    return {"data": contents.hexdigest()[:16]}
