"""Functions that build blocks: which one made a block, with which arguments, and how a file names it."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from arrows.combinators import AnyBlock, Block
from arrows.data import Vocabulary
from arrows.training.arguments import described
from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.typesys.quoting import escaped, message_of

P = ParamSpec("P")
R = TypeVar("R")

_MARK = "__arrows_builder__"
_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_WIDEST = 10_000  # bits of a whole number; Python writes up to 4,300 digits
_SHIPPED = ("arrows.models",)
"""Rooms of this package with builders, which need no trust."""


class Unplain:
    """Stands for an argument that cannot be written to a file; `reason` says why."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What builds a block.

    Attributes:
        builder: the name of a function, `module:name`.
        part: which part of its result is the block, an attribute, a key or a position; None: all of it.
        arguments: by name, as plain JSON.
        vocabularies: arguments that are vocabularies.
    """

    builder: str
    part: str | None
    arguments: Mapping[str, Any]
    vocabularies: Mapping[str, Vocabulary]


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
    _require_function(function)
    signature = inspect.signature(function)
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            raise ArrowTypeError(
                f"@ar.builder: {function.__qualname__} has the argument {parameter.name!r} without a name; a "
                "file keeps arguments by name"
            )

    @functools.wraps(function)
    def build(*args: P.args, **kwargs: P.kwargs) -> R:
        result = function(*args, **kwargs)
        recipe = recipe_of(function, named_arguments(signature, args, kwargs))
        for part, block in blocks_of(result):
            _recipes[block] = dataclasses.replace(recipe, part=part)
        return result

    vars(build)[_MARK] = True
    return build


def _require_function(value: object) -> None:
    if not isinstance(value, FunctionType):
        raise ArrowTypeError(f"@ar.builder marks a function, not {described(value)}")


def named_arguments(
    signature: inspect.Signature, args: Sequence[object], kwargs: Mapping[str, object]
) -> dict[str, object]:
    """All arguments of a call by name, defaults included where a file can keep these."""
    bound = signature.bind(*args, **kwargs)
    values: dict[str, object] = {}
    for name, parameter in signature.parameters.items():
        if name in bound.arguments:
            if parameter.kind == parameter.VAR_KEYWORD:
                values |= bound.arguments[name]
            else:
                values[name] = bound.arguments[name]
        elif not isinstance(_plain_or_vocabulary(name, parameter.default), Unplain):
            values[name] = parameter.default  # a later version may have another
    return values


def recipe_of(function: Callable[..., object], values: Mapping[str, object]) -> Recipe:
    """The recipe of a call; arguments that no file can keep are `Unplain`."""
    arguments, vocabularies = {}, {}
    for name, value in values.items():
        written = _plain_or_vocabulary(name, value)
        if isinstance(written, Vocabulary):
            vocabularies[name] = written
        else:
            arguments[name] = written
    return Recipe(builder=name_of(function), part=None, arguments=arguments, vocabularies=vocabularies)


def remembered(block: AnyBlock) -> Recipe | None:
    """What built a block, if a marked function or `load_model` did."""
    return _recipes.get(block)


def remember(block: AnyBlock, recipe: Recipe) -> None:
    """Remembers what built a block."""
    _recipes[block] = recipe


def name_of(function: Callable[..., object]) -> str:
    """The name of a function in a file, `module:name`.

    >>> name_of(name_of), name_of(lambda: None)
    ('arrows.model_files.builders:name_of', 'arrows.model_files.builders:<lambda>')
    """
    inner = inspect.unwrap(function)
    while isinstance(inner, functools.partial):
        inner = inner.func
    module = str(getattr(inner, "__module__", "unknown"))
    name = str(getattr(inner, "__qualname__", type(inner).__name__))
    if module == "__main__":  # `python -m package.module` has a name that others can import
        specification = getattr(sys.modules["__main__"], "__spec__", None)
        module = module if specification is None else specification.name.removesuffix(".__main__")
    return f"{module}:{name}"


def named_builder(path: object, name: str, trust: Sequence[str]) -> Callable[..., object]:
    """The function of a name that stands in a file.

    Args:
        path: the file, for messages.
        name: `module:name`.
        trust: packages and modules whose marked functions may be called.

    Raises:
        ArrowValueError: the name belongs to none of these, the module cannot be imported, or there is no such
            function, or it is not marked by `@ar.builder`.
    """
    where = f"{path}: its builder is {escaped(name, 200)!r}"
    if not _NAME.fullmatch(name):
        raise ArrowValueError(
            f"{where}, which cannot be imported; give the function: load_model(path, builder=function)"
        )
    module_name, _, function_name = name.partition(":")
    if module_name == "__main__":
        raise ArrowValueError(
            f"{where}, which stood in the program that saved it; give the function, "
            f"load_model(path, builder={function_name.rpartition('.')[2]})"
        )
    if not is_trusted(module_name, trust):
        package = module_name.partition(".")[0]
        raise ArrowValueError(
            f"{where}, and nothing is imported by a name from a file; give the function, "
            f"load_model(path, builder=function), or trust its package: trust=[{package!r}]"
        )
    if module_name.endswith(".__main__"):  # to import it would run the command `python -m package`
        raise ArrowValueError(f"{where}, and what `python -m` runs is not imported by a name from a file")
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
            "file: mark it, or give it: load_model(path, builder=function)"
        )
    return value


def checked_trust(trust: object) -> tuple[str, ...]:
    """The names of trusted packages.

    Raises:
        ArrowTypeError: something else than a list of texts.
        ArrowValueError: a text that is no name of a package.
    """
    if isinstance(trust, str) or not isinstance(trust, Sequence):
        raise ArrowTypeError(
            f"load_model: trust is a list of names of packages, such as ['mine'], not {described(trust)}"
        )
    for name in trust:
        if not isinstance(name, str):
            raise ArrowTypeError(f"load_model: trust holds names of packages, not {described(name)}")
        if not all(word.isidentifier() for word in name.split(".")):
            raise ArrowValueError(f"load_model: trust={name!r} is no name of a package")
    return tuple(trust)


def part_of(result: object, part: str | None) -> object:
    """A part of what a builder returned; None if it has no such part."""
    if part is None:
        return result
    return next((block for name, block in blocks_of(result) if name == part), None)


def is_trusted(module: str, trust: Sequence[str] = ()) -> bool:
    """Whether a module belongs to one of these packages, or to those of this package that need no trust.

    >>> is_trusted("mine.blocks", ["mine"]), is_trusted("mine_too", ["mine"]), is_trusted("arrows.models")
    (True, False, True)
    """
    return any(module == name or module.startswith(f"{name}.") for name in (*_SHIPPED, *trust))


def blocks_of(result: object) -> Iterator[tuple[str | None, AnyBlock]]:
    """The blocks that a builder returned, each with the name of its part."""
    if isinstance(result, Block):
        yield None, result
        return
    items: Mapping[Any, object] = {}
    if isinstance(result, Mapping):
        items = result
    elif dataclasses.is_dataclass(result) and not isinstance(result, type):
        items = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    elif isinstance(result, tuple):
        items = dict(zip(getattr(result, "_fields", range(len(result))), result, strict=True))
    for name, item in items.items():
        if isinstance(item, Block):
            yield str(name), item


def _plain_or_vocabulary(name: str, value: object) -> object:
    if isinstance(value, Vocabulary):
        return value
    try:
        return plain(value, name)
    except ArrowTypeError as error:
        return Unplain(str(error))


def plain(value: object, place: str) -> Any:
    """A copy of a value as plain JSON; numbers of NumPy become Python's, and tuples lists.

    Args:
        value: the value.
        place: what it is called in errors.

    Raises:
        ArrowTypeError: something that JSON does not have; it says where.

    >>> plain({"sizes": (1, np.int64(2))}, "arguments")
    {'sizes': [1, 2]}
    >>> plain({"of": {1}}, "arguments")
    Traceback (most recent call last):
    ...
    arrows.typesys.errors.ArrowTypeError: arguments['of'] is a value of the type set, and a file keeps ...
    """
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) is int and value.bit_length() > _WIDEST:
        raise ArrowTypeError(f"{place} is a number of {value.bit_length():,} bits, too long to be written")
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    try:
        if isinstance(value, (list, tuple)):
            return [plain(item, f"{place}[{number}]") for number, item in enumerate(value)]
        if isinstance(value, Mapping) and all(type(key) is str for key in value):
            return {key: plain(item, f"{place}[{key!r}]") for key, item in value.items()}
    except RecursionError:
        raise ArrowTypeError(f"{place} is nested too deeply") from None
    kind = "a dict whose keys are not texts" if isinstance(value, Mapping) else described(value)
    raise ArrowTypeError(
        f"{place} is {kind}, and a file keeps plain JSON: numbers, texts, None, lists, dicts with texts as "
        "keys; and vocabularies, as arguments"
    )
