"""Writes a model to a file, and builds it again from there."""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from arrows.combinators import Block
from arrows.engine import Device, Model
from arrows.engine import compile as compile_block
from arrows.engine.device import get_device
from arrows.engine.planning import named_parameters
from arrows.files import require_path
from arrows.inference import infer
from arrows.model_files.builders import (
    Recipe,
    Unplain,
    blocks_of,
    checked_trust,
    name_of,
    named_builder,
    part_of,
    recipe_of,
    remember,
    remembered,
)
from arrows.model_files.contents import ModelSettings, SavedModel
from arrows.model_files.outline import differing_lines, fingerprint_of, outline
from arrows.training.arguments import described
from arrows.training.saving import differences, open_file, require_memory
from arrows.training.saving.existing import MODEL_KEY
from arrows.training.saving.parameter_files import read_parameters, write_parameters
from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.typesys.quoting import escaped, message_of
from arrows.version import __version__


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
    its arguments as JSON, a fingerprint of what the block computes.  It is also a file of parameters for
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
        UserWarning: two layers without names have the same shapes, so their weights may be swapped unnoticed.
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
    call = "save_model(model, path)"
    _require_compiled(call, model)
    target = require_path(f"{call}: path", path)
    lines = outline(model.typed)
    recipe = _recipe(model, lines, builder, arguments)
    saved = SavedModel(
        builder=recipe.builder,
        part=recipe.part,
        arguments=recipe.arguments,
        vocabularies=recipe.vocabularies,
        fingerprint=fingerprint_of(lines),
        outline=tuple(lines),
        reading=model.batches.fingerprint(),
        settings=ModelSettings.of(model),
        version=__version__,
        parameters={},
        metadata={},
    )
    unnamed = write_parameters(model, target, metadata or {}, {MODEL_KEY: saved.as_text()})
    for warning in (unnamed, _unimportable(recipe.builder)):
        if warning is not None:
            warnings.warn(warning, stacklevel=2)


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
    trusted = checked_trust(trust)
    if builder is not None and not callable(builder):
        raise ArrowTypeError(
            f"load_model: builder is the function that builds the block, not {described(builder)}"
        )
    place = get_device(device)
    with open_file(path) as file:
        saved = SavedModel.of(file)
        build = named_builder(path, saved.builder, trusted) if builder is None else builder
        block = _built(path, saved, build)
        settings = saved.settings
        _check_block(path, saved, block)
        require_memory(path, sum(entry.stop - entry.start for entry in file.entries.values()))
        try:
            model = compile_block(
                block,
                loss=settings.loss,
                seed=settings.seed,
                schedule=settings.schedule,
                device=place,
                float_type=settings.float_type,
                max_nodes=settings.max_nodes,
                jit=jit if jit is not None or settings.jit else False,
                precision=settings.precision,
                storage=settings.storage if place.has_kernels else "float32",
                fingerprint=settings.fingerprint,
                memory_limit=memory_limit,
            )
        except (ArrowTypeError, ArrowValueError) as error:
            raise ArrowValueError(f"{path} cannot be compiled: {message_of(error)}") from error
        read_parameters(file, model)
    model.step = settings.step
    recipe = Recipe(
        builder=name_of(build), part=saved.part, arguments=saved.arguments, vocabularies=saved.vocabularies
    )
    remember(model.typed.form, recipe)
    changed = _changed_reading(model, saved)
    if changed is not None:
        warnings.warn(f"{path}: {changed}; predictions may differ", stacklevel=2)
    return model


def _require_compiled(call: str, model: object) -> None:
    if not isinstance(model, Model):
        hint = "; of a network on the fly, arrows.training.save keeps the parameters"
        hint = "; compile it first: ar.compile(block)" if isinstance(model, Block) else hint
        raise ArrowTypeError(f"{call}: model must be what ar.compile returns, not {described(model)}{hint}")


def _recipe(
    model: Model,
    lines: list[str],
    builder: Callable[..., object] | None,
    arguments: Mapping[str, object] | None,
) -> Recipe:
    """What builds the model's block; refuses what a file cannot keep, or what builds another."""
    if builder is None:
        if arguments is not None:
            raise ArrowTypeError("save_model: arguments are those of a builder; give builder= as well")
        recipe = remembered(model.typed.form)
        if recipe is None:
            raise ArrowValueError(
                "save_model: nothing says what builds this model's block; compile what a function marked by "
                "@ar.builder returns, or give save_model(model, path, builder=function, arguments={...}); "
                "arrows.training.save writes the parameters alone"
            )
    else:
        if not callable(builder):
            raise ArrowTypeError(
                f"save_model: builder is the function that builds the block, not {described(builder)}"
            )
        recipe = recipe_of(builder, arguments or {})
    for value in recipe.arguments.values():
        if isinstance(value, Unplain):
            raise ArrowTypeError(f"save_model: {recipe.builder}: the argument {value.reason}")
    if builder is None:
        return recipe
    result = builder(**recipe.arguments, **recipe.vocabularies)
    now = [(part, outline(infer(block, float_type=model.float_type))) for part, block in blocks_of(result)]
    if not now:
        raise ArrowValueError(f"save_model: {recipe.builder} returns no block but {described(result)}")
    for part, others in now:
        if others == lines:
            return dataclasses.replace(recipe, part=part)
    texts = differing_lines(now[-1][1], lines, "the builder's", "the model's")
    raise ArrowValueError(
        "\n  ".join(
            [
                f"save_model: {recipe.builder} does not build the block of this model with these arguments:",
                *texts,
            ]
        )
    )


def _unimportable(builder: str) -> str | None:
    """A warning for a builder whose name no other process can import; None for one that it can.

    It is no error: the file is whole, and the model may have taken hours.
    """
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


def _built(path: Path, saved: SavedModel, build: Callable[..., object]) -> Block[Any, Any]:
    """The block that the builder makes of the file's arguments."""
    name = escaped(name_of(build), 200)
    values = {**saved.arguments, **saved.vocabularies}
    try:
        signature = inspect.signature(build)
    except (TypeError, ValueError):  # a callable without one, such as a class of an extension
        signature = None
    try:
        if signature is not None:
            signature.bind(**values)
    except TypeError as error:
        arguments = escaped(", ".join(values), 200) or "none"
        raise ArrowValueError(
            f"{path} does not fit {name}, whose arguments are {signature}; the file has {arguments}: "
            f"{message_of(error)}"
        ) from None
    try:
        result = build(**values)
    except Exception as error:
        raise ArrowValueError(
            f"{path}: {name} refuses the arguments in the file: {type(error).__name__}: {message_of(error)}"
        ) from error
    block = part_of(result, saved.part)
    if not isinstance(block, Block):
        part = "" if saved.part is None else f", with the part {escaped(saved.part, 40)!r}"
        raise ArrowValueError(f"{path}: {name} should return a block{part}; it returns {described(result)}")
    return block


def _check_block(path: Path, saved: SavedModel, block: Block[Any, Any]) -> None:
    """Refuses a block that has other parameters than the file, or computes something else."""
    name = escaped(saved.builder, 200)
    try:
        typed = infer(block, float_type=saved.settings.float_type)
        problems = differences(saved.parameters, named_parameters(typed))
    except (ArrowTypeError, ArrowValueError) as error:
        raise ArrowValueError(f"{path}: the block of {name} is ill-typed: {message_of(error)}") from error
    if problems:
        raise ArrowValueError("\n  ".join([f"{path} does not fit the block of {name}:", *problems]))
    lines = outline(typed)
    if fingerprint_of(lines) == saved.fingerprint:
        return
    texts = differing_lines(saved.outline, lines, "in the file", "now")
    if saved.version != __version__:
        warnings.warn(
            f"{path} was written by arrows {escaped(saved.version, 20)}, which computed its block otherwise "
            f"than {__version__}; predictions may differ: {'; '.join(texts)}",
            stacklevel=3,
        )
        return
    raise ArrowValueError(
        "\n  ".join([f"{path} does not fit its builder, whose block has changed since:", *texts])
        + "\n  hint  arrows.training.load(model, path) reads the parameters into any block that has these"
    )


def _changed_reading(model: Model, saved: SavedModel) -> str | None:
    """What has changed in how examples are read, as far as that shows; None if nothing has."""
    then, now = saved.reading, model.batches.fingerprint()
    if then.stated is not None or now.stated is not None or then.python != now.python:
        return None
    if then.refusal is not None or now.refusal is not None or saved.version != __version__:
        return None
    changed = [name for name, digest in now.functions if (digest not in {d for _, d in then.functions})]
    if changed:
        return f"functions that read examples have changed since it was saved: {', '.join(changed)}"
    return None if then.block == now.block else "its block reads examples otherwise than when it was saved"
