"""A user's file as a module, and the blocks among its names; nothing runs but the import itself."""

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
from arrows.typesys.errors import ArrowTypeError, ArrowValueError, SourceLine

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
class NamedBlock:
    """A block by the name that it has in a module.

    Attributes:
        name: perhaps with dots, `blocks.learn` for instance.
        block: the block.
        also: other names of the same block.
    """

    name: str
    block: AnyBlock
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


def blocks_of(module: ModuleType) -> list[NamedBlock]:
    """The blocks among a module's public names, and in its public dataclasses, dicts, lists and tuples.

    A compiled model stands for its block.

    >>> import types
    >>> module = types.ModuleType("model")
    >>> module.model, module._part, module.layers = ar.Scalar(), ar.Scalar(), [ar.FC(3)]
    >>> [named.name for named in blocks_of(module)]
    ['model', 'layers.0']
    """
    found: dict[int, NamedBlock] = {}
    for name, block in _blocks(vars(module)):
        known = found.get(id(block))
        found[id(block)] = (
            NamedBlock(name, block) if known is None else dataclasses.replace(known, also=(*known.also, name))
        )
    return list(found.values())


def _blocks(names: Mapping[str, Any]) -> Iterator[tuple[str, AnyBlock]]:
    for name, value in list(names.items()):
        if name.startswith("_"):
            continue
        found = _block(value)
        if found is not None:
            yield name, found
            continue
        for word, inner in _inside(value):
            found = _block(inner)
            if found is not None:
                yield f"{name}.{word}", found


def _block(value: Any) -> AnyBlock | None:
    if isinstance(value, ar.Model):
        return value.typed.form
    return value if isinstance(value, ar.Block) else None


def _inside(value: Any) -> Iterator[tuple[str, Any]]:
    """What stands directly in a value, by the words that lead there in a name with dots."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [field.name for field in dataclasses.fields(value)]
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        fields = list(value._fields)
    elif isinstance(value, dict):
        yield from ((str(key), inner) for key, inner in value.items())
        return
    elif isinstance(value, (list, tuple)):
        yield from ((str(place), inner) for place, inner in enumerate(value))
        return
    else:
        return
    yield from ((name, getattr(value, name, None)) for name in fields if not name.startswith("_"))


def every_block(module: ModuleType) -> list[AnyBlock]:
    """All blocks among a module's names, private ones too."""
    private = [v for k, v in vars(module).items() if k.startswith("_") and isinstance(v, ar.Block)]
    return [*(named.block for named in blocks_of(module)), *private]


def attribute(module: ModuleType, name: str, file: Path) -> Any:
    """What a name of a module stands for, with dots for attributes, items and places in lists.

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
            if isinstance(value, Mapping):
                value = value[word]
            elif isinstance(value, (list, tuple)) and word.isdecimal():
                value = value[int(word)]
            else:
                value = getattr(value, word)
        except (AttributeError, LookupError):
            where = f"{file.name}:{'.'.join(done)}" if done else file.name
            raise ArrowValueError(f"{where} has no name {word}{_others(module, name)}") from None
        done.append(word)
    return value


def block_named(module: ModuleType, name: str, file: Path) -> NamedBlock:
    """The block that a name stands for, with dots as in `attribute`.

    Raises:
        ArrowValueError: there is none.

    >>> import types
    >>> block_named(types.ModuleType("model"), "tree", Path("model.py"))
    Traceback (most recent call last):
    ...
    arrows.typesys.errors.ArrowValueError: model.py has no name tree, and no blocks at all
    """
    for known in blocks_of(module):  # keys need not be words
        if name in (known.name, *known.also):
            return NamedBlock(name, known.block)
    value = attribute(module, name, file)
    block = _block(value)
    if block is not None:
        return NamedBlock(name, block)
    if isinstance(value, (Mapping, tuple, NotYetABlock)):
        with contextlib.suppress(ArrowTypeError):  # a dict or a tuple of something else than blocks
            return NamedBlock(name, _placed(as_block(value, f"the block {name}"), name, file))
    what = "a function" if isinstance(value, FunctionType) else f"of the type {type(value).__name__}"
    makes = isinstance(value, (FunctionType, type))
    hint = "; nothing is called here: give what it returns a name" if makes else ""
    raise ArrowValueError(f"{name} in {file.name} is no block, but {what}{hint}{_others(module, name)}")


def _placed(block: AnyBlock, name: str, file: Path) -> AnyBlock:
    """A block that was just made here for a name of the user's, moved to where that name is given."""
    site = SourceLine(str(file.absolute()), _line(name.partition(".")[0], file))
    todo = [block]
    while todo:
        made = todo.pop()
        if made.site.file == __file__:
            vars(made)["site"] = site
            todo.extend(made.parts)
    return block


def _line(name: str, file: Path) -> int:
    """The line where a file last gives a name, at its top level; 0 if that is not found."""
    found = 0
    for statement in ast.parse(file.read_bytes()).body:
        names: list[str | None] = []
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            names = [alias.asname or alias.name for alias in statement.names]
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names = [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
        if name in names:
            found = statement.lineno
    return found


def _others(module: ModuleType, name: str) -> str:
    names = [named.name for named in blocks_of(module)]
    if not names:
        return ", and no blocks at all"
    near = difflib.get_close_matches(name, names, 3)
    if near:
        return f"; did you mean {' or '.join(near)}?"
    return f"; its blocks are {', '.join(names[:10])}{', ...' if len(names) > 10 else ''}"
