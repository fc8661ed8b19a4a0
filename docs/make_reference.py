"""Write docs/reference.md: every public name with its parameters and the first sentence of its docstring.

python docs/make_reference.py
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType

PAGE = Path(__file__).with_name("reference.md")

HEAD = """\
# Reference

<!-- Written by docs/make_reference.py from the docstrings; change those. -->

Every public name with its parameters and what it is in a sentence; `help(ar.Map)` has the arguments, the
errors and an example.

What stands on this page is stable from version 1.0 on: names, the names of parameters, which of these may be
given by position (those before `*`), and the names of a model's parameters (`TreeLSTM_1/weight`). It changes
only as [Deprecations](../CONTRIBUTING.md#deprecations) says. What does not stand here may change in any
version: other modules, methods and attributes, and the texts of errors.
"""

# Chapters of `import arrows as ar`, in the order in which a user meets them, each with its names.
CHAPTERS = {
    "Models": "compile Model Prepared Bucketed ByNodes infer to_numpy Ragged RowSparse",
    "Saved models": "save_model load_model builder read_model_file",
    "Blocks that read data": (
        "Input Scalar Vector Tensor InputTransform Vocabulary OneHot OneHotFromList Optional Record GetItem"
        " infer_block"
    ),
    "Blocks that compute": "Function Identity Constant Zeros Void Concat",
    "Blocks of blocks": (
        "Block AllOf Pipe Composition OneOf arrow Wire unpack fix ForwardDeclaration shared"
    ),
    "Sequences": (
        "Map Zip ZipWith Fold Scan RNN Bidirectional Reduce Sum Mean Max Min Attention Broadcast Length Slice"
        " Reverse Shift NGrams Window Stack Nth At"
    ),
    "Side outputs": "Metric Tap",
    "Layers": (
        "Layer Parameter FC Embedding LSTMCell GRUCell TreeLSTM Conv1d MultiHeadAttention LayerNorm Dropout"
    ),
    "Losses": "SoftmaxCrossEntropy SigmoidCrossEntropy SquaredError Huber Hinge",
    "On the fly": "OnTheFly LazyBatch LazyTensor",
    "Errors": "ArrowTypeError ArrowValueError InputError BatchMemoryError",
    "The machine": "set_threads show_config",
}

# Modules with names of their own; all come with `import arrows as ar`.
MODULES = {
    "ar.ops": "arrows.ops",
    "ar.ops.extend": "arrows.ops.extend",
    "ar.types": "arrows.typesys.types",
    "ar.initializers": "arrows.layers.initializers",
    "ar.training": "arrows.training",
    "ar.training.schedules": "arrows.training.schedules",
    "ar.metrics": "arrows.metrics",
    "ar.data": "arrows.data",
    "ar.documents": "arrows.documents",
    "ar.models": "arrows.models",
    "ar.drawing": "arrows.drawing",
    "ar.testing": "arrows.testing",
}

# What users call and read of objects; other methods and attributes are the package's own.
MEMBERS = {
    "Model": (
        "predict predict_stream value_and_grad train_step eval prepare params metrics taps labels typed"
        " device to program profile timeline release_memory"
    ),
    "Ragged": "values offsets lengths tolist to_dense",
    "RowSparse": "rows values shape dtype to_dense",
    "Vocabulary": "of numbers block save load",
    "Block": "eval",
    "Input": "get",
    "OneOf": "case",
    "Composition": "scope input output",
    "ForwardDeclaration": "resolve_to",
    "Layer": "parameters forward",
    "Embedding": "of attend",
    "OnTheFly": "batch params learner profile dataflow release_memory",
    "LazyBatch": "tensor zeros sum mean numpy value_and_grad train_step timeline timelines",
    "LazyTensor": "numpy item",
    "Callback": "after_step after_evaluation after_epoch stops rate_factor",
    "History": "best",
    "Optimizer": "use_averages step",
    "StreamingMetric": "update figures",
    "Proposal": "table",
}

# Classes whose objects a function or a method gives, and those of which users write subclasses.
NOT_MADE = {
    "Block", "Callback", "DocumentModel", "Epoch", "Evaluation", "Examination", "History", "LazyBatch",
    "LazyTensor", "Model", "Optimizer", "Prepared", "Progress", "Proposal", "Ragged",
    "RowSparse", "Sentiment", "StepLoss", "StreamingMetric", "Tagger", "TensorLike",
    "Type", "Wire",
}  # fmt: skip

# Names without a docstring of their own.
PLAIN = {
    "arrows.training.Rate": "A learning rate: a number or a schedule.",
    "arrows.training.Schedule": "The type of a schedule: from the number of steps taken to a learning rate.",
    "arrows.data.CLASSES": "The names of the five classes of sentiment.",
    "arrows.data.TAGS": "The universal parts of speech.",
    "arrows.data.Tree": "The type of a sentiment tree, a nested dict.",
    "arrows.data.Sentence": "The type of a tagged sentence, a list of words.",
}


def page() -> str:
    """The text of docs/reference.md.

    Raises:
        LookupError: a public name stands in no chapter or in two, or has neither a docstring nor a line in
            PLAIN.
    """
    arrows = importlib.import_module("arrows")
    rooms = {title.partition(".")[2] for title in MODULES}
    placed = [name for names in CHAPTERS.values() for name in names.split()]
    wrong = sorted({*placed} ^ ({*arrows.__all__} - rooms - {"__version__"}))
    twice = sorted({name for name in placed if placed.count(name) > 1})
    if wrong or twice:
        raise LookupError(
            f"names that stand in no chapter, in two, or in a chapter alone: {wrong + twice}; "
            "see CHAPTERS in docs/make_reference.py"
        )
    parts = [HEAD]
    for heading, names in CHAPTERS.items():
        parts.append(f"## {heading}\n\n" + "".join(lines("ar", arrows, name) for name in names.split()))
    for title, module_name in MODULES.items():
        module = importlib.import_module(module_name)
        more = "Examples: [ops.md](ops.md).\n\n" if title == "ar.ops" else ""
        listed = "".join(lines(title, module, name) for name in sorted(module.__all__, key=str.lower))
        parts.append(f"## `{title}`\n\n{sentence(module)}\n\n{more}{listed}")
    return "\n".join(parts)


def lines(title: str, module: ModuleType, name: str) -> str:
    """One name as an item of a list, and below it the members that users use; nothing for a module."""
    value = getattr(module, name)
    if isinstance(value, ModuleType):
        return ""
    text = PLAIN.get(f"{module.__name__}.{name}")
    if text is None and not (inspect.isclass(value) or inspect.isroutine(value)):
        text = f"`{value!r}`."
    item = f"* `{title}.{name}{parameters(value)}`: {text or sentence(value)}\n"
    members = "" if title == "ar.types" else MEMBERS.get(name, "")
    return item + "".join(member(value, each) for each in members.split())


def member(owner: type, name: str) -> str:
    """A method or an attribute of a class, below it."""
    value = inspect.getattr_static(owner, name, None)
    if isinstance(value, property):
        return f"  * `.{name}`: {sentence(value)}\n"
    method = getattr(owner, name, None)
    return f"  * `.{name}{parameters(method)}`" + (f": {sentence(method)}\n" if callable(method) else "\n")


def parameters(value: object) -> str:
    """The parameters of a function or a class, without types; empty for what is not called."""
    made = not (inspect.isclass(value) and (issubclass(value, Exception) or value.__name__ in NOT_MADE))
    if not made or not (inspect.isclass(value) or inspect.isroutine(value)):
        return ""
    signature = inspect.signature(value.__init__ if inspect.isclass(value) else value)
    plain = [
        each.replace(annotation=inspect.Parameter.empty, default=shown(each.default))
        for each in signature.parameters.values()
        if each.name not in ("self", "args", "kwargs") or inspect.isroutine(value)
    ]
    return str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))


def shown(default: object) -> object:
    """A default as a signature shows it; `...` for one that is long or no Python."""
    plain = default is None or isinstance(default, (bool, int, float, str, tuple))
    return default if plain or default is inspect.Parameter.empty else Written("...")


class Written(str):
    """A text that prints as it is."""

    __slots__ = ()
    __repr__ = str.__str__


def sentence(value: object) -> str:
    """The first sentence of a docstring.

    Raises:
        LookupError: there is none.
    """
    paragraph = " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
    if not paragraph:
        raise LookupError(f"{value!r} has no docstring: write one, or a line in PLAIN")
    return re.split(r"(?<=[.!?])\s+(?=[A-Z`])", paragraph)[0]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE} written")
