"""The random blocks are made of every block that there is."""

from __future__ import annotations

import inspect
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

import arrows as ar
import arrows.combinators
import arrows.layers
from arrows.combinators import parts_first
from tests.generate import INNER, LEAVES
from tests.generation import between, parts
from tests.generation.build import Build
from tests.generation.results import RESULTS

DRAWS = 20
"""Of each production and of each kind of result."""

BY_KIND = {"OneOf", "Scalar", "Vector", "Tensor", "shared", "arrow", "fix", "ForwardDeclaration"}
"""Functions, and names of what is no class of blocks: what they make has this kind."""

NOT_DRAWN = {
    "Block": "what all blocks are",
    "Wire": "what an arrow's body is called on",
    "unpack": "the items of a wire; a feature below",
}


def reads_tensor(b: Any) -> bool:
    return isinstance(b, ar.combinators.Read) and b.function is None


FEATURES: dict[str, Callable[[Any], bool]] = {
    "a pair made by *": lambda b: isinstance(b, ar.combinators.fanout.Parallel),
    "an unpacked wire": lambda b: isinstance(b, ar.combinators.Item) and b.arity is not None,
    "a zip as long as the shortest": lambda b: isinstance(b, ar.Zip) and not b.strict,
    "a zip of one length": lambda b: isinstance(b, ar.Zip) and b.strict,
    "an item that may be missing": lambda b: isinstance(b, ar.GetItem) and b.default is None,
    "a trained constant": lambda b: isinstance(b, ar.Constant) and b.trainable,
    "a trained number": lambda b: isinstance(b, ar.Constant) and b.trainable and b.type.shape == (),
    "a reversed network": lambda b: isinstance(b, ar.RNN) and b.reverse,
    "a reversed scan": lambda b: type(b) is ar.Scan and b.reverse,
    "a cell for any number of children": lambda b: isinstance(b, ar.TreeLSTM) and b.children is None,
    "a cell for two children": lambda b: isinstance(b, ar.TreeLSTM) and b.children == 2,
    "a choice by a block": lambda b: isinstance(b, ar.combinators.Choice) and b.key_block is not None,
    "a reduction with a default": lambda b: isinstance(b, ar.Max) and b.default is not None,
    "a reduction that has none": lambda b: isinstance(b, ar.Max) and b.default is None,
    "a tree of pairs with a default": lambda b: isinstance(b, ar.Reduce) and len(b.arguments()) > 1,
    "attention that gives its weights": lambda b: (
        b.kind == "Attention" and "need_weights=True" in b.spelling.arguments
    ),
    "a network that starts from its input": lambda b: isinstance(b, ar.RNN) and b.initial_state_from_input,
    "a fold that starts from its input": lambda b: isinstance(b, ar.Fold) and b.initial_state_from_input,
    "a scan that starts from its input": lambda b: type(b) is ar.Scan and b.initial_state_from_input,
    "a layer that gives a scalar": lambda b: isinstance(b, ar.FC) and b.scalar,
    "float64": lambda b: reads_tensor(b) and b.type.dtype == "float64",
    "int64": lambda b: reads_tensor(b) and b.type.dtype == "int64",
    "uint8": lambda b: reads_tensor(b) and b.type.dtype == "uint8",
    "bool": lambda b: reads_tensor(b) and b.type.dtype == "bool",
    "a named input": lambda b: reads_tensor(b) and b.name is not None,
    "attention to what came before": lambda b: isinstance(b, ar.MultiHeadAttention) and b.causal,
    "a gate behind the product": lambda b: isinstance(b, ar.GRUCell) and b.reset_after,
    "dropout in a cell": lambda b: isinstance(b, ar.LSTMCell) and b.dropout > 0,
    "smoothed labels": lambda b: isinstance(b, ar.SoftmaxCrossEntropy) and b.label_smoothing > 0,
    "weights of classes": lambda b: isinstance(b, ar.SoftmaxCrossEntropy) and b.weight is not None,
    "a weight of the rare": lambda b: isinstance(b, ar.SigmoidCrossEntropy) and b.pos_weight != 1,
    "smoothed truth values": lambda b: isinstance(b, ar.SigmoidCrossEntropy) and b.label_smoothing > 0,
    "a default beyond the ends": lambda b: isinstance(b, ar.Shift) and b.default is not None,
    "features of edges": lambda b: b.kind == "MessagePassing" and "features=True" in b.spelling.arguments,
    "the scores of a table": lambda b: b.label.endswith(".attend"),
    "random numbers": lambda b: getattr(b, "of_example", None) in (parts.noisy, parts.noisy_rows),
} | {
    f"the function {function.__name__}": lambda b, f=function: getattr(b, "of_example", None) is f
    for function in between.FUNCTIONS
}
"""Ways to make a block that its class does not tell."""


@dataclass
class Dealt(Build):
    """A block in the making whose choices are dealt: each place gives all of its choices before one again.

    What hypothesis draws gathers at simple choices, and may leave out any of them in a few draws.

    Attributes:
        decks: by place in the code, the choices that are left there.
        shuffle: puts the choices of a new deck in order.
    """

    decks: dict[Any, list[int]] = field(default_factory=dict)
    shuffle: random.Random = field(default_factory=lambda: random.Random(0))

    def one_of(self, *choices: Any) -> Any:
        frame = sys._getframe(1)
        deck = self.decks.setdefault((frame.f_code, frame.f_lasti, len(choices)), [])
        if not deck:
            deck += range(len(choices))
            self.shuffle.shuffle(deck)
        return choices[deck.pop()]


def drawn(seed: int = 0) -> list[Any]:
    """Every block inside of a fixed number of random ones."""
    blocks: list[Any] = []
    decks: dict[Any, list[int]] = {}
    shuffle = random.Random(seed)
    for production in [*(LEAVES | INNER).values(), *RESULTS.values()]:
        for _ in range(DRAWS):
            build = Dealt(draw=_never, decks=decks, shuffle=shuffle)
            blocks.extend(parts_first(production(build, 1).block >> build.change()))
    return blocks


def _never(strategy: st.SearchStrategy[Any]) -> Any:
    raise AssertionError("a choice that is not dealt")


def test_every_block_is_drawn() -> None:
    blocks = drawn()
    kinds = {block.kind for block in blocks}
    classes = {c for block in blocks for c in type(block).__mro__}
    missing = []
    forms = {form.__name__ for form in arrows.combinators.CORE_FORMS}
    for room in (arrows.combinators, arrows.layers):
        for name in {*arrows.__all__, *forms} & vars(room).keys():
            thing = getattr(room, name)
            if name in NOT_DRAWN or (room is arrows.layers and not is_block(thing)):
                continue
            if thing not in classes if is_block(thing) and name not in BY_KIND else name not in kinds:
                missing.append(name)
    missing += [feature for feature, holds in FEATURES.items() if not any(holds(b) for b in blocks)]
    assert not missing, f"add a production that makes {missing} to a file of tests/generation"


def is_block(thing: Any) -> bool:
    """Whether it is a class of blocks."""
    return inspect.isclass(thing) and issubclass(thing, ar.Block)


def test_what_is_not_drawn_exists() -> None:
    assert vars(arrows.combinators).keys() >= NOT_DRAWN.keys()
