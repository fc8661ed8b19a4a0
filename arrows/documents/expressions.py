"""Blocks as expressions in data: one value that is built, printed as Python, and kept as JSON.

A `BlockProgram` is a list of named expressions, whose last is the block.  `block` makes it, `source.py`
prints the program, and `as_json` and `of_json` keep it in a file; so these three cannot say different things.
Nothing is executed: an expression may use the names in `NAMES` and those before it, and no others.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import arrows as ar
from arrows.combinators import AnyBlock, Block
from arrows.data import Vocabulary
from arrows.documents import scalars
from arrows.typesys import InputError
from arrows.typesys.quoting import quoted

Plain = str | int | float | bool | None

READERS = (
    "boolean",
    "category",
    "characters",
    "date",
    "entries",
    "hashed_characters",
    "hashed_words",
    "json_type",
    "log_length",
    "number",
    "numbers",
)
"""The names of this package's blocks and functions that expressions may use."""

NAMES: Mapping[str, object] = {
    **{name: getattr(scalars, name) for name in READERS},
    "ar.AllOf": ar.AllOf,
    "ar.Attention": ar.Attention,
    "ar.Concat": ar.Concat,
    "ar.Embedding": ar.Embedding,
    "ar.FC": ar.FC,
    "ar.GRUCell": ar.GRUCell,
    "ar.GetItem": ar.GetItem,
    "ar.Input": ar.Input,
    "ar.InputTransform": ar.InputTransform,
    "ar.Map": ar.Map,
    "ar.Max": ar.Max,
    "ar.Mean": ar.Mean,
    "ar.OneOf": ar.OneOf,
    "ar.Optional": ar.Optional,
    "ar.RNN": ar.RNN,
    "ar.Scalar": ar.Scalar,
    "ar.Sum": ar.Sum,
    "ar.Vocabulary": Vocabulary,
    "ar.Zeros": ar.Zeros,
    "ar.ops.tanh": ar.ops.tanh,
    "float": float,
    "len": len,
    "list": list,
}
"""What the names in expressions mean, those of earlier expressions apart."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A text, a number, a truth value or None; or a list of numbers."""

    value: Plain | tuple[int | float, ...]


@dataclass(frozen=True, slots=True)
class Words:
    """A list of texts."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NamedValue:
    """A name: of `NAMES`, or of an earlier expression."""

    name: str


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call.

    Attributes:
        function: its name; or the name of an earlier expression with `.block`.
        arguments: by position.
        keywords: by name.
        comments: before each argument by position, or empty.
    """

    function: str
    arguments: tuple[Expression, ...] = ()
    keywords: tuple[tuple[str, Expression], ...] = ()
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chain:
    """Blocks one after the other, `a >> b >> c`."""

    blocks: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A dict of expressions by text."""

    items: tuple[tuple[str, Expression], ...]


Expression = Literal | Words | NamedValue | FunctionCall | Chain | Table


@dataclass(frozen=True, slots=True)
class Assignment:
    """Gives an expression a name.

    Attributes:
        name: a Python name.
        value: the expression.
        comment: what is said about it.
    """

    name: str
    value: Expression
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Recursion:
    """A block that is defined by itself, `@ar.fix`.

    Attributes:
        name: a Python name.
        reference: the name that stands for the block within.
        body: expressions within; the last is the block.
        comment: what is said about it.
    """

    name: str
    reference: str
    body: tuple[Statement, ...]
    comment: str = ""


Statement = Assignment | Recursion


@dataclass(frozen=True, slots=True)
class BlockProgram:
    """Named expressions, of which the last is the block."""

    statements: tuple[Statement, ...]

    def block(self) -> AnyBlock:
        """The block that the last statement names.

        Raises:
            InputError: the program names no block; it uses what `NAMES` lack, or calls it as it cannot be
                called.
        """
        try:
            return _block(_run(self.statements, {})[self.statements[-1].name])
        except InputError:
            raise
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise InputError(f"this is not the program of a block: {error}") from error


def _run(statements: Sequence[Statement], outer: Mapping[str, object]) -> dict[str, object]:
    """What the names of statements mean, and those before them."""
    names = dict(outer)
    for statement in statements:
        if isinstance(statement, Assignment):
            names[statement.name] = _value(statement.value, names)
        else:
            names[statement.name] = ar.fix(_definition(statement, names))
    return names


def _definition(recursion: Recursion, names: Mapping[str, object]) -> Callable[[AnyBlock], AnyBlock]:
    """The function that `ar.fix` calls, with the name that it takes."""

    def define(me: AnyBlock) -> AnyBlock:
        return _block(_run(recursion.body, {**names, recursion.reference: me})[recursion.body[-1].name])

    define.__name__ = recursion.name
    return define


def _value(expression: Expression, names: Mapping[str, object]) -> object:
    match expression:
        case Literal(value):
            return list(value) if isinstance(value, tuple) else value
        case Words(words):
            return list(words)
        case NamedValue(name):
            return _meaning(name, names)
        case Table(items):
            return {key: _value(item, names) for key, item in items}
        case Chain(blocks):
            return functools.reduce(operator.rshift, (_block(_value(block, names)) for block in blocks))
        case FunctionCall(function, arguments, keywords):
            meaning = _meaning(function, names)
            if not callable(meaning):
                raise InputError(f"this is not the program of a block: {quoted(function)} is no function")
            values = [_value(argument, names) for argument in arguments]
            result: object = meaning(*values, **{key: _value(x, names) for key, x in keywords})
            return result


def _block(value: object) -> AnyBlock:
    if not isinstance(value, Block):
        kind = type(value).__name__
        raise InputError(
            f"this is not the program of a block: expected a block, got an object of type {kind}"
        )
    return value


def _meaning(name: str, names: Mapping[str, object]) -> object:
    if name in names:
        return names[name]
    vocabulary = names.get(name.removesuffix(".block"))
    if isinstance(vocabulary, Vocabulary) and name.endswith(".block"):
        return vocabulary.block
    if name in NAMES:
        return NAMES[name]
    raise InputError(f"this is not the program of a block: the name {quoted(name)} means nothing here")


def as_json(program: BlockProgram) -> list[object]:
    """A program as plain JSON, which `of_json` reads.

    >>> program = BlockProgram((Assignment("block", FunctionCall("number", (Literal(3.0),))),))
    >>> as_json(program)
    [['block', {'call': 'number', 'arguments': [{'literal': 3.0}], 'keywords': {}}]]
    >>> of_json(as_json(program)) == program
    True
    """
    return [_statement_json(statement) for statement in program.statements]


def _statement_json(statement: Statement) -> list[object]:
    if isinstance(statement, Assignment):
        return [statement.name, _expression_json(statement.value)]
    return [statement.name, statement.reference, [_statement_json(inner) for inner in statement.body]]


def _expression_json(expression: Expression) -> dict[str, object]:
    match expression:
        case Literal(value):
            return {"literal": list(value) if isinstance(value, tuple) else value}
        case Words(words):
            return {"words": list(words)}
        case NamedValue(name):
            return {"name": name}
        case Table(items):
            return {"table": {key: _expression_json(item) for key, item in items}}
        case Chain(blocks):
            return {"chain": [_expression_json(block) for block in blocks]}
        case FunctionCall(function, arguments, keywords):
            return {
                "call": function,
                "arguments": [_expression_json(argument) for argument in arguments],
                "keywords": {key: _expression_json(value) for key, value in keywords},
            }


def of_json(statements: object) -> BlockProgram:
    """Reads what `as_json` gave; comments are not in it.

    Raises:
        InputError: something else.
    """
    if not isinstance(statements, list) or not statements:
        raise InputError("this is not the program of a block: expected a list of statements")
    try:
        return BlockProgram(tuple(map(_json_statement, statements)))
    except RecursionError as error:
        raise InputError("this is not the program of a block: it is nested too deeply") from error


def _json_statement(statement: object) -> Statement:
    match statement:
        case [str(name), value]:
            return Assignment(name, _json_expression(value))
        case [str(name), str(reference), [_, *_] as body]:
            return Recursion(name, reference, tuple(map(_json_statement, body)))
    raise InputError(f"this is not the program of a block: expected a statement, got {statement!r:.60}")


def _json_expression(value: object) -> Expression:
    match value:
        case {"literal": list(numbers)}:
            return Literal(tuple(numbers))
        case {"literal": str() | int() | float() | None as literal}:
            return Literal(literal)
        case {"words": list(words)}:
            return Words(tuple(map(_text, words)))
        case {"name": str(name)}:
            return NamedValue(name)
        case {"table": dict(items)}:
            return Table(tuple((key, _json_expression(item)) for key, item in items.items()))
        case {"chain": [_, *_] as blocks}:
            return Chain(tuple(map(_json_expression, blocks)))
        case {"call": str(function), "arguments": list(arguments), "keywords": dict(keywords)}:
            return FunctionCall(
                function,
                tuple(map(_json_expression, arguments)),
                tuple((key, _json_expression(item)) for key, item in keywords.items()),
            )
    raise InputError(f"this is not the program of a block: expected an expression, got {value!r:.60}")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise InputError(f"this is not the program of a block: expected a text, got {value!r:.60}")
    return value
