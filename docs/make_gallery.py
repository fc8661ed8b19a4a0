"""The gallery: each program of examples/ with its picture, what it reaches, how long it takes, and its lines.

`gallery()` is a web page's part, which docs/gallery.md shows.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import runpy
import sys
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

import arrows as ar
from arrows.drawing import draw, draw_timeline

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
code_lines: Callable[[Path], int] = runpy.run_path(str(ROOT / ".ci" / "sizes.py"))["code_lines"]
WORDS = ar.Vocabulary(["a", "b", "c"])
TREE = {"label": 3, "left": {"label": 2, "word": "a"}, "right": {"label": 3, "word": "b"}}
SENTENCE = [{"word": word, "tag": "NOUN", "head": head, "relation": "of"} for word, head in ("a0", "x1")]

# What to draw of an example that has no function `model`: a block, ...
BLOCKS: dict[str, Callable[[Any], Any]] = {
    "feed_forward_attention": lambda example: example.model(example.attention),
    "sentiment": lambda _: ar.models.sentiment(WORDS, size=150).learn,
    "tagger": lambda _: ar.models.tagger(WORDS, WORDS).learn,
    "tied_language_model": lambda example: example.language_model(3157, 64, tied=True),
    "weave": lambda example: example.molecule,
}
# ... or what a program on the fly computes of one example, to draw its longest run: results, or a generator.
PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "onthefly_tagger": lambda example, g: example.Tagger(WORDS, WORDS, characters=True)(g, SENTENCE),
    "onthefly_treelstm": lambda example, g: example.TreeLSTM(WORDS, size=150, embedding=300).loss(g, TREE),
    "spinn": lambda example, g: example.Spinn(5).read(g, [1, 2, 3]),
    "transition_parser": lambda example, g: parsed(example, g, example.Numbers([SENTENCE])),
    "translate": lambda example, g: example.Translator().greedy(g, ["one", "million"]),
}


def parsed(example: Any, g: Any, numbers: Any) -> Any:
    return example.Parser(numbers).parse(g, numbers.sentence(SENTENCE))


class Page(str):
    """HTML, which a notebook shows."""

    __slots__ = ()
    _repr_html_ = str.__str__


def gallery() -> Page:
    """All examples, those with a picture first, the short ones before the long ones."""
    cards = [card(path) for path in sorted((ROOT / "examples").glob("*.py"), key=code_lines)]
    return Page(f'<div class="gallery">{"".join(sorted(cards, key=lambda text: "<svg" not in text))}</div>')


def card(path: Path) -> str:
    """One example."""
    source = path.read_text(encoding="utf-8")
    title, _, text = (ast.get_docstring(ast.parse(source)) or "").partition("\n\n")
    code = highlight(source, PythonLexer(), HtmlFormatter(cssclass="highlight"))
    lines = f"<code>examples/{path.name}</code>, {code_lines(path)} lines of code"
    parts = [
        f"<h2>{escape(title.rstrip('.'))}</h2>",
        f'<div class="picture">{picture(path.stem, source)}</div>',
        re.sub("`(.+?)`", r"<code>\1</code>", f"<p>{escape(reaches(text))}</p>"),
        f"<details><summary>{lines}</summary>{code}</details>",
    ]
    return f"<section>{''.join(parts)}</section>"


def reaches(text: str) -> str:
    """What a docstring says below the last command: the sentences with figures."""
    _, _, said = text.rpartition("    python examples/")[2].partition("\n\n")
    sentences = re.split(r"(?<=[.]) (?=[A-Z])", " ".join(said.partition("\n\n")[0].split()))
    found = " ".join(each for each in sentences if re.search(r"\d", each))
    return found[:1].upper() + found[1:]


def picture(name: str, source: str) -> str:
    """An example as the library draws it; nothing where there is no block and no program."""
    if name not in BLOCKS and name not in PROGRAMS and "\ndef model(" not in source:
        return ""
    example = importlib.import_module(f"examples.{name}")
    if name in PROGRAMS:
        with ar.OnTheFly().batch(gradients=False) as g:
            computed = PROGRAMS[name](example, g)
            g.run_all([computed]) if inspect.isgenerator(computed) else g.numpy(computed)
            return draw_timeline(max(g.timelines, key=lambda run: len(run.steps)), "svg")
    return draw(ar.infer(BLOCKS[name](example) if name in BLOCKS else made_up(example.model)))


def made_up(model: Callable[..., Any]) -> Any:
    """The block that `model` makes, of small vocabularies and numbers where it wants some."""
    wanted = [each for each in inspect.signature(model).parameters.values() if each.default is each.empty]
    return model(*(WORDS if "Vocabulary" in str(each.annotation) else 10 for each in wanted))
