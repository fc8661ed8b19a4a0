"""`arrows predict tagger`: tags sentences with a trained model."""

from __future__ import annotations

import argparse
import sys

import numpy as np

from arrows.cli.model_files import restore_tagger
from arrows.cli.predict.sentiment import softmax
from arrows.cli.predict.streams import add_predict_options, output_of, read_examples
from arrows.data import TAGS, Sentence
from arrows.data.conllu import Columns, parse_conllu
from arrows.data.utf8 import decoded
from arrows.typesys.quoting import printable

CHUNK = 64  # sentences tagged at once
DESCRIPTION = """Prints a line for each word: its part of speech, the probability of that, and the word,
separated by tabs; and an empty line after each sentence. If all words have tags, the accuracy follows on
standard error."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command to a parser."""
    parser.description = DESCRIPTION
    add_predict_options(
        parser,
        model="a model file saved by `arrows train tagger`",
        examples="a sentence on each line, with blanks between its words, or a file *.conllu, whose tags may "
        "be _",
    )
    parser.add_argument("--conllu", action="store_true", help="read CoNLL-U, whatever the file is called")


def run(options: argparse.Namespace) -> int:
    """Reads the sentences, tags them and prints the result; returns the exit status 0.

    Raises:
        InputError, ArrowValueError, OSError: the model or the sentences cannot be read; nothing is printed
            then.
    """
    model, _ = restore_tagger(options.model, options.device)
    data, source = read_examples(options)
    if options.conllu or options.examples.endswith(".conllu"):
        sentences = parse_conllu(data, source, Columns(tags=False))
    else:
        sentences = split_lines(data, source)
    right = []
    with output_of(options) as output:
        rows = model.predict_stream(sentences, batch_size=CHUNK)
        for sentence, scores in zip(sentences, rows, strict=True):
            for word, shares in zip(sentence, softmax(scores), strict=True):
                best = int(shares.argmax())
                right.append(word.get("tag") == TAGS[best])
                print(TAGS[best], f"{shares[best]:.3f}", printable(word["word"]), sep="\t", file=output)
            print(file=output)
    if right and all("tag" in word for sentence in sentences for word in sentence):
        print(f"{len(right)} words: accuracy {np.mean(right):.4f}", file=sys.stderr)
    return 0


def split_lines(data: bytes, source: object) -> list[Sentence]:
    """The sentences of a text, one on each line; empty lines are none.

    Raises:
        InputError: bytes that are not UTF-8.

    >>> split_lines(b"Trees grow .\\n\\n", "standard input")
    [[{'word': 'Trees'}, {'word': 'grow'}, {'word': '.'}]]
    """
    lines = [decoded(raw, source, number) for number, raw in enumerate(data.split(b"\n"), start=1)]
    return [[{"word": word} for word in line.split()] for line in lines if line.split()]
