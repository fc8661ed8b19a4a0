"""`infer_block`: proposes a block for example documents."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from arrows.combinators import AnyBlock
from arrows.documents.build import LEFT_OUT, build, read_as
from arrows.documents.decide import decide
from arrows.documents.schema import ROOT, Schema
from arrows.engine.scheduling import as_stream
from arrows.typesys import ArrowTypeError, ArrowValueError, InputError, counted, printable, quoted, shortened


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A block for documents, as `infer_block` proposes it.

    Printed, it is a table of what was decided on each path, and why.

    Attributes:
        block: from a document to a vector, float32[width].
        decisions: by path, how it is read and why, as plain JSON to keep, to read and to edit;
            `build_block` makes the block of it.
        source: the same block as the text of a Python module, whose last name it is.

    >>> proposal = infer_block([{"age": 3}, {"age": None}])
    >>> proposal.block.eval({"age": 3}).shape
    (32,)
    >>> proposal.decisions["age"]
    {'kind': 'number', 'because': '1 number from 3 to 3; 1 null', 'mean': 3.0, 'std': 1.0, 'null': True}
    >>> print(proposal)
    path  read as  because the examples have
    $     object   2 objects of 1 field
    age   number   1 number from 3 to 3; 1 null
    """

    block: AnyBlock
    decisions: dict[str, dict[str, Any]]
    source: str

    def table(self) -> list[tuple[str, str, str]]:
        """Each path, how it is read, and what the examples have there; `$` is the document itself.

        >>> infer_block([{"age": 3}]).table()
        [('$', 'object', '1 object of 1 field'), ('age', 'number', '1 number from 3 to 3')]
        """
        return [(path, read_as(row), row["because"]) for path, row in self.decisions.items()]

    def __str__(self) -> str:
        rows = [("path", "read as", "because the examples have"), *self.table()]
        shown = [(printable(shortened(path, 60)), kind, printable(because)) for path, kind, because in rows]
        first, second = (max(len(row[column]) for row in shown) for column in (0, 1))
        return "\n".join(f"{path:{first}}  {kind:{second}}  {because}" for path, kind, because in shown)


def infer_block(
    examples: Iterable[object],
    *,
    width: int = 32,
    wide: bool = False,
    ignore: Collection[str] = (),
    kinds: Mapping[str, str] | None = None,
    depth: int = 12,
) -> Proposal:
    """Proposes a block for JSON documents: from a document to a vector.

    It is made of records for objects, embeddings for categories, hashed n-grams for free text, standardised
    numbers, dates, pooling for arrays, choices where values are of several types, and recursion where
    objects or arrays lie within others of their kind.  A field that is missing or null gives zeros, an
    unknown category has a vector of its own, and other fields are ignored.

    Args:
        examples: documents of the kind that the block is to read, as `json.loads` gives them, or a table of
            pandas, Polars or PyArrow, whose rows are documents.
        width: length of the vectors within the block and of its result.
        wide: for a layer that predicts from the result: it has the vectors of the document's fields, too, so
            that what is linear in them need not go through a layer of `width` (Cheng et al., "Wide & Deep
            Learning for Recommender Systems", DLRS 2016).
        ignore: paths of fields to leave out, such as `["id", "author.email"]`.
        kinds: how to read a path if not as would be decided.  A text may be a "category", "text" (n-grams of
            words or characters, whichever suits), "words", "ngrams" (of characters), a "date" or a "number";
            a number a "number" or a "category"; an array "pooled" (sum, mean and largest of its elements),
            "attention", "mean", "sequence" (one element after the other), or a "vector"; an object whose keys
            are data a "map".
        depth: how many objects and arrays within one another are read; recursion may go deeper.

    Raises:
        ArrowTypeError, ArrowValueError: an argument of the wrong kind; a path in `ignore` or `kinds` that the
            examples do not have, or a kind that does not fit.
        InputError: no examples, nothing in them to read, a value that JSON does not have, or objects whose
            keys are data; it names the path and, if it is about one example, which, by file and line if the
            examples know these.

    >>> proposal = infer_block([{"name": "Ann", "tags": ["a", "b"]}, {"name": "Bob", "tags": []}])
    >>> print(proposal)
    path    read as        because the examples have
    $       object         2 objects of 2 fields
    name    category       2 different in 2
    tags    array, pooled  2 arrays of 0 to 2 elements
    tags[]  category       2 different in 2
    >>> import arrows as ar
    >>> model = ar.compile(proposal.block)
    >>> model([{"name": "Eve"}, {"tags": ["a", "z"], "age": 3}]).shape
    (2, 32)
    """
    if isinstance(examples, (str, bytes, Mapping)) or not isinstance(examples, Iterable):
        kind = type(examples).__name__
        raise ArrowTypeError(f"infer_block: examples should be a list of documents, not {kind}")
    documents = list(as_stream(examples, "infer a block"))
    if not documents:
        raise InputError("infer_block: there are no examples to read")
    for name, value in (("width", width), ("depth", depth)):
        if type(value) is not int or value < 1:
            raise ArrowValueError(f"infer_block: {name} should be a whole number from 1, not {value!r}")
    schema = Schema(depth=depth, ignored=frozenset(ignore), kinds=kinds or {})
    try:
        schema.read(documents)
    except InputError as error:
        raise _with_place(error, schema, documents, getattr(examples, "places", None)) from None
    paths = [node.path for node in schema.nodes.values() if node.depth <= depth]
    for argument, wanted in (("ignore", ignore), ("kinds", schema.kinds)):
        for path in wanted:
            if path not in paths:
                near = difflib.get_close_matches(path, paths, n=3) or [*paths][:10]
                raise ArrowValueError(
                    f"infer_block: {argument} names the path {quoted(path)}, which the examples do not have; "
                    f"they have {shortened(', '.join(near), 300)}"
                )
    decisions = decide(schema)
    if decisions[ROOT]["kind"] == LEFT_OUT:
        why = decisions[ROOT]["because"]
        raise InputError(f"infer_block: nothing can be read in {len(documents):,} examples: {why}")
    decisions[ROOT] |= {"width": width, "wide": True} if wide else {"width": width}
    count = counted(len(documents), "example")
    gives = f"float32[{width}]{' and the vectors of their fields' * wide}"
    title = f"A block that reads documents like {count}, and gives {gives}."
    block, source = build(decisions, title)
    return Proposal(block=block, decisions=decisions, source=source)


def build_block(decisions: Mapping[str, Mapping[str, Any]]) -> AnyBlock:
    """The block of decisions that `infer_block` made, in another process, say, or after a change by hand.

    Args:
        decisions: `Proposal.decisions`, plain JSON.  By path, each has a kind and what this kind wants to
            know: the mean of numbers, the words of a category, the fields of an object.  A path without a
            decision is left out.  Nothing is executed but what they can say: blocks and vocabularies of this
            package.

    Raises:
        InputError: something else; the message names the path.

    >>> decisions = infer_block([{"age": 3, "tags": ["a"]}]).decisions
    >>> decisions["tags"]["pooling"] = "mean"
    >>> build_block(decisions).eval({"age": 4}).shape
    (32,)
    """
    return build(decisions)[0]


def _with_place(error: InputError, schema: Schema, documents: list[object], places: object) -> InputError:
    """The error with the example that it is about, or as it is if it is about all of them."""
    for number, document in enumerate(documents):
        try:
            schema.read([document])
        except InputError as own:
            place = places[number] if isinstance(places, list) else f"example {number}"
            return InputError(f"{place}: {own}")
    return error
