"""The site: `make docs` builds it into build/docs."""

from __future__ import annotations

import builtins
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.inspect import signature, stringify_signature

import arrows as ar
from arrows import sklearn, torch
from arrows.drawing.svg import DARK, LIGHT

DOCS = Path(__file__).parent
STATIC = DOCS.parent / "build" / "static"

project, author, copyright = "arrows", "The arrows developers", "The arrows developers"
version = release = ar.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
nitpicky = True
default_role = "literal"

html_theme = "furo"
html_title = f"arrows {release}"
html_static_path = ["_static", str(STATIC)]
pygments_dark_style = "github-dark"
html_css_files = ["site.css", "drawings.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_copyright = False

myst_enable_extensions = ["attrs_inline", "colon_fence"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_merge_streams = True
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_numpy_docstring = False
napoleon_custom_sections = ["Parameters of the layer", ("Attributes", "params_style")]

for alias in ("types", "initializers"):  # rooms that live elsewhere
    sys.modules[f"arrows.{alias}"] = getattr(ar, alias)


def public(room: ModuleType, prefix: str = "") -> Iterator[str]:
    """What `import arrows as ar` makes reachable, by the names that users write after `ar.`."""
    for name in room.__all__:
        if isinstance(value := getattr(room, name), ModuleType):
            yield from public(value, f"{prefix}{name}.")
        elif name != "__version__":
            yield prefix + name


FRIENDS = [
    f"{room.__name__.removeprefix('arrows.')}.{name}" for room in (sklearn, torch) for name in room.__all__
]
PUBLIC = sorted([*public(ar), *FRIENDS], key=lambda name: -name.count("."))
# Names that are known without `ar.`: those of the first room, and classes.
SHORT = {name.rpartition(".")[2]: name for name in PUBLIC if re.match(r"\w+$|.*\.[A-Z]\w+$", name)}

# Classes whose objects a function or a method gives, and those of which users write subclasses: no signature.
NOT_MADE = {
    "Block", "Callback", "DocumentModel", "Epoch", "Evaluation", "Examination", "History", "LazyBatch",
    "LazyTensor", "Model", "Optimizer", "Prepared", "Progress", "Proposal", "Ragged", "RowSparse",
    "Sentiment", "StepLoss", "StreamingMetric", "Tagger", "TensorLike", "Type", "Wire",
}  # fmt: skip


# Pages that name much and explain little.
LISTS = {"benchmarks", "changelog", "contributing", "how-it-works", "index", "primitives", "results"}


def names_in(text: str) -> Iterator[str]:
    """The public names in a part of a page: after `ar.`, imported, and in short."""
    yield from re.findall(r"\bar\.((?:\w+\.)*\w+)", text)
    for room, names in re.findall(r"from arrows\.([\w.]+) import ([\w, ]+)", text):
        yield from (f"{room}.{name}" for name in re.split(", *", names))
    yield from (
        SHORT.get(name, "") for name in re.findall(r"(?<![\w.])(?:`(?=\w+[`(])|(?=[A-Z]\w+\())(\w+)", text)
    )


def uses() -> dict[str, list[str]]:
    """For each public name the sections of pages that write it most often, as links of reStructuredText."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in PUBLIC}
    for page in [*DOCS.glob("*.md"), *DOCS.glob("notebooks/*.md")]:
        title, where = "", f"../{page.relative_to(DOCS).with_suffix('.html')}"
        for section in re.split(r"^(?=#+ )", page.read_text(encoding="utf-8"), flags=re.MULTILINE):
            if page.stem in LISTS or not (heading := re.match(r"(#+) (.*)", section)):
                continue
            plain = heading[2].replace("`", "")
            title = title or plain
            link = f"`{title} <{where}>`__"
            if heading[1] != "#":
                link = f"`{title}: {plain} <{where}#{nodes.make_id(plain)}>`__"
            for name in counts.keys() & (found := Counter(names_in(section))).keys():
                counts[name][link] += found[name]
    return {name: [link for link, _ in sections.most_common(3)] for name, sections in counts.items()}


USES = uses()


def add_uses(app: Sphinx, what: str, name: str, value: object, options: Any, lines: list[str]) -> None:
    """Adds to a docstring the sections of the guide that use the name."""
    if links := USES.get(name.removeprefix("arrows.")):
        lines += ["", f"Used in {', '.join(links)}.", ""]


def show_signature(app: Sphinx, what: str, name: str, value: Any, *rest: Any) -> tuple[str, None] | None:
    """The arguments of a class are those of its `__init__`, whatever its metaclass does before."""
    if what != "class":
        return None
    if value.__name__ in NOT_MADE:
        return "", None
    if value.__init__ is object.__init__:
        return "()", None
    return stringify_signature(signature(value.__init__, bound_method=True), show_annotation=False), None


def address(app: Sphinx, page: str, name: str) -> str | None:
    """Where the reference describes a name, as seen from a page."""
    if entry := app.env.domains.python_domain.objects.get(f"arrows.{name}"):
        return f"{app.builder.get_relative_uri(page, entry.docname)}#{entry.node_id}"
    return None


def link_text(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Makes links of the public names in a text, such as `ar.Map` or `Map(f)`."""
    for code in list(doctree.findall(nodes.literal)):
        found = re.fullmatch(r"(ar\.|arrows\.)?([A-Za-z_][\w.]*)(\([^>]*\))?", code.astext())
        if not found:
            continue
        first, dot, rest = found[2].partition(".")
        name = found[2] if found[1] else SHORT.get(first, "") + dot + rest
        link = address(app, page, name)
        if page == "benchmarks" and "." not in code.astext():
            continue  # the name of a benchmark
        if link and not isinstance(code.parent, nodes.reference | nodes.title):
            code.replace_self(nodes.reference("", "", code.deepcopy(), internal=True, refuri=link))


def link_code(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Makes links of the public names in blocks of code, such as `ar.ops.tanh`."""
    dot = '<span class="o">.</span>'

    def linked(match: re.Match[str]) -> str:
        words = match[0].split(dot)
        for end in range(len(words), 1, -1):
            name = re.sub("<.*?>", "", ".".join(words[1:end]))
            if link := address(app, page, name):
                return dot.join([f'<a href="{link}">{dot.join(words[:end])}</a>', *words[end:]])
        return match[0]

    chain = f'<span class="n">ar</span>(?:{dot}<span class="n">\\w+</span>)+'
    context["body"] = re.sub(chain, linked, context.get("body", ""))


def inline_drawings(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Puts drawings into the page itself, where they follow its theme, and can be searched."""
    for image in list(doctree.findall(nodes.image)):
        if image["uri"].endswith(".svg"):
            drawing = (Path(app.srcdir) / image["uri"]).read_text(encoding="utf-8")
            image.replace_self(nodes.raw("", drawing, format="html"))


def link_root(app: Sphinx, page: str, source: list[str]) -> None:
    """Files above docs/ that are pages of the site too."""
    for name in ("CHANGELOG", "CONTRIBUTING"):
        source[0] = source[0].replace(f"](../{name}.md", f"]({name.lower()}.md")


def resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element
) -> nodes.Node | None:
    """A class of the package that an annotation names where it is defined, and Python's own."""
    name = node["reftarget"].rpartition(".")[2]
    if name in SHORT and (link := address(app, node["refdoc"], SHORT[name])):
        return nodes.reference("", "", content, internal=True, refuri=link)
    return content if hasattr(builtins, name) else None


def setup(app: Sphinx) -> None:
    """Drawings follow the theme that a reader chooses, as they follow that of the system by themselves."""
    STATIC.mkdir(parents=True, exist_ok=True)
    themes = f'body[data-theme="light"]{{{LIGHT}}}\nbody[data-theme="dark"]{{{DARK}}}\n'
    (STATIC / "drawings.css").write_text(themes, encoding="utf-8")
    app.connect("autodoc-process-docstring", add_uses, priority=900)
    app.connect("autodoc-process-signature", show_signature)
    app.connect("doctree-resolved", link_text)
    app.connect("doctree-resolved", inline_drawings)
    app.connect("html-page-context", link_code)
    app.connect("missing-reference", resolve)
    app.connect("source-read", link_root)
