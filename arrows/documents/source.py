"""Prints a program of blocks as Python, laid out as the formatter of ruff lays it out."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterator, Sequence

from arrows.documents.expressions import (
    READERS,
    Assignment,
    BlockProgram,
    Chain,
    Expression,
    FunctionCall,
    Literal,
    NamedValue,
    Statement,
    Table,
    Words,
)
from arrows.typesys.quoting import printable

WIDTH = 88  # ruff's own default
_STEP = "    "


def source_of(program: BlockProgram, title: str) -> str:
    """The text of a Python module whose last name is the block.

    Args:
        program: what it says.
        title: the module's docstring.

    >>> from arrows.documents.expressions import Assignment, BlockProgram, FunctionCall, Literal
    >>> block = Assignment("block", FunctionCall("number", (Literal(3.0),)), "How old she is.")
    >>> print(source_of(BlockProgram((block,)), "Reads a number."), end="")
    \"\"\"Reads a number.\"\"\"
    <BLANKLINE>
    from arrows.documents import number
    <BLANKLINE>
    # How old she is.
    block = number(3.0)
    """
    used = {name for statement in program.statements for name in _names(statement)}
    imports = ["import arrows as ar"] if any(name.startswith("ar.") for name in used) else []
    readers = sorted(used.intersection(READERS))
    if readers:
        line = f"from arrows.documents import {', '.join(readers)}"
        lines = ["from arrows.documents import (", *(f"{_STEP}{name}," for name in readers), ")"]
        imports += [line] if _fits(line) else lines
    lines = [f'"""{title}"""', "", *imports, *_block(program.statements, "", "")]
    return "\n".join(lines) + "\n"


def text_literal(text: str) -> str:
    r"""A text in Python, in double quotes unless single ones need fewer escapes.

    >>> print(text_literal("it's"), text_literal('"'), text_literal("a\n"))
    "it's" '"' "a\n"
    """
    # With a double quote in it, `repr` takes single quotes: those inside are then the only escapes to undo.
    escaped = re.sub(r"\\(.)", lambda match: "'" if match[1] == "'" else match[0], repr('"' + text)[2:-1])
    quote = "'" if text.count('"') > text.count("'") else '"'
    return quote + escaped.replace(quote, f"\\{quote}") + quote


def _block(statements: Sequence[Statement], indent: str, last: str) -> Iterator[str]:
    """The lines of statements, each after an empty one; `last` begins the last one instead of its name."""
    for number, statement in enumerate(statements):
        begin = f"{statement.name} = "
        if last and statement is statements[-1]:
            begin = last
        after_recursion = number > 0 and not isinstance(statements[number - 1], Assignment)
        if isinstance(statement, Assignment):
            apart = number == 0 or after_recursion or begin == last or statement.comment
            if apart and (number or not last):
                yield ""
            yield from _comment(statement.comment, indent)
            yield from _assigned(statement.value, indent, begin)
        else:
            # At the top two empty lines stand around a definition: one of them follows the one before.
            if not indent:
                yield from ["", ""][after_recursion:]
            elif number:
                yield ""
            yield from _comment(statement.comment, indent)
            yield f"{indent}@ar.fix"
            yield f"{indent}def {statement.name}({statement.reference}):"
            yield from _block(statement.body, indent + _STEP, "return ")
            if not indent and statement is not statements[-1]:
                yield ""


def _names(statement: Statement) -> Iterator[str]:
    """The names that a statement uses."""
    if not isinstance(statement, Assignment):
        yield "ar.fix"
        for inner in statement.body:
            yield from _names(inner)
        return
    waiting: list[Expression] = [statement.value]
    while waiting:
        expression = waiting.pop()
        match expression:
            case NamedValue(name):
                yield name
            case Table(items):
                waiting += [item for _, item in items]
            case Chain(blocks):
                waiting += blocks
            case FunctionCall(function, arguments, keywords):
                yield function
                waiting += [*arguments, *(value for _, value in keywords)]


def _comment(text: str, indent: str) -> list[str]:
    lines = textwrap.wrap(printable(text), WIDTH - len(indent) - 2, break_long_words=True)
    return [f"{indent}# {line}" for line in lines]


def _assigned(expression: Expression, indent: str, begin: str) -> list[str]:
    """The lines of an assignment or a return: a chain that is too long goes into parentheses."""
    line = f"{indent}{begin}{_flat(expression)}"
    if not isinstance(expression, Chain) or (_fits(line) and not _has_comments(expression)):
        return _laid(expression, indent, begin, "")
    first, *_, final = expression.blocks
    if len(expression.blocks) == 2 and isinstance(final, FunctionCall) and not _has_comments(expression):
        # A single operator before a call takes no parentheses: those of the calls are enough.
        before = f"{begin}{_flat(first)} >> "
        if _fits(f"{indent}{before}{final.function}("):
            return _laid(final, indent, before, "")
        if isinstance(first, FunctionCall) and first.arguments:
            opening = f"{indent}{begin}{first.function}("
            inside = _flat(first).removeprefix(f"{first.function}(").removesuffix(")")
            return [opening, f"{indent}{_STEP}{inside}", *_laid(final, indent, ") >> ", "")]
    inner = f"{indent}{_STEP}{_flat(expression)}"
    whole = _fits(inner) and not _has_comments(expression)
    lines = [inner] if whole else _laid(expression, indent + _STEP, "", "")
    return [f"{indent}{begin}(", *lines, f"{indent})"]


def _laid(expression: Expression, indent: str, begin: str, end: str) -> list[str]:
    """The lines of an expression; `begin` stands before it on its first line, `end` behind it on the last."""
    line = f"{indent}{begin}{_flat(expression)}{end}"
    if _fits(line) and not _has_comments(expression):
        return [line]
    inner = indent + _STEP
    match expression:
        case Chain(blocks):
            lines = _laid(blocks[0], indent, begin, "")
            for block in blocks[1:-1]:
                lines += _laid(block, indent, ">> ", "")
            return lines + _laid(blocks[-1], indent, ">> ", end)
        case FunctionCall(function, arguments, keywords):
            pieces = [("", argument) for argument in arguments] + [(f"{key}=", x) for key, x in keywords]
            together = inner + ", ".join(key + _flat(value) for key, value in pieces)
            opening, closing = f"{indent}{begin}{function}(", f"{indent}){end}"
            if not pieces:
                return [opening + f"){end}"]
            if _fits(together) and not _has_comments(expression):
                return [opening, together, closing]
            comments = [*expression.comments, *[""] * (len(pieces) - len(expression.comments))]
            # The formatter puts no comma behind an only argument that stands on lines of its own.
            comma = "," if len(pieces) > 1 or not isinstance(pieces[0][1], Words) else ""
            lines = [
                line
                for comment, (key, value) in zip(comments, pieces, strict=True)
                for line in [*_comment(comment, inner), *_laid(value, inner, key, comma)]
            ]
            return [opening, *lines, closing]
        case Words(words) if _can_be_split(words):
            return [f'{indent}{begin}"""', *_filled(words, indent), f'{indent}""".split(){end}']
        case Words(words):
            return _listed([text_literal(word) for word in words], indent, begin, end, "[]")
        case Literal(tuple() as values):
            return _listed([*map(_number, values)], indent, begin, end, "[]")
        case Table(items):
            fields = [
                line for key, value in items for line in _laid(value, inner, f"{text_literal(key)}: ", ",")
            ]
            return [f"{indent}{begin}{{", *fields, f"{indent}}}{end}"]
    return [line]


def _flat(expression: Expression) -> str:
    """An expression on one line."""
    match expression:
        case Literal(value):
            if isinstance(value, tuple):
                return f"[{', '.join(map(_number, value))}]"
            return text_literal(value) if isinstance(value, str) else _number(value)
        case Words(words):
            return f"[{', '.join(map(text_literal, words))}]"
        case NamedValue(name):
            return name
        case Table(items):
            return "{" + ", ".join(f"{text_literal(key)}: {_flat(item)}" for key, item in items) + "}"
        case Chain(blocks):
            return " >> ".join(map(_flat, blocks))
        case FunctionCall(function, arguments, keywords):
            pieces = [*map(_flat, arguments), *(f"{key}={_flat(value)}" for key, value in keywords)]
            return f"{function}({', '.join(pieces)})"


def _number(value: float | bool | None) -> str:
    """A number as the formatter writes it: 1e16, not 1e+16."""
    return repr(value).replace("e+", "e")


def _has_comments(expression: Expression) -> bool:
    match expression:
        case FunctionCall(_, arguments, keywords, comments):
            values = [*arguments, *(value for _, value in keywords)]
            return any(comments) or any(map(_has_comments, values))
        case Chain(blocks):
            return any(map(_has_comments, blocks))
        case Table(items):
            return any(_has_comments(item) for _, item in items)
    return False


def _listed(items: Sequence[str], indent: str, begin: str, end: str, brackets: str) -> list[str]:
    lines = [f"{indent}{_STEP}{item}," for item in items]
    return [f"{indent}{begin}{brackets[0]}", *lines, f"{indent}{brackets[1]}{end}"]


def _can_be_split(words: Sequence[str]) -> bool:
    """Whether words can stand in one text, from which `split` takes them out again."""
    text = " ".join(words)
    return text.split() == [*words] and text.isprintable() and "\\" not in text and '"""' not in text


def _filled(words: Sequence[str], indent: str) -> list[str]:
    lines, line = [], indent
    for word in words:
        if line.strip() and _width(f"{line} {word}") > WIDTH:
            lines.append(line)
            line = indent
        line += f" {word}" if line.strip() else word
    return [*lines, line]


def _fits(line: str) -> bool:
    return _width(line) <= WIDTH


def _width(text: str) -> int:
    """The columns that a text takes up."""
    if text.isascii():
        return len(text)
    narrow = sum(unicodedata.category(letter) in {"Mn", "Me", "Cf"} for letter in text)
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) - narrow + wide
