"""A model in a file, from which it is built again: parameters, vocabularies, and what builds its block.

The file is one of safetensors. It holds no code but the name of a function that builds the block, which was
marked by `@ar.builder`, and the function's arguments. A file may come from a stranger: nothing is imported by
a name that stands in it unless the caller trusts the package.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import json
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from types import FunctionType
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from arrows.combinators import AnyBlock, Block
from arrows.data import Vocabulary
from arrows.engine import Device, Model
from arrows.engine import compile as compile_block
from arrows.engine.device import get_device
from arrows.engine.planning import named_parameters
from arrows.inference import infer
from arrows.storage import ArrayFile, Entry, open_arrays, require_path
from arrows.training.arguments import described
from arrows.training.outline import outline
from arrows.training.saving import (
    MODEL,
    RUN,
    differences,
    read_parameters,
    user_texts,
    write_parameters,
)
from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.typesys.quoting import escaped, message_of
from arrows.version import __version__

__all__ = ["SavedModel", "builder", "load_model", "read_model_file", "save_model"]

P = ParamSpec("P")
R = TypeVar("R")

_FORMAT = 1
_MARK = "__arrows_builder__"
_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_KINDS: Mapping[str, Any] = {
    "builder": str,
    "part": str | None,
    "arguments": dict,
    "outline": str,
    "reading": dict,
    "settings": dict,
    "step": int,
    "version": str,
}
"""What a file says of its model, but for its vocabularies."""
_SHIPPED = ("arrows.models",)
"""Rooms of this package with builders, which need no trust."""


# ------------------------------------------------------------------------------------ what builds a block


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What builds a block.

    Attributes:
        builder: the name of a function, `module:name`.
        arguments: by name, as plain JSON.
        vocabularies: arguments that are vocabularies.
        part: which part of its result is the block, an attribute, a key or a position; None: all of it.
        refusal: why no file can keep the arguments; empty if one can.
    """

    builder: str
    arguments: Mapping[str, Any]
    vocabularies: Mapping[str, Vocabulary]
    part: str | None = None
    refusal: str = ""


_recipes: WeakKeyDictionary[AnyBlock, Recipe] = WeakKeyDictionary()


def builder(function: Callable[P, R]) -> Callable[P, R]:
    """Marks a function that builds a block, so that `ar.save_model(model, path)` knows what to write.

    A call works as before; what it was called with is remembered for the block that it returns, or for each
    block in the tuple, dict or dataclass that it returns.  A model is saved if all arguments are vocabularies
    or plain JSON: numbers, texts, None, lists and dicts of these.  Only a marked function is called by a name
    that stands in a file.

    Args:
        function: takes its arguments by name, and returns a block, or several.

    Raises:
        ArrowTypeError: it is no function, or has arguments without a name.

    Example:
        >>> import arrows as ar
        >>> @ar.builder
        ... def scorer(words: ar.Vocabulary, size: int = 4) -> ar.Block:
        ...     return words.block() >> ar.Embedding(len(words), size) >> ar.FC(2)
        >>> scorer(ar.Vocabulary(["good", "bad"])).eval("good").shape
        (2,)
    """
    value: object = function
    if not isinstance(value, FunctionType):
        raise ArrowTypeError(f"@ar.builder marks a function, not {described(value)}")
    signature = inspect.signature(function)
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            raise ArrowTypeError(
                f"@ar.builder: {value.__qualname__} has the argument {parameter.name!r} without a name; a "
                "file keeps arguments by name"
            )

    @functools.wraps(function)
    def build(*args: P.args, **kwargs: P.kwargs) -> R:
        result = function(*args, **kwargs)
        given = signature.bind(*args, **kwargs)
        defaults = {
            name: parameter.default  # a later version may have another
            for name, parameter in signature.parameters.items()
            if parameter.default is not parameter.empty
            and not _recipe(function, {name: parameter.default}).refusal
        }
        recipe = _recipe(function, {**defaults, **_by_name(signature, given.arguments)})
        for part, block in _blocks_of(result):
            _recipes[block] = dataclasses.replace(recipe, part=part)
        return result

    vars(build)[_MARK] = True
    return build


def _by_name(signature: inspect.Signature, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by name, those that a function takes as `**more` among them."""
    values: dict[str, Any] = {}
    for name, value in arguments.items():
        values |= value if signature.parameters[name].kind == inspect.Parameter.VAR_KEYWORD else {name: value}
    return values


def _recipe(function: Callable[..., object], values: Mapping[str, object]) -> Recipe:
    """The recipe of a call; it keeps copies, since the caller may change lists and dicts afterwards."""
    words = {name: value for name, value in values.items() if isinstance(value, Vocabulary)}
    plain, refusal = {}, ""
    try:
        plain = {name: _plain(value, name) for name, value in values.items() if name not in words}
    except (ArrowTypeError, RecursionError) as error:
        refusal = f"{_name_of(function)}: the argument {error}"
    return Recipe(builder=_name_of(function), arguments=plain, vocabularies=words, refusal=refusal)


def _plain(value: object, place: str) -> Any:
    """A copy of a value as plain JSON; numbers of NumPy become Python's, and tuples lists."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{place}[{number}]") for number, item in enumerate(value)]
    if isinstance(value, Mapping) and all(type(key) is str for key in value):
        return {key: _plain(item, f"{place}[{key!r}]") for key, item in value.items()}
    kind = "a dict whose keys are not texts" if isinstance(value, Mapping) else described(value)
    raise ArrowTypeError(
        f"{place} is {kind}, and a file keeps plain JSON: numbers, texts, None, lists, dicts with texts as "
        "keys; and vocabularies, as arguments"
    )


def _blocks_of(result: object) -> Iterator[tuple[str | None, AnyBlock]]:
    """The blocks that a builder returned, each with the name of its part."""
    items: Mapping[Any, object] = {}
    if isinstance(result, Block):
        items = {None: result}
    elif isinstance(result, Mapping):
        items = result
    elif dataclasses.is_dataclass(result):
        items = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    elif isinstance(result, tuple):
        items = dict(zip(getattr(result, "_fields", range(len(result))), result, strict=True))
    for name, item in items.items():
        if isinstance(item, Block):
            yield None if name is None else str(name), item


def _name_of(function: Callable[..., object]) -> str:
    """The name of a function in a file, `module:name`."""
    inner = inspect.unwrap(function)
    while isinstance(inner, functools.partial):
        inner = inner.func
    module = str(getattr(inner, "__module__", "unknown"))
    name = str(getattr(inner, "__qualname__", type(inner).__name__))
    if module == "__main__":  # `python -m package.module` has a name that others can import
        specification = getattr(sys.modules["__main__"], "__spec__", None)
        module = module if specification is None else specification.name.removesuffix(".__main__")
    return f"{module}:{name}"


# --------------------------------------------------------------------------------------------------- saving


def save_model(
    model: Model,
    path: str | Path,
    *,
    builder: Callable[..., object] | None = None,
    arguments: Mapping[str, object] | None = None,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Saves a model so that `ar.load_model` builds it again: parameters, vocabularies, what builds its block.

    A block that a function marked by `@ar.builder` returned needs no more than the path.  For any other,
    `builder` and `arguments` say what builds it; it is built once to see whether that is so.

    The file is one of safetensors, written whole or not at all; it holds no code: the name of the builder,
    its arguments as JSON, the text of what the block computes.  It is also a file of parameters for
    `arrows.training.load`.

    Args:
        model: a compiled model.
        path: the file to write or replace, in a folder that exists.
        builder: a function that returns the model's block, called with the arguments by name.
        arguments: vocabularies, and what is plain JSON.
        metadata: texts to keep in the file.

    Raises:
        ArrowTypeError: `model` is no compiled model; an argument that a file cannot keep.
        ArrowValueError: nothing says what builds the block, or the builder builds another; metadata that is
            not text; the state of a run stands at `path`.
        OSError: the file cannot be written; a file that was at `path` is as it was.

    Warns:
        UserWarning: two layers without names have the same shapes, so that only their order tells them apart.
            Or no other process can import the builder by its name, since it stands in the program that runs
            (`__main__`) or within a function; the file is written, and the warning says how to load it.

    Example:
        >>> import tempfile
        >>> import arrows as ar
        >>> @ar.builder
        ... def scorer(words: ar.Vocabulary, size: int) -> ar.Block:
        ...     return words.block() >> ar.Embedding(len(words), size) >> ar.FC(2)
        >>> model = ar.compile(scorer(ar.Vocabulary(["good", "bad"]), size=4))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ar.save_model(model, f"{folder}/scorer.safetensors")
        ...     again = ar.load_model(f"{folder}/scorer.safetensors", builder=scorer)
        >>> (again(["good"]) == model(["good"])).all().item()
        True
    """
    _require_compiled(model)
    target = require_path("save_model(model, path): path", path)
    text = outline(model.typed)
    if builder is not None:
        recipe = _checked_recipe(model, text, builder, arguments or {})
    elif arguments is not None:
        raise ArrowTypeError("save_model: arguments are those of a builder; give builder= as well")
    elif model.typed.form not in _recipes:
        raise ArrowValueError(
            "save_model: nothing says what builds this model's block; compile what a function marked by "
            "@ar.builder returns, or give save_model(model, path, builder=function, arguments={...}); "
            "arrows.training.save writes the parameters alone"
        )
    else:
        recipe = _recipes[model.typed.form]
    if recipe.refusal:
        raise ArrowTypeError(f"save_model: {recipe.refusal}")
    content = {
        "format": _FORMAT,
        "version": __version__,
        "builder": recipe.builder,
        "part": recipe.part,
        "arguments": recipe.arguments,
        "vocabularies": {name: words.content() for name, words in recipe.vocabularies.items()},
        "outline": text,
        "reading": dataclasses.asdict(model.batches.fingerprint()),
        "settings": _settings_of(model),
        "step": int(model.step),
    }
    ours = {MODEL: json.dumps(content, allow_nan=False)}
    for warning in (write_parameters(model, target, metadata or {}, ours), _unimportable(recipe.builder)):
        if warning:
            warnings.warn(warning, stacklevel=2)


def _require_compiled(model: object) -> None:
    if not isinstance(model, Model):
        hint = "; of a network on the fly, arrows.training.save keeps the parameters"
        hint = "; compile it first: ar.compile(block)" if isinstance(model, Block) else hint
        raise ArrowTypeError(
            f"save_model(model, path): model must be what ar.compile returns, not {described(model)}{hint}"
        )


def _settings_of(model: Model) -> dict[str, Any]:
    """The arguments of `ar.compile` that a file keeps."""
    loss = model.loss
    return {
        "float_type": model.float_type,
        "loss": loss if loss is None or isinstance(loss, str) else {k: float(w) for k, w in loss.items()},
        "seed": model.seed,
        "schedule": model.schedule,
        "max_nodes": model.max_nodes,
        "jit": model.executors.jit,
        "precision": model.executors.precision,
        "fingerprint": model.batches.stated,
    }


def _checked_recipe(model: Model, text: str, builder: Any, arguments: Mapping[str, object]) -> Recipe:
    """What builds the model's block, by a function that the user gives; refuses one that builds another."""
    if not callable(builder):
        raise ArrowTypeError(
            f"save_model: builder is the function that builds the block, not {described(builder)}"
        )
    recipe = _recipe(builder, arguments)
    if recipe.refusal:
        return recipe
    result = builder(**recipe.arguments, **recipe.vocabularies)
    difference = f"it returns no block but {described(result)}"
    for part, block in _blocks_of(result):
        built = outline(infer(block, float_type=model.float_type))
        if built == text:
            return dataclasses.replace(recipe, part=part)
        difference = _difference(built, text, "the builder has", "the model")
    raise ArrowValueError(
        f"save_model: {recipe.builder} does not build the block of this model with these arguments:\n"
        f"  {difference}"
    )


def _difference(one: str, other: str, whose: str, whose_other: str) -> str:
    """The first line in which two outlines differ."""
    pairs = zip_longest(one.split("\n"), other.split("\n"), fillvalue="0 nothing more")
    shown = next(
        [line.partition(" ")[2].split(" #")[0] for line in pair] for pair in pairs if len({*pair}) > 1
    )
    first, second = (escaped(text, 160) for text in shown)
    return (
        f"{first} computes something else" if first == second else f"{whose} {first}; {whose_other} {second}"
    )


def _unimportable(builder: str) -> str | None:
    """A warning of a builder whose name no other process can import; the file is whole, so it is no error."""
    module, _, name = builder.partition(":")
    if module == "__main__":
        where = "stands in the program that runs, which no other process can import"
        move = f"a module of its own, and `from blocks import {name}`"
    elif "<" in name:
        where, move = "is made within a function, where no other process finds it", "the top of a module"
    else:
        return None
    return (
        f"save_model: the builder {builder} {where}. The file is written, and loads where the function is "
        "handed in: load_model(path, builder=function), or arrows predict --builder FILE.py:NAME. To load it "
        f"by trust=, move the function to {move}, and save again"
    )


# -------------------------------------------------------------------------------------------------- loading


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedModel:
    """What a model file says of its model; nothing of it is trusted or run.

    Attributes:
        builder: the name of the function that builds the block, `module:name`.
        part: which part of its result the block is: an attribute, key or position; None: all of it.
        arguments: what the function is called with, as plain JSON.
        vocabularies: further arguments, which are vocabularies.
        outline: what the block computes, a line for each block.
        reading: hashes of how the block reads examples, its functions on Python objects included.
        settings: the arguments of `ar.compile`.
        step: `Model.step`, on which random numbers depend.
        version: of the package that wrote the file.
        parameters: element type and shape by name.
        metadata: texts that were saved with it.

    Example:
        >>> import tempfile
        >>> import arrows as ar
        >>> from arrows.model_file import read_model_file
        >>> model = ar.compile(ar.models.sentiment(ar.Vocabulary(["good"]), size=3).judge)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ar.save_model(model, f"{folder}/m.safetensors")
        ...     saved = read_model_file(f"{folder}/m.safetensors")
        >>> saved.builder, saved.part, saved.arguments["size"]
        ('arrows.models.sentiment:sentiment', 'judge', 3)
    """

    builder: str
    part: str | None
    arguments: Mapping[str, Any]
    vocabularies: Mapping[str, Vocabulary]
    outline: str
    reading: Mapping[str, Any]
    settings: Mapping[str, Any]
    step: int
    version: str
    parameters: Mapping[str, Entry]
    metadata: Mapping[str, str]

    @classmethod
    def of(cls, file: ArrayFile) -> SavedModel:
        """What an open file says.

        Raises:
            ArrowValueError: it holds no model, or is damaged.
        """
        path = file.path
        if MODEL not in file.texts:
            what, use = (
                "parameters",
                "arrows.training.load(model, path) reads them into a model that you compile",
            )
            if RUN in file.texts:
                what, use = "the state of a run", "load_state(path, model, optimizer) reads it"
            raise ArrowValueError(
                f"{path} holds {what} and no model: {use}; ar.save_model(model, path) writes a whole one"
            )
        try:
            fields = json.loads(file.texts[MODEL])
            if fields.pop("format") != _FORMAT or file.checksum is None:
                raise ValueError(f"arrows {fields['version']} or another program has written it")
            for name, kind in _KINDS.items():
                if not isinstance(fields[name], kind):
                    raise TypeError(f"{name} is {described(fields[name])}")
            words = {
                name: Vocabulary.of_content(content, f"the vocabulary {name[:40]!r}")
                for name, content in fields.pop("vocabularies").items()
            }
            return cls(**fields, vocabularies=words, parameters=file.entries, metadata=user_texts(file))
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise ArrowValueError(
                f"{path} is damaged: what it says of its model cannot be read ({message_of(error, 300)}); "
                "write the file again, or use another copy"
            ) from None


def read_model_file(path: str | Path) -> SavedModel:
    """Reads what a model file says of its model; it imports nothing, builds nothing and reads no parameters.

    Raises:
        ArrowTypeError: `path` is not a path.
        ArrowValueError: the file holds no model, or is damaged.
        OSError: the file cannot be read.

    Example:
        >>> import arrows as ar
        >>> read_model_file("nowhere")
        Traceback (most recent call last):
        ...
        FileNotFoundError: [Errno 2] No such file or directory: 'nowhere'
    """
    with open_arrays(require_path("read_model_file(path): path", path)) as file:
        return SavedModel.of(file)


def load_model(
    path: str | Path,
    *,
    builder: Callable[..., object] | None = None,
    trust: Sequence[str] = (),
    device: str | Device = "cpu",
    jit: bool | None = None,
    memory_limit: int | str | None = None,
) -> Model:
    """Builds the model that `ar.save_model` wrote; it predicts what the saved one did, bit for bit.

    Either hand in the function that builds the block, or say which packages' builders may be imported by the
    name in the file; nothing is imported by a name otherwise, but for the models that this package ships.

    Args:
        path: the file.
        builder: the function that builds the block, or all that the block is a part of; it is called with the
            arguments in the file, by name.
        trust: names of packages or modules: of these, the file may name a function marked by `@ar.builder`.
        device, memory_limit: as of `ar.compile`.
        jit: as of `ar.compile`; None: as it was saved, where numba is installed.

    Returns:
        The model.  Seed, step, element type, loss and schedule are those of the saved one.

    Raises:
        ArrowTypeError: an argument of the wrong kind.
        ArrowValueError: the file holds no model, or is damaged; its builder is not trusted, refuses the
            arguments, or builds a block that does not fit: the error says which parameters or blocks differ.
        OSError: the file cannot be read.

    Warns:
        UserWarning: functions that read examples have changed since, or another version of this package wrote
            the file and computes the block otherwise; predictions may differ.

    Example:
        >>> import arrows as ar
        >>> ar.load_model("nowhere", trust=["mine"])
        Traceback (most recent call last):
        ...
        FileNotFoundError: [Errno 2] No such file or directory: 'nowhere'
    """
    path = require_path("load_model(path): path", path)
    trusted = _checked_trust(trust)
    if builder is not None and not callable(builder):
        raise ArrowTypeError(
            f"load_model: builder is the function that builds the block, not {described(builder)}"
        )
    place = get_device(device)
    with open_arrays(path) as file:
        saved = SavedModel.of(file)
        build = builder or _named_builder(path, saved.builder, trusted)
        block = _built(path, saved, build)
        warning = _check_block(path, saved, block)  # before memory is taken
        with _compiling(path):
            settings = {"device": place, "memory_limit": memory_limit, **saved.settings}
            settings["jit"] = jit if jit is not None or settings["jit"] else False
            model = compile_block(block, **settings)
        read_parameters(file, model)
    model.step = saved.step
    _recipes[model.typed.form] = Recipe(
        builder=_name_of(build), part=saved.part, arguments=saved.arguments, vocabularies=saved.vocabularies
    )
    warning = warning or _changed_reading(model, saved)
    if warning:
        warnings.warn(f"{path}: {warning}; predictions may differ", stacklevel=2)
    return model


def is_trusted(module: str, trust: Sequence[str] = ()) -> bool:
    """Whether a module belongs to one of these packages, or to those of this package that need no trust.

    >>> is_trusted("mine.blocks", ["mine"]), is_trusted("mine_too", ["mine"]), is_trusted("arrows.models")
    (True, False, True)
    """
    return any(module == name or module.startswith(f"{name}.") for name in (*_SHIPPED, *trust))


def _checked_trust(trust: object) -> tuple[str, ...]:
    if isinstance(trust, str) or not isinstance(trust, Sequence):
        raise ArrowTypeError(
            f"load_model: trust is a list of names of packages, such as ['mine'], not {described(trust)}"
        )
    for name in trust:
        if not (isinstance(name, str) and all(word.isidentifier() for word in name.split("."))):
            raise ArrowValueError(f"load_model: trust holds names of packages, and {described(name)} is none")
    return tuple(trust)


def _named_builder(path: Path, name: str, trust: Sequence[str]) -> Callable[..., object]:
    """The function of a name that stands in a file.

    Raises:
        ArrowValueError: the name belongs to none of the trusted packages, the module cannot be imported, or
            there is no such function, or it is not marked by `@ar.builder`.
    """
    where = f"{path}: its builder is {escaped(name, 200)!r}"
    give = "give the function: load_model(path, builder=function)"
    if not _NAME.fullmatch(name):
        raise ArrowValueError(f"{where}, which cannot be imported; {give}")
    module_name, _, function_name = name.partition(":")
    if module_name == "__main__" or module_name.endswith(".__main__"):  # to import it would run the program
        raise ArrowValueError(f"{where}, which stood in the program that saved it; {give}")
    if not is_trusted(module_name, trust):
        raise ArrowValueError(
            f"{where}, and nothing is imported by a name from a file; {give}, or trust its package: "
            f"trust=[{module_name.partition('.')[0]!r}]"
        )
    try:
        value: object = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise ArrowValueError(
            f"{where}, whose module cannot be imported: {type(error).__name__}: {message_of(error)}"
        ) from error
    for word in function_name.split("."):
        value = getattr(value, word, None)
    # What a module has imported from elsewhere is not trusted with it, nor are its other functions.
    defined_there = (getattr(value, "__module__", None), getattr(value, "__qualname__", None))
    if not isinstance(value, FunctionType) or defined_there != (module_name, function_name):
        raise ArrowValueError(f"{where}, and {module_name} defines no function {function_name}")
    if vars(value).get(_MARK) is not True:
        raise ArrowValueError(
            f"{where}, which is not marked by @ar.builder; only marked functions are called by a name from a "
            f"file: mark it, or {give}"
        )
    return value


def _built(path: Path, saved: SavedModel, build: Callable[..., object]) -> AnyBlock:
    """The block that the builder makes of the file's arguments."""
    name = escaped(_name_of(build), 200)
    try:
        result = build(**saved.arguments, **saved.vocabularies)
    except Exception as error:
        raise ArrowValueError(
            f"{path}: {name} refuses the arguments in the file: {type(error).__name__}: {message_of(error)}"
        ) from error
    for part, block in _blocks_of(result):
        if part == saved.part:
            return block
    wanted = "" if saved.part is None else f", with the part {escaped(saved.part, 40)!r}"
    raise ArrowValueError(f"{path}: {name} should return a block{wanted}; it returns {described(result)}")


@contextmanager
def _compiling(path: Path) -> Iterator[None]:
    """Errors name the file, whether its settings or the block cause them."""
    try:
        yield
    except (ArrowTypeError, ArrowValueError, AttributeError, KeyError, TypeError) as error:
        raise ArrowValueError(f"{path} cannot be compiled: {message_of(error)}") from error


def _check_block(path: Path, saved: SavedModel, block: AnyBlock) -> str | None:
    """Refuses a block that has other parameters than the file, or computes something else.

    Returns:
        A warning instead, if another version of this package has written the file.
    """
    name = escaped(saved.builder, 200)
    with _compiling(path):
        typed = infer(block, float_type=saved.settings.get("float_type"))
        problems = differences(saved.parameters, named_parameters(typed))
    if problems:
        raise ArrowValueError("\n  ".join([f"{path} does not fit the block of {name}:", *problems]))
    text = outline(typed)
    if text == saved.outline:
        return None
    difference = _difference(saved.outline, text, "the file has", "now it is")
    if saved.version != __version__:
        version = escaped(saved.version, 20)
        return f"arrows {version} has written it, and computed its block otherwise: {difference}"
    raise ArrowValueError(
        f"{path} does not fit its builder, whose block has changed since:\n  {difference}\n"
        "  hint  arrows.training.load(model, path) reads the parameters into any block that has these"
    )


def _changed_reading(model: Model, saved: SavedModel) -> str | None:
    """What has changed in how examples are read, as far as that shows; None if nothing has."""
    then, now = saved.reading, model.batches.fingerprint()
    said = now.stated, now.refusal, then.get("stated"), then.get("refusal")
    if said != (None,) * 4 or then.get("python") != now.python or saved.version != __version__:
        return None
    changed = [name for name, digest in now.functions if digest not in json.dumps(then)]
    if changed:
        return f"functions that read examples have changed since it was saved: {', '.join(changed)}"
    return (
        None
        if then.get("block") == now.block
        else "its block reads examples otherwise than when it was saved"
    )
