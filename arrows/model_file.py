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
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from types import FunctionType
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from arrows.arrays import HostArray
from arrows.combinators import AnyBlock, Block
from arrows.data import Vocabulary
from arrows.engine import Device, Model, compile as compile_block
from arrows.engine.device import get_device
from arrows.engine.reading import Fingerprint
from arrows.storage import CHECKSUM, read_arrays, require_path
from arrows.training import (
    MODEL,
    PARAMETERS,
    RUN,
    STATE,
    described,
    outline,
    set_parameters,
    user_texts,
    write_parameters,
)
from arrows.typesys import ArrowTypeError, ArrowValueError, escaped, message_of
from arrows.version import __version__

__all__ = ["SavedModel", "builder", "load_model", "read_model_file", "save_model"]

P = ParamSpec("P")
R = TypeVar("R")

_FORMAT = 1
_TYPES = {"builder": str, "outline": str, "version": str, "arguments": dict, "settings": dict, "step": int}
"""Of what type a file's fields about its model are."""
_SHIPPED = ("arrows.models",)
"""Rooms of this package with builders, which need no trust."""


# ------------------------------------------------------------------------------------ what builds a block


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What builds a block.

    Attributes:
        builder: the name of a function, `module:name`.
        arguments: by name, as plain JSON.
        vocabularies: further arguments, which are vocabularies.
        part: which part of its result is the block: an attribute, key or position; None: all of it.
    """

    builder: str
    arguments: Mapping[str, Any]
    vocabularies: Mapping[str, Vocabulary]
    part: str | None = None


_recipes: WeakKeyDictionary[AnyBlock, Recipe | str] = WeakKeyDictionary()
"""How blocks were built, or why no file can keep that."""
_builders: dict[str, Callable[..., object]] = {}
"""The functions that are marked, by the names that stand in files."""


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
    name, signature = _name_of(value), inspect.signature(function)
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            raise ArrowTypeError(
                f"@ar.builder: {value.__qualname__} has the argument {parameter.name!r} without a name; a "
                "file keeps arguments by name"
            )

    @functools.wraps(function)
    def build(*args: P.args, **kwargs: P.kwargs) -> R:
        result = function(*args, **kwargs)
        recipe = _recipe(name, signature.bind(*args, **kwargs))
        for part, block in parts_of(result):
            if isinstance(block, Block):
                _recipes[block] = recipe if isinstance(recipe, str) else replace(recipe, part=part)
        return result

    _builders[name] = build
    return build


def _name_of(function: FunctionType) -> str:
    """The name of a function in a file, `module:name`."""
    module = function.__module__
    if module == "__main__":  # `python -m package.module` has a name that others can import
        specification = getattr(sys.modules["__main__"], "__spec__", None)
        module = module if specification is None else specification.name
    return f"{module}:{function.__qualname__}"


def _is_a_program(builder: str) -> bool:
    """Whether a builder stood in the program that ran: a script, `-c`, a package's `__main__`."""
    return builder.partition(":")[0].rpartition(".")[2] in ("__main__", "__mp_main__")


def _recipe(name: str, call: inspect.BoundArguments) -> Recipe | str:
    """The recipe of a call; it keeps copies, since the caller may change lists and dicts afterwards."""
    call.apply_defaults()  # a later version may have others
    plain, words, parameters = {}, {}, call.signature.parameters
    for key, value in [*call.arguments.items()]:
        more = parameters[key].kind == inspect.Parameter.VAR_KEYWORD
        for argument, each in value.items() if more else [(key, value)]:
            try:
                if isinstance(each, Vocabulary):
                    words[argument] = each
                else:
                    plain[argument] = _plain(each, argument)
            except (ArrowTypeError, RecursionError) as error:
                if each is not parameters[key].default:
                    return f"{name}: the argument {error}"
    return Recipe(builder=name, arguments=plain, vocabularies=words)


def _plain(value: object, place: str) -> Any:
    """A copy of a value as plain JSON; numbers of NumPy become Python's, and tuples lists."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{place}[{number}]") for number, item in enumerate(value)]
    if isinstance(value, Mapping) and all(type(key) is str for key in value):
        return {key: _plain(item, f"{place}[{key!r}]") for key, item in value.items()}
    if (
        value is None
        or type(value) in (bool, int, str)
        or (isinstance(value, float) and math.isfinite(value))
    ):
        return value
    raise ArrowTypeError(
        f"{place} is {described(value)}, and a file keeps plain JSON: numbers, texts, None, lists, dicts by "
        "text; and vocabularies, as arguments"
    )


def parts_of(value: object) -> Iterator[tuple[str | None, object]]:
    """The items of a container or the fields of a record, each by its name; or the value itself, by None.

    >>> list(parts_of({"learn": 1, "judge": 2})), list(parts_of(3))
    ([('learn', 1), ('judge', 2)], [(None, 3)])
    """
    items: Any = {None: value}
    if isinstance(value, Mapping):
        items = value
    elif dataclasses.is_dataclass(value) and not isinstance(value, (Block, type)):
        items = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    elif isinstance(value, (list, tuple)):
        items = dict(zip(getattr(value, "_fields", range(len(value))), value, strict=True))
    for name, item in items.items():
        yield None if name is None else str(name), item


# --------------------------------------------------------------------------------------------------- saving


def save_model(
    model: Model,
    path: str | Path,
    *,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Saves a model so that `ar.load_model` builds it again: parameters, vocabularies, what builds its block.

    The model's block is one that a function marked by `@ar.builder` returned.  Any function may be marked
    where it is called: `ar.builder(function)(size=3)`.

    The file is one of safetensors, written whole or not at all; it holds no code: the name of the builder,
    its arguments as JSON, the text of what the block computes.  It is also a file of parameters for
    `arrows.training.load`.

    Args:
        model: a compiled model.
        path: the file to write or replace, in a folder that exists.
        metadata: texts to keep in the file.

    Raises:
        ArrowTypeError: `model` is no compiled model.
        ArrowValueError: nothing says what builds the block, or it was built with an argument that a file
            cannot keep; metadata that is not text; the state of a run stands at `path`.
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
    value: object = model
    if not isinstance(value, Model):
        use = f"not {described(value)}; arrows.training.save keeps the parameters of others"
        raise ArrowTypeError(f"save_model(model, path): model must be what ar.compile returns, {use}")
    target = require_path("save_model(model, path): path", path)
    recipe = _recipes.get(
        model.typed.form,
        "nothing says what builds this model's block; compile what a function marked by @ar.builder returns. "
        "For this model: save_model(ar.compile(ar.builder(function)(...), params=dict(model.params)), path)",
    )
    if isinstance(recipe, str):
        raise ArrowValueError(f"save_model: {recipe}")
    content = {
        "format": _FORMAT,
        "version": __version__,
        "builder": recipe.builder,
        "part": recipe.part,
        "arguments": recipe.arguments,
        "vocabularies": {name: words.content() for name, words in recipe.vocabularies.items()},
        "outline": outline(model.typed),
        "reading": dataclasses.asdict(model.batches.fingerprint()),
        "settings": _settings_of(model),
        "step": int(model.step),
    }
    write_parameters(model, target, metadata or {}, {MODEL: json.dumps(content, allow_nan=False)})
    if _is_a_program(recipe.builder) or "<" in recipe.builder:
        warnings.warn(
            f"save_model: no other process can import the builder {recipe.builder}, which stands in the "
            "program that runs or within a function. The file is written, and loads where it is handed in: "
            "load_model(path, builder=function). To load it by trust=, move it to a module of its own",
            stacklevel=2,
        )


def _settings_of(model: Model) -> dict[str, Any]:
    """The arguments of `ar.compile` that a file keeps."""
    loss = model.loss
    return {
        "loss": loss if loss is None or isinstance(loss, str) else {k: float(w) for k, w in loss.items()},
        "fingerprint": model.batches.stated,
        **{name: getattr(model, name) for name in ("float_type", "seed", "schedule", "max_nodes")},
        **{name: getattr(model.executors, name) for name in ("jit", "precision")},
    }


# -------------------------------------------------------------------------------------------------- loading


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedModel(Recipe):
    """What a model file says of its model; nothing of it is trusted or run.

    Attributes:
        builder, arguments, vocabularies, part: what builds the block: the name of a function, `module:name`,
            its arguments, and which part of its result the block is (None: all of it).
        outline: what the block computes, a line for each block.
        reading: hashes of how the block reads examples, its functions on Python objects included.
        settings: the arguments of `ar.compile`.
        step: `Model.step`, on which random numbers depend.
        version: of the package that wrote the file.
        parameters: arrays by name.
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

    outline: str
    reading: Fingerprint
    settings: Mapping[str, Any]
    step: int
    version: str
    parameters: Mapping[str, HostArray]
    metadata: Mapping[str, str]


def read_model_file(path: str | Path) -> SavedModel:
    """Reads what a model file says of its model; it imports nothing and builds nothing.

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
    path = require_path("read_model_file(path): path", path)
    return _saved_model(path, *read_arrays(path))


def _saved_model(path: Path, arrays: Mapping[str, HostArray], texts: Mapping[str, str]) -> SavedModel:
    if MODEL not in texts:
        use = f"holds {PARAMETERS} and no model: arrows.training.load(model, path) reads them"
        if RUN in texts:
            use = f"holds {STATE} and no model: load_state(path, model, optimizer) reads it"
        raise ArrowValueError(f"{path} {use}; ar.save_model(model, path) writes a whole one")
    try:
        fields = json.loads(texts[MODEL])
        if fields.pop("format") != _FORMAT or CHECKSUM not in texts:
            raise ValueError(f"arrows {fields['version']} or another program has written it")
        for name, kind in _TYPES.items():
            if not isinstance(fields[name], kind):
                raise TypeError(f"{name} is {described(fields[name])}")
        fields["reading"] = Fingerprint(**fields["reading"])
        fields["vocabularies"] = {
            name: Vocabulary.of_content(content, f"the vocabulary {name[:40]!r}")
            for name, content in fields["vocabularies"].items()
        }
        return SavedModel(**fields, parameters=arrays, metadata=user_texts(texts))
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ArrowValueError(
            f"{path} is damaged: what it says of its model cannot be read ({message_of(error, 300)}); "
            "write the file again, or use another copy"
        ) from None


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
    if isinstance(trust, str):
        raise ArrowTypeError(f"load_model: trust is a list of names of packages, such as [{trust!r}]")
    place = get_device(device)
    arrays, texts = read_arrays(path)
    saved = _saved_model(path, arrays, texts)
    block = _built(path, saved, builder or _named_builder(path, saved.builder, trust))
    try:
        settings = {"device": place, "memory_limit": memory_limit, **saved.settings}
        settings["jit"] = jit if jit is not None or settings["jit"] else False
        model = compile_block(block, **settings)
        then, now = saved.reading, model.batches.fingerprint()
        versions = (then.python, saved.version) == (now.python, __version__)  # else code and hashes differ
        comparable = versions and then.refusal is None and now.refusal is None
        warning = now.difference(then) if comparable else None
    except (ArrowTypeError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise ArrowValueError(f"{path} cannot be compiled: {message_of(error)}") from error
    set_parameters(path, model, arrays, texts)
    changed = _changed_lines(saved.outline, outline(model.typed))
    if changed and saved.version == __version__:
        raise ArrowValueError(
            f"{path} does not fit its builder, whose block has changed since:\n  {changed}\n"
            "  hint  arrows.training.load(model, path) reads the parameters into any block that has these"
        )
    model.step = saved.step
    if changed:
        version = escaped(saved.version, 20)
        warning = f"arrows {version} has written it, and computed its block otherwise:\n  {changed}\n "
    if warning:
        warnings.warn(f"{path}: {warning}; predictions may differ", stacklevel=2)
    return model


def _named_builder(path: Path, builder: str, trust: Sequence[str]) -> Callable[..., object]:
    """The function of a name that stands in a file.

    Raises:
        ArrowValueError: the name belongs to none of the trusted packages, the module cannot be imported, or
            it defines no such function that is marked by `@ar.builder`.
    """
    module, _, function = builder.partition(":")
    where = f"{path}: its builder is {escaped(builder, 200)!r}"
    give = "give the function: load_model(path, builder=function)"
    if _is_a_program(builder):  # to import it would run the program
        raise ArrowValueError(f"{where}, which stood in the program that saved it; {give}")
    if not any(f"{module}.".startswith(f"{name}.") for name in (*_SHIPPED, *trust)):
        raise ArrowValueError(
            f"{where}, and nothing is imported by a name from a file; {give}, or trust its package: "
            f"trust=[{escaped(module.partition('.')[0], 100)!r}]"
        )
    try:
        importlib.import_module(module)
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {message_of(error)}"
        raise ArrowValueError(f"{where}, whose module cannot be imported: {reason}") from error
    if builder not in _builders:  # what a module has imported from elsewhere is not trusted with it
        function = escaped(function, 100)
        raise ArrowValueError(
            f"{where}, and {module} has no function {function} marked by @ar.builder; {give}"
        )
    return _builders[builder]


def _built(path: Path, saved: SavedModel, build: Callable[..., object]) -> AnyBlock:
    """The block that the builder makes of the file's arguments."""
    name = escaped(getattr(build, "__qualname__", "the builder"), 200)
    try:
        result = build(**saved.arguments, **saved.vocabularies)
    except Exception as error:
        raise ArrowValueError(
            f"{path}: {name} refuses the arguments in the file: {type(error).__name__}: {message_of(error)}"
        ) from error
    block = next((block for part, block in parts_of(result) if part == saved.part), None)
    if not isinstance(block, Block):
        wanted = "" if saved.part is None else f", with the part {escaped(str(saved.part), 40)!r}"
        raise ArrowValueError(f"{path}: {name} should return a block{wanted}; it returns {described(result)}")
    fields = {field.name: getattr(saved, field.name) for field in dataclasses.fields(Recipe)}
    _recipes.setdefault(block, Recipe(**fields))  # of a function that is not marked
    return block


def _changed_lines(then: str, now: str) -> str:
    """The first line in which two outlines differ, as it was and as it is; empty if there is none."""
    for pair in zip_longest(then.split("\n"), now.split("\n"), fillvalue="nothing more"):
        if pair[0] != pair[1]:
            return f"then  {escaped(pair[0], 160)}\n  now   {escaped(pair[1], 160)}"
    return ""
