"""Imports a user's file and finds the blocks among its names, without calling any of its functions."""

from __future__ import annotations

import contextlib
import difflib
import importlib.util
import sys
import traceback
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import arrows as ar
from arrows.combinators import AnyBlock
from arrows.model_file import parts_of
from arrows.typesys import ArrowTypeError, ArrowValueError

HOUSE = str(Path(ar.__file__).parent)


class Unreadable(ArrowValueError):
    """The user's file cannot be imported; the text ends with those lines of the traceback that are in it."""


def split(text: str) -> tuple[Path, str | None]:
    r"""The file and the name in `FILE.py:NAME`; the name is None if there is none.

    >>> split("model.py:blocks.learn")[1], split("model.py")[1], split(r"C:\models\tree.py")[1]
    ('blocks.learn', None, None)
    """
    file, colon, name = text.rpartition(":")
    if not colon or not file or Path(text).exists() or "/" in name or "\\" in name:
        return Path(text), None
    return Path(file), name


def load(path: Path) -> ModuleType:
    """Imports a file with its folder first on the path, as for a script, but not as `__main__`.

    What the file prints goes to standard error.

    Raises:
        ArrowTypeError, ArrowValueError: the file puts blocks together that do not fit.
        Unreadable: the file raises another error.
        FileNotFoundError: there is no such file.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{'this is a folder' if path.is_dir() else 'no such file'}: {path}")
    path = path.absolute()
    name = "_arrows_reads_" + "".join(c if c.isalnum() else "_" for c in path.stem)
    spec = importlib.util.spec_from_loader(name, SourceFileLoader(name, str(path)))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses and pickles look for it
    sys.path.insert(0, str(path.parent))
    try:
        with contextlib.redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except (ArrowTypeError, ArrowValueError):
        raise
    except (Exception, SystemExit) as error:
        reason = "".join(traceback.format_exception_only(error)[-1:]).strip()
        if isinstance(error, SystemExit):
            reason = f"it exits ({error.code}); guard what only a script does by __name__ == '__main__'"
        lines = "".join(user_lines(error)).rstrip()
        raise Unreadable(f"cannot import {path.name}: {reason}\n{lines}".rstrip()) from error
    return module


def user_lines(error: BaseException) -> list[str]:
    """The lines of a traceback that lie in the user's code, as Python prints them."""
    if isinstance(error, SyntaxError):
        return traceback.format_exception_only(error)[:-1]
    frames = traceback.extract_tb(error.__traceback__)
    return traceback.format_list([f for f in frames if not f.filename.startswith((HOUSE, "<frozen "))])


def blocks_of(module: ModuleType) -> dict[str, AnyBlock]:
    """The blocks among a module's public names, and in its public dataclasses, dicts, lists and tuples.

    A compiled model stands for its block. Of several names of one block the first is given; it may have dots.
    """
    found: dict[AnyBlock, str] = {}
    for name, value in vars(module).items():
        for part, item in [] if name.startswith("_") else parts_of(value):
            block = _block(item)
            if block is not None:
                found.setdefault(block, name if part is None else f"{name}.{part}")
    return {name: block for block, name in found.items()}


def _block(value: object) -> AnyBlock | None:
    value = value.typed.form if isinstance(value, ar.Model) else value
    return value if isinstance(value, ar.Block) else None


def block_named(module: ModuleType, name: str, file: Path) -> AnyBlock:
    """The block of a name, which may have dots; refuses a name that is not a block's."""
    blocks = blocks_of(module)
    if name in blocks:  # first, as a key of a dict may itself contain a dot
        return blocks[name]
    value = attribute(module, name, file)
    block = _block(value)
    if block is not None:
        return block
    kind = "a function" if isinstance(value, FunctionType) else f"of the type {type(value).__name__}"
    if isinstance(value, (FunctionType, type)):
        kind += "; arrows does not call it: give its result a name"
    raise ArrowValueError(f"{name} in {file.name} is not a block but {kind}{_others(module, name)}")


def attribute(module: ModuleType, name: str, file: Path) -> Any:
    """The value of a name in a module; dots lead to attributes, to items and to positions in lists.

    >>> import types
    >>> attribute(types.SimpleNamespace(data={"dev": [1]}), "data.dev", Path("model.py"))
    [1]
    """
    value: Any = module
    for word in name.split("."):
        try:
            parts = dict(parts_of(value))
            value = parts[word] if word in parts else getattr(value, word)
        except AttributeError:
            raise ArrowValueError(f"{file.name} has no name {name}{_others(module, name)}") from None
    return value


def _others(module: ModuleType, name: str) -> str:
    names = [*blocks_of(module)]
    if near := difflib.get_close_matches(name, names, 3):
        return f"; did you mean {' or '.join(near)}?"
    return f"; its blocks are {', '.join(names[:10])}" if names else ", and no blocks at all"
