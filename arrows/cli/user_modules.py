"""Imports a user's file and finds the blocks among its names, without calling any of its functions."""

from __future__ import annotations

import ast
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
from arrows.combinators import AnyBlock, NotYetABlock, as_block
from arrows.typesys import ArrowTypeError, ArrowValueError, SourceLine

PREFIX = "_arrows_reads_"
HOUSE = str(Path(ar.__file__).parent)


class Unreadable(ArrowValueError):
    """The user's file cannot be imported, because its code raises an error.

    Attributes:
        lines: the lines of the traceback that lie in the user's code.
    """

    def __init__(self, text: str, lines: str) -> None:
        super().__init__(f"{text}\n{lines}".rstrip())
        self.lines = lines


@dataclass(frozen=True, slots=True)
class NamedBlock:
    """A block and its name in a module.

    Attributes:
        name: the name, which may have dots, as in `blocks.learn`.
        block: the block.
        also: other names of the same block.
    """

    name: str
    block: AnyBlock
    also: tuple[str, ...] = ()


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

    A file of a package is imported as a part of the package. What the file prints goes to standard error.

    Raises:
        ArrowTypeError, ArrowValueError: the file puts blocks together that do not fit.
        Unreadable: the file raises another error.
        FileNotFoundError: there is no such file.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{'this is a folder' if path.is_dir() else 'no such file'}: {path}")
    path = path.absolute()
    arguments, sys.argv = sys.argv, [str(path)]  # the file must not see the arguments of `arrows`
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return _imported(path)
    except (ArrowTypeError, ArrowValueError):
        raise
    except (Exception, SystemExit) as error:
        raise Unreadable(
            f"cannot import {path.name}: {_reason(error)}", "".join(user_lines(error))
        ) from error
    finally:
        sys.argv = arguments


def _imported(path: Path) -> ModuleType:
    """Imports a file under a name of its own, inside of its package if it is part of one."""
    root, package = path.parent, ""
    while (root / "__init__.py").is_file():
        package = f"{root.name}.{package}" if package else root.name
        root = root.parent
    for folder in (root, path.parent) if not package else (root,):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    name = PREFIX + "".join(c if c.isalnum() else "_" for c in path.stem)
    if package:
        parent = importlib.import_module(package)
        if str(path.parent) in map(str, getattr(parent, "__path__", ())):
            name = f"{package}.{name}"
    loader = SourceFileLoader(name, str(path))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses and pickles look for it
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


def _reason(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"it exits ({error.code}); guard what should only run as a script by __name__ == '__main__'"
    return "".join(traceback.format_exception_only(error)[-1:]).strip()


def blocks_of(module: ModuleType) -> list[NamedBlock]:
    """The blocks among a module's public names, and in its public dataclasses, dicts, lists and tuples.

    A compiled model stands for its block.
    """
    blocks: dict[int, tuple[AnyBlock, list[str]]] = {}
    for name, block in _blocks(vars(module)):
        blocks.setdefault(id(block), (block, []))[1].append(name)
    return [NamedBlock(name, block, tuple(also)) for block, (name, *also) in blocks.values()]


def _blocks(names: Mapping[str, object]) -> Iterator[tuple[str, AnyBlock]]:
    for name, value in list(names.items()):
        if name.startswith("_"):
            continue
        block = _block(value)
        if block is not None:
            yield name, block
            continue
        for word, item in _items(value):
            block = _block(item)
            if block is not None:
                yield f"{name}.{word}", block


def _block(value: object) -> AnyBlock | None:
    if isinstance(value, ar.Model):
        return value.typed.form
    return value if isinstance(value, ar.Block) else None


def _items(value: object) -> Iterator[tuple[str, object]]:
    """The items of a container or the fields of a record, each with the word that names it after a dot."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [field.name for field in dataclasses.fields(value)]
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        fields = list(value._fields)
    elif isinstance(value, dict):
        yield from ((str(key), item) for key, item in value.items())
        return
    elif isinstance(value, (list, tuple)):
        yield from ((str(position), item) for position, item in enumerate(value))
        return
    else:
        return
    yield from ((name, getattr(value, name, None)) for name in fields if not name.startswith("_"))


def every_block(module: ModuleType) -> list[AnyBlock]:
    """All blocks among a module's names, including private names."""
    private = [v for k, v in vars(module).items() if k.startswith("_") and isinstance(v, ar.Block)]
    return [*(named.block for named in blocks_of(module)), *private]


def attribute(module: ModuleType, name: str, file: Path) -> Any:
    """The value of a name in a module; dots lead to attributes, to items and to positions in lists.

    >>> import types
    >>> attribute(types.SimpleNamespace(data={"dev": [1]}), "data.dev", Path("model.py"))
    [1]
    """
    value: Any = module
    path: list[str] = []
    for word in name.split("."):
        try:
            if isinstance(value, Mapping):
                value = value[word]
            elif isinstance(value, (list, tuple)) and word.isdecimal():
                value = value[int(word)]
            else:
                value = getattr(value, word)
        except (AttributeError, LookupError):
            owner = f"{file.name}:{'.'.join(path)}" if path else file.name
            raise ArrowValueError(f"{owner} has no name {word}{_others(module, name)}") from None
        path.append(word)
    return value


def block_named(module: ModuleType, name: str, file: Path) -> NamedBlock:
    """The block of a name, which may have dots as in `attribute`; refuses a name that is not a block's."""
    for named in blocks_of(module):  # first, as a key of a dict may itself contain a dot
        if name in (named.name, *named.also):
            return NamedBlock(name, named.block)
    value = attribute(module, name, file)
    block = _block(value)
    if block is not None:
        return NamedBlock(name, block)
    if isinstance(value, (Mapping, tuple, NotYetABlock)):
        with contextlib.suppress(ArrowTypeError):  # a dict or a tuple that holds something other than blocks
            return NamedBlock(name, _located(as_block(value, f"the block {name}"), name, file))
    kind = "a function" if isinstance(value, FunctionType) else f"of the type {type(value).__name__}"
    callable_ = isinstance(value, (FunctionType, type))
    hint = "; arrows does not call it: give its result a name" if callable_ else ""
    raise ArrowValueError(f"{name} in {file.name} is not a block but {kind}{hint}{_others(module, name)}")


def _located(block: AnyBlock, name: str, file: Path) -> AnyBlock:
    """Sets the site of a block that was built here from a user's value: the line that defines its name."""
    site = SourceLine(str(file.absolute()), _line(name.partition(".")[0], file))
    stack = [block]
    while stack:
        part = stack.pop()
        if part.site.file == __file__:
            vars(part)["site"] = site
            stack.extend(part.parts)
    return block


def _line(name: str, file: Path) -> int:
    """The last line of a file that defines a name at the top level; 0 if there is none."""
    line = 0
    for statement in ast.parse(file.read_bytes()).body:
        names: list[str | None] = []
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            names = [alias.asname or alias.name for alias in statement.names]
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names = [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
        if name in names:
            line = statement.lineno
    return line


def _others(module: ModuleType, name: str) -> str:
    names = [named.name for named in blocks_of(module)]
    if not names:
        return ", and no blocks at all"
    near = difflib.get_close_matches(name, names, 3)
    if near:
        return f"; did you mean {' or '.join(near)}?"
    return f"; its blocks are {', '.join(names[:10])}{', ...' if len(names) > 10 else ''}"
