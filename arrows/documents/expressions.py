"""Blocks as expressions in data: one value that is built, printed as Python, and kept as JSON.

A `Program` is a list of named expressions, whose last is the block.  `value` makes it, `source.py`
prints the program, and `as_json` and `of_json` keep it in a file; so these three cannot say different things.
Nothing is executed: an expression may use the names in `NAMES` and those before it, and no others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import arrows as ar
from arrows.data import Vocabulary
from arrows.documents import leaves
from arrows.typesys import ArrowTypeError, ArrowValueError, InputError
from arrows.typesys.quoting import quoted

Plain = str | int | float | bool | None

LEAVES = (
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

NAMES: Mapping[str, Any] = {
    **{name: getattr(leaves, name) for name in LEAVES},
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
    "ar.Mean": ar.Mean,
    "ar.OneOf": ar.OneOf,
    "ar.Optional": ar.Optional,
    "ar.RNN": ar.RNN,
    "ar.Scalar": ar.Scalar,
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
class Name:
    """A name: of `NAMES`, or of an earlier expression."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
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


Expression = Literal | Words | Name | Call | Chain | Table


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
class Program:
    """Named expressions, of which the last is the block."""

    statements: tuple[Statement, ...]

    def value(self) -> Any:
        """What the last statement names."""
        return _run(self.statements, {})[self.statements[-1].name]


def _run(statements: Sequence[Statement], outer: Mapping[str, Any]) -> dict[str, Any]:
    """What the names of statements mean, and those before them."""
    names = dict(outer)
    for statement in statements:
        if isinstance(statement, Assignment):
            names[statement.name] = _value(statement.value, names)
        else:
            names[statement.name] = ar.fix(_definition(statement, names))
    return names


def _definition(recursion: Recursion, names: Mapping[str, Any]) -> Callable[[Any], Any]:
    """The function that `ar.fix` calls, with the name that it takes."""

    def define(me: Any) -> Any:
        return _run(recursion.body, {**names, recursion.reference: me})[recursion.body[-1].name]

    define.__name__ = recursion.name
    return define


def _value(expression: Expression, names: Mapping[str, Any]) -> Any:
    match expression:
        case Literal(value):
            return list(value) if isinstance(value, tuple) else value
        case Words(words):
            return list(words)
        case Name(name):
            return _meaning(name, names)
        case Table(items):
            return {key: _value(item, names) for key, item in items}
        case Chain(blocks):
            first, *rest = (_value(block, names) for block in blocks)
            for block in rest:
                first = first >> block
            return first
        case Call(function, arguments, keywords):
            values = [_value(argument, names) for argument in arguments]
            return _meaning(function, names)(*values, **{key: _value(x, names) for key, x in keywords})


def _meaning(name: str, names: Mapping[str, Any]) -> Any:
    if name in names:
        return names[name]
    vocabulary = names.get(name.removesuffix(".block"))
    if isinstance(vocabulary, Vocabulary) and name.endswith(".block"):
        return vocabulary.block
    if name in NAMES:
        return NAMES[name]
    raise ArrowValueError(f"the name {quoted(name)} means nothing here")


def as_json(program: Program) -> list[Any]:
    """A program as plain JSON, which `of_json` reads.

    >>> program = Program((Assignment("block", Call("number", (Literal(3.0),))),))
    >>> as_json(program)
    [['block', {'call': 'number', 'arguments': [{'literal': 3.0}], 'keywords': {}}]]
    >>> of_json(as_json(program)) == program
    True
    """
    return [_statement_json(statement) for statement in program.statements]


def _statement_json(statement: Statement) -> list[Any]:
    if isinstance(statement, Assignment):
        return [statement.name, _expression_json(statement.value)]
    return [statement.name, statement.reference, [_statement_json(inner) for inner in statement.body]]


def _expression_json(expression: Expression) -> dict[str, Any]:
    match expression:
        case Literal(value):
            return {"literal": list(value) if isinstance(value, tuple) else value}
        case Words(words):
            return {"words": list(words)}
        case Name(name):
            return {"name": name}
        case Table(items):
            return {"table": {key: _expression_json(item) for key, item in items}}
        case Chain(blocks):
            return {"chain": [_expression_json(block) for block in blocks]}
        case Call(function, arguments, keywords):
            return {
                "call": function,
                "arguments": [_expression_json(argument) for argument in arguments],
                "keywords": {key: _expression_json(value) for key, value in keywords},
            }


def of_json(statements: object) -> Program:
    """Reads what `as_json` gave; comments are not in it.

    Raises:
        InputError: something else.
    """
    try:
        assert isinstance(statements, list) and statements
        return Program(tuple(_json_statement(statement) for statement in statements))
    except (AssertionError, TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        raise InputError("this is not the program of a block") from error


def _json_statement(statement: Any) -> Statement:
    if len(statement) == 2:
        name, value = statement
        return Assignment(_text(name), _json_expression(value))
    name, reference, body = statement
    return Recursion(_text(name), _text(reference), tuple(_json_statement(inner) for inner in body))


def _json_expression(value: Any) -> Expression:
    match value:
        case {"literal": list(numbers)}:
            return Literal(tuple(numbers))
        case {"literal": str() | int() | float() | None as literal}:
            return Literal(literal)
        case {"words": list(words)}:
            return Words(tuple(map(_text, words)))
        case {"name": str(name)}:
            return Name(name)
        case {"table": dict(items)}:
            return Table(tuple((key, _json_expression(item)) for key, item in items.items()))
        case {"chain": [_, *_] as blocks}:
            return Chain(tuple(map(_json_expression, blocks)))
        case {"call": str(function), "arguments": list(arguments), "keywords": dict(keywords)}:
            return Call(
                function,
                tuple(map(_json_expression, arguments)),
                tuple((key, _json_expression(item)) for key, item in keywords.items()),
            )
    raise TypeError(f"no expression: {value!r:.60}")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ArrowTypeError(f"expected a name, not {value!r:.60}")
    return value
