"""A user's file as a module, and the blocks among its names; nothing runs but the import itself."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import arrows as ar
from arrows.combinators import as_block
from arrows.typesys.errors import ArrowTypeError, ArrowValueError

PREFIX = "_arrows_reads_"
HOUSE = str(Path(ar.__file__).parent)


class Unreadable(ArrowValueError):
    """The file's own code failed.

    Attributes:
        lines: the lines of the traceback that lie in the user's code.
    """

    def __init__(self, text: str, lines: str) -> None:
        super().__init__(f"{text}\n{lines}".rstrip())
        self.lines = lines


@dataclass(frozen=True, slots=True)
class Named:
    """A block by the name that it has in a module.

    Attributes:
        name: perhaps with dots, `blocks.learn` for instance.
        block: the block.
        also: other names of the same block.
    """

    name: str
    block: ar.Block[Any, Any]
    also: tuple[str, ...] = ()


def split(text: str) -> tuple[Path, str | None]:
    """File and name of `FILE.py:NAME`.

    >>> split("model.py:blocks.learn")[1], split("model.py")[1]
    ('blocks.learn', None)
    """
    file, colon, name = text.rpartition(":")
    if not colon or not file or Path(text).exists() or "/" in name or "\\\\" in name:
        return Path(text), None
    return Path(file), name


def load(path: Path) -> ModuleType:
    """Imports a file as a script is run, its folder first on the path, but not as `__main__`.

    A file of a package is imported as a part of it. What the file prints goes to standard error.

    Raises:
        ArrowTypeError, ArrowValueError: raised in the file by blocks that cannot be put together.
        Unreadable: something else was raised in it.
        FileNotFoundError: there is no such file.

    >>> load(Path("model.py"))
    Traceback (most recent call last):
    ...
    FileNotFoundError: no such file: model.py
    """
    if not path.is_file():
        raise FileNotFoundError(f"{'this is a folder' if path.is_dir() else 'no such file'}: {path}")
    path = path.absolute()
    given, sys.argv = sys.argv, [str(path)]
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return _imported(path)
    except (ArrowTypeError, ArrowValueError):
        raise
    except (Exception, SystemExit) as error:
        raise Unreadable(f"cannot import {path.name}: {_words(error)}", "".join(user_lines(error))) from error
    finally:
        sys.argv = given


def _imported(path: Path) -> ModuleType:
    root, package = path.parent, ""
    while (root / "__init__.py").is_file():
        package = f"{root.name}.{package}" if package else root.name
        root = root.parent
    for folder in (root, path.parent) if not package else (root,):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    name = PREFIX + "".join(c if c.isalnum() else "_" for c in path.stem)
    if package:
        around = importlib.import_module(package)
        if str(path.parent) in map(str, getattr(around, "__path__", ())):
            name = f"{package}.{name}"
    loader = SourceFileLoader(name, str(path))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickles look their module up
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def user_lines(error: BaseException) -> list[str]:
    """The lines of a traceback that lie in the user's code, as Python prints them."""
    if isinstance(error, SyntaxError):
        return traceback.format_exception_only(error)[:-1]
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((HOUSE, "<frozen importlib"))
    ]
    return traceback.format_list(frames)


def _words(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"it exits ({error.code}); guard what should only run as a script by __name__ == '__main__'"
    return "".join(traceback.format_exception_only(error)[-1:]).strip()


def blocks_of(module: ModuleType) -> list[Named]:
    """The blocks among a module's public names, and among the fields of its public dataclasses.

    >>> import types
    >>> module = types.ModuleType("model")
    >>> module.model, module._part = ar.Scalar(), ar.Scalar()
    >>> [named.name for named in blocks_of(module)]
    ['model']
    """
    found: dict[int, Named] = {}
    for name, block in _blocks(vars(module)):
        known = found.get(id(block))
        found[id(block)] = (
            Named(name, block) if known is None else dataclasses.replace(known, also=(*known.also, name))
        )
    return list(found.values())


def _blocks(names: Mapping[str, Any]) -> Iterator[tuple[str, ar.Block[Any, Any]]]:
    for name, value in list(names.items()):
        if name.startswith("_"):
            continue
        if isinstance(value, ar.Block):
            yield name, value
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            for field in dataclasses.fields(value):
                inner = getattr(value, field.name, None)
                if isinstance(inner, ar.Block) and not field.name.startswith("_"):
                    yield f"{name}.{field.name}", inner


def every_block(module: ModuleType) -> list[ar.Block[Any, Any]]:
    """All blocks among a module's names, private ones too."""
    private = [v for k, v in vars(module).items() if k.startswith("_") and isinstance(v, ar.Block)]
    return [*(named.block for named in blocks_of(module)), *private]


def attribute(module: ModuleType, name: str, file: Path) -> Any:
    """What a name of a module stands for, with dots for attributes and items.

    Raises:
        ArrowValueError: nothing.

    >>> import types
    >>> attribute(types.SimpleNamespace(data={"dev": [1]}), "data.dev", Path("model.py"))
    [1]
    """
    value: Any = module
    done: list[str] = []
    for word in name.split("."):
        try:
            value = getattr(value, word) if not isinstance(value, Mapping) else value[word]
        except (AttributeError, KeyError):
            where = f"{file.name}:{'.'.join(done)}" if done else file.name
            raise ArrowValueError(f"{where} has no name {word}{_others(module, name)}") from None
        done.append(word)
    return value


def block_named(module: ModuleType, name: str, file: Path) -> Named:
    """The block that a name stands for, with dots for attributes.

    Raises:
        ArrowValueError: there is none.

    >>> import types
    >>> block_named(types.ModuleType("model"), "tree", Path("model.py"))
    Traceback (most recent call last):
    ...
    arrows.typesys.errors.ArrowValueError: model.py has no name tree, and no blocks at all
    """
    value = attribute(module, name, file)
    if isinstance(value, ar.Block):
        return Named(name, value)
    if isinstance(value, (Mapping, tuple)) or hasattr(value, "_not_yet_a_block"):
        with contextlib.suppress(ArrowTypeError):  # a dict or a tuple of something else than blocks
            return Named(name, as_block(value, f"the block {name}"))
    what = "a function" if isinstance(value, FunctionType) else f"of the type {type(value).__name__}"
    hint = "; nothing is called here: give what it returns a name" if callable(value) else ""
    raise ArrowValueError(f"{name} in {file.name} is no block, but {what}{hint}{_others(module, name)}")


def _others(module: ModuleType, name: str) -> str:
    names = [named.name for named in blocks_of(module)]
    if not names:
        return ", and no blocks at all"
    near = difflib.get_close_matches(name, names, 3)
    if near:
        return f"; did you mean {' or '.join(near)}?"
    return f"; its blocks are {', '.join(names[:10])}{', ...' if len(names) > 10 else ''}"
