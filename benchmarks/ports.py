"""Plain ports of DyNet's examples: a call for each product and each loss, as its users write a model.

Each is a program on the fly whose twins stand in `baselines/dynet_programs.py` and, as PyTorch's users write
them for one example, in `baselines/torch_programs.py`: all have the same layers, parameters and examples, so
their losses are equal. An example is nested lists of numbers, which DyNet's process reads as JSON. The fifth
port, a Tree-LSTM, is in `onthefly`.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import arrows as ar
from arrows import ops
from arrows.data import TAGS, Sentence
from arrows.onthefly import LazyBatch, LazyTensor
from benchmarks import programs
from benchmarks.baselines import dynet, pytorch, torch_programs
from benchmarks.datasets import Ints, load_sentences, numbered, vocabularies
from benchmarks.task import JIT, Setting, System, Task, copies

PARSER = Path(__file__).resolve().parents[1] / "examples" / "transition_parser.py"
SCHEDULES = dict.fromkeys(["arrows", *JIT], "strata")
SCHEDULES |= {"depth": "depth", "agenda": "agenda", "one-by-one": "none"}
SCHEDULED = ("tagger", "parser")  # as in Neubig et al. (2017)
TEXT = 60  # letters of a text, at most
SAMPLE = 30  # letters that the language model writes


def tasks(setting: Setting) -> Iterator[Task]:
    """Training steps of four models, and texts that one of them writes."""
    size = 4 if setting.scale == "tiny" else 128
    sentences, _ = load_sentences(setting.data)
    words, letters = vocabularies(sentences)
    tagged = numbered(sentences, words, letters)
    texts = [letters.numbers(list("".join(x["word"] for x in sentence))[:TEXT]) for sentence in sentences]
    model, write = language_model(len(letters), size)
    yield ported(setting, "tagger", tagger(len(words), len(letters), size), tagged, "word", len)
    yield ported(setting, "attention", translator(len(letters), size // 2), texts, "letter", len)
    yield ported(setting, "language_model", model, texts, "letter", len)
    starts = [[first, SAMPLE] for first in range(len(letters))]
    yield ported(setting, "writer", write, starts, "letter", lambda _: SAMPLE)
    derivations = derivations_of(sentences)
    count = 1 + max(number for words, _ in derivations for number in words)
    yield ported(setting, "parser", parser(count, size // 2), derivations, "sentence")


def ported(
    setting: Setting,
    name: str,
    program: programs.Program,
    examples: Sequence[Any],
    each: str,
    size: Callable[[Any], int] = lambda _: 1,
    batch: int = 64,
    **variants: programs.Program,
) -> Task:
    """Steps of a program, and beside it those of its twins, of variants, and of the other schedules.

    The figures are per `each`, of which an example has `size`.
    """
    batch = 3 if setting.scale == "tiny" else batch
    first, steps = ar.OnTheFly(jit=False), _writing if name == "writer" else programs.training
    steps(first, program, examples)(np.arange(min(20, len(examples))))  # makes all parameters

    def net(system: str) -> ar.OnTheFly:
        way = SCHEDULES.get(system, "strata")
        return ar.OnTheFly(jit=system.endswith("-jit"), params=copies(first), schedule=way)

    schedules = list(SCHEDULES) if setting.scale == "full" and name in SCHEDULED else ["arrows", *JIT]
    systems = {system: steps(net(system), program, examples) for system in schedules}
    systems |= {system: steps(net(system), variant, examples) for system, variant in variants.items()}
    if dynet.PYTHON is not None:
        systems["dynet"] = dynet.system(name, copies(first), examples)
    if pytorch.installed:
        systems["torch-one-by-one"] = torch_programs.system(name, copies(first), examples)
    count = batch * sum(map(size, examples)) / len(examples)
    config = {"mode": f"port of {name}", "batch": batch}
    return Task(config=config, systems=systems, batch=batch, examples=len(examples), each=each, count=count)


def _writing(net: ar.OnTheFly, write: programs.Program, starts: Sequence[Any]) -> System:
    def step(batch: Ints) -> int:
        with net.batch(gradients=False) as g:
            return sum(map(sum, g.run_all(write(g, starts[number]) for number in batch)))

    return step


def _both(g: LazyBatch, cells: Sequence[Any], x: list[Any]) -> list[Any]:
    forward, backward = cells
    back = programs.outputs(g, backward, x[::-1])[::-1]
    return [ops.concat(pair) for pair in zip(programs.outputs(g, forward, x), back, strict=True)]


def tagger(words: int, letters: int, size: int) -> programs.Program:
    """DyNet's `bilstmtagger_withchar`: a BiLSTM over words; rare ones, of number 0, are read by letters."""
    word, letter = ar.Embedding(words, size, name="words"), ar.Embedding(letters, 20, name="letters")
    spell = [ar.LSTMCell(size // 2, name=f"spell_{way}") for way in ("forward", "backward")]
    cells = [ar.LSTMCell(size, name=way) for way in ("forward", "backward")]
    classify, cross_entropy = ar.FC(len(TAGS), name="classify"), ar.SoftmaxCrossEntropy()

    def loss(g: LazyBatch, sentence: list[Any]) -> LazyTensor:
        x = []
        for number, spelling, _ in sentence:
            if number:
                x.append(word(number))
            else:
                read = [letter(k) for k in spelling]
                both = zip(spell, (read, read[::-1]), strict=True)
                x.append(ops.concat([programs.outputs(g, cell, spelt)[-1] for cell, spelt in both]))
        states = zip(_both(g, cells, x), sentence, strict=True)
        return g.sum([cross_entropy(classify(h), tag) for h, (_, _, tag) in states])

    return loss


def translator(letters: int, size: int) -> programs.Program:
    """DyNet's `attention`: an encoder-decoder that says a text backwards, letter by letter."""
    letter = ar.Embedding(letters, size, name="letters")
    cells = [ar.LSTMCell(size, name=way) for way in ("forward", "backward")]
    decoder = ar.LSTMCell(size, name="decoder")
    key, query, relevance = ar.FC(size, name="key"), ar.FC(size, name="query"), ar.FC(1, name="relevance")
    classify, cross_entropy = ar.FC(letters, name="classify"), ar.SoftmaxCrossEntropy()

    def attended(memory: Any, question: Any) -> Any:
        keys, values = memory
        return ops.segment_sum(ops.segment_softmax(relevance(ops.tanh(keys + question))) * values)

    attend: Any = ar.Function(attended)

    def loss(g: LazyBatch, text: list[int]) -> LazyTensor:
        values = _both(g, cells, [letter(k) for k in text])
        memory = [(key(value), value) for value in values]
        state, losses = g.zeros(decoder.state), []
        for before, following in pairwise([0, *text[::-1]]):
            context = attend(memory, query(state[0]))
            state = decoder(ops.concat([letter(before), context]), state)
            losses.append(cross_entropy(classify(state[0]), following))
        return g.sum(losses)

    return loss


def language_model(letters: int, size: int) -> tuple[programs.Program, programs.Program]:
    """DyNet's `rnnlm` over letters; and what writes a text, each letter the most probable one so far unused.

    A text of DyNet's example is drawn at random. Here both systems must write the same.
    """
    letter, cell = ar.Embedding(letters, size, name="letters"), ar.LSTMCell(size, name="cell")
    classify, cross_entropy = ar.FC(letters, name="classify"), ar.SoftmaxCrossEntropy()

    def loss(g: LazyBatch, text: list[int]) -> LazyTensor:
        states = programs.outputs(g, cell, [letter(k) for k in [0, *text[:-1]]])
        return g.sum([cross_entropy(classify(h), k) for h, k in zip(states, text, strict=True)])

    def write(g: LazyBatch, start: list[int]) -> Generator[Any, Any, list[int]]:
        first, count = start
        state, text = g.zeros(cell.state), [first]
        for _ in range(count):
            state = cell(letter(text[-1]), state)
            scores = yield classify(state[0])
            text.append(int(scores.argmax()))
        return text

    return loss, write


def parser(words: int, size: int) -> programs.Program:
    """A transition parser that learns right derivations: a BiLSTM, and four of its vectors for each step."""
    word, nothing = ar.Embedding(words, size, name="words"), ar.Embedding(1, 2 * size, name="nothing")
    cells = [ar.LSTMCell(size, name=way) for way in ("forward", "backward")]
    hidden, classify = ar.FC(size, activation=ops.tanh, name="hidden"), ar.FC(3, name="classify")
    cross_entropy = ar.SoftmaxCrossEntropy()

    def loss(g: LazyBatch, sentence: list[Any]) -> LazyTensor:
        numbers, steps = sentence
        vectors = [*_both(g, cells, [word(k) for k in numbers]), nothing(0)]
        losses = []
        for *places, transition in steps:
            scores = classify(hidden(ops.concat([vectors[k] for k in places])))
            losses.append(cross_entropy(scores, transition))
        return g.sum(losses)

    return loss


def derivations_of(treebank: list[Sentence]) -> list[Any]:
    """The words of each projective sentence and the root; and places and transition of each right step."""
    example = runpy.run_path(str(PARSER))
    derivations = []
    for sentence in map(example["Numbers"](treebank).sentence, treebank):
        if not example["is_projective"](sentence.heads):
            continue
        state, steps = example["Configuration"](len(sentence.words)), []
        while any(state.allowed):
            costs = state.costs(sentence.heads)
            transition = next(k for k in range(3) if state.allowed[k] and not costs[k])
            steps.append([*state.positions, transition])
            state.take(transition, 0)
        derivations.append([[*sentence.words, 1], steps])
    return derivations
