"""`infer_block`: proposes a block for sample documents."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from arrows.combinators import AnyBlock
from arrows.data import Vocabulary
from arrows.documents.blocks import program_of
from arrows.documents.decisions import KINDS, Decider
from arrows.documents.expressions import Assignment, BlockProgram, FunctionCall, Words, as_json, of_json
from arrows.documents.plans import LeftOutPlan, MixedPlan, PathPlan, parts
from arrows.documents.schema import SchemaReader, paths_of
from arrows.documents.source import source_of
from arrows.typesys import ArrowTypeError, ArrowValueError, InputError
from arrows.typesys.quoting import printable, quoted, shortened


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided for a path of the documents.

    Attributes:
        path: such as `author.name` or `tags[]`; `$` is the document itself.
        read_as: how the values there are read: "number", "date", "array, pooled", "left out" and so on.
        reason: what the samples have there.

    >>> infer_block([{"age": 3}]).decisions[1]
    Decision(path='age', read_as='number', reason='1 number from 3 to 3')
    """

    path: str
    read_as: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A block for documents, as `infer_block` proposes it.

    Printed, it says what was decided on each path, and why.

    Attributes:
        block: from a document to a vector, float32[width].
        source: the same block as the text of a Python module, whose last name it is.
        vocabularies: by the name that they have in the source.
        decisions: for each path.
        program: the same block as plain JSON, for `build_block`.

    >>> proposal = infer_block([{"age": 3}])
    >>> proposal.block.eval({"age": 3}).shape
    (32,)
    """

    block: AnyBlock
    source: str
    vocabularies: Mapping[str, Vocabulary]
    decisions: tuple[Decision, ...]
    program: list[object]

    def report(self) -> str:
        """What was decided on each path, and why: a line for each.

        >>> print(infer_block([{"age": 3}, {"age": None}]).report())
        path  read as  because the samples have
        $     object   2 objects of 1 field
        age   number   1 number from 3 to 3; 1 null
        """
        rows = [("path", "read as", "because the samples have")]
        rows += [
            (printable(shortened(item.path, 60)), item.read_as, printable(item.reason))
            for item in self.decisions
        ]
        first, second = (max(len(row[column]) for row in rows) for column in (0, 1))
        return "\n".join(f"{path:{first}}  {kind:{second}}  {reason}" for path, kind, reason in rows)

    def __str__(self) -> str:
        return self.report()


def infer_block(
    samples: Iterable[object],
    *,
    width: int = 32,
    ignore: Collection[str] = (),
    kinds: Mapping[str, str] | None = None,
    depth: int = 12,
) -> Proposal:
    """Proposes a block for JSON documents: from a document to a vector.

    It is made of records for objects, embeddings for categories, hashed n-grams for free text, standardised
    numbers, dates, pooling for arrays, choices where values are of several types, and recursion where
    objects or arrays lie within others of their kind.  A field that is missing or null gives zeros, an
    unknown category has a vector of its own, and other fields are passed over.

    Args:
        samples: documents of the kind that the block is to read, as `json.loads` gives them.
        width: length of the vectors within the block and of its result.
        ignore: paths of fields to leave out, such as `["id", "author.email"]`.
        kinds: how to read a path if not as would be decided.  A text may be a "category", "text" (n-grams of
            words or characters, whichever suits), "words", "characters" (one after the other), a "date" or a
            "number"; a number a "number" or a "category"; an array "pooled" (sum, mean and largest of its
            elements), "attention", "mean", "sequence" (one element after the other), or a "vector"; an object
            whose keys are data a "map".
        depth: how many objects and arrays within one another are read; recursion may go deeper.

    Raises:
        ArrowTypeError, ArrowValueError: an argument of the wrong kind; a path in `ignore` or `kinds` that the
            samples do not have, or a kind that does not fit.
        InputError: no samples, nothing in them to read, a value that JSON does not have, or objects whose
            keys are data; it names the path and, if it is about one sample, which, by file and line if the
            samples know these.

    >>> proposal = infer_block([{"name": "Ann", "tags": ["a", "b"]}, {"name": "Bob", "tags": []}])
    >>> print(proposal)
    path    read as        because the samples have
    $       object         2 objects of 2 fields
    name    category       2 different in 2
    tags    array, pooled  2 arrays of 0 to 2 elements
    tags[]  category       2 different in 2
    >>> import arrows as ar
    >>> model = ar.compile(proposal.block)
    >>> model([{"name": "Eve"}, {"tags": ["a", "z"], "age": 3}]).shape
    (2, 32)
    """
    documents = _documents(samples)
    if isinstance(width, bool) or not isinstance(width, int) or width < 1:
        raise ArrowValueError(f"infer_block: width should be a whole number from 1, not {width!r}")
    if isinstance(depth, bool) or not isinstance(depth, int) or depth < 1:
        raise ArrowValueError(f"infer_block: depth should be a whole number from 1, not {depth!r}")
    kinds = _kinds(kinds or {})
    if isinstance(ignore, str):
        raise ArrowTypeError(f"infer_block: ignore should be a list of paths, such as [{ignore!r}]")
    keyed = frozenset(path for path, kind in kinds.items() if kind == "map")
    reader = SchemaReader(depth=depth, ignored=frozenset(ignore), keyed=keyed)
    try:
        schema = reader.read(documents)
    except InputError as error:
        raise _with_place(error, reader, documents, getattr(samples, "places", None)) from None
    paths = dict.fromkeys(paths_of(schema))
    for argument, wanted in (("ignore", ignore), ("kinds", kinds)):
        for path in wanted:
            if path not in paths:
                raise ArrowValueError(
                    f"infer_block: {argument} names the path {quoted(path)}, {_near(path, paths)}"
                )
    plan = Decider(kinds=kinds).plan(schema)
    if isinstance(plan, LeftOutPlan):
        raise InputError(f"infer_block: nothing can be read in {len(documents):,} samples: {plan.reason}")
    program = program_of(plan, width)
    count = f"{len(documents):,} sample{'' if len(documents) == 1 else 's'}"
    title = f"A block that reads documents like {count}, and gives float32[{width}]."
    return Proposal(
        block=program.block(),
        source=source_of(program, title),
        vocabularies=_vocabularies(program),
        decisions=tuple(_decisions(plan, plan.path)),
        program=as_json(program),
    )


def build_block(program: list[object]) -> AnyBlock:
    """The block of `Proposal.program`, in another process, say.

    Nothing is executed but what such programs may hold: blocks and vocabularies of this package.

    Raises:
        InputError: something else than such a program.

    >>> build_block(infer_block([3.5, 4.5]).program).eval(4).shape
    (32,)
    """
    return of_json(program).block()


def _documents(samples: Iterable[object]) -> list[object]:
    if isinstance(samples, (str, bytes, Mapping)) or not isinstance(samples, Iterable):
        raise ArrowTypeError(
            f"infer_block: samples should be a list of documents, not {type(samples).__name__}; one document "
            "goes into a list: [document]"
        )
    documents = list(samples)
    if not documents:
        raise InputError("infer_block: there are no samples to read")
    return documents


def _with_place(
    error: InputError, reader: SchemaReader, documents: list[object], places: object
) -> InputError:
    """The error with the sample that it is about, or as it is if it is about all of them."""
    for number, document in enumerate(documents):
        try:
            reader.read([document])
        except InputError as own:
            has_place = isinstance(places, list) and number < len(places)
            place = places[number] if isinstance(places, list) and has_place else f"sample {number}"
            return InputError(f"{place}: {own}")
    return error


def _kinds(kinds: Mapping[str, str]) -> Mapping[str, str]:
    there = sorted({kind for names in KINDS.values() for kind in names})
    for path, kind in kinds.items():
        if kind not in there:
            raise ArrowValueError(
                f"infer_block: kinds says {kind!r} for {quoted(path)}; there are {', '.join(there)}"
            )
    return kinds


def _near(path: str, paths: Collection[str]) -> str:
    near = difflib.get_close_matches(path, paths, n=3) or [*paths][:10]
    return f"which the samples do not have; they have {shortened(', '.join(near), 300)}"


def _vocabularies(program: BlockProgram) -> dict[str, Vocabulary]:
    vocabularies = {}
    for statement in program.statements:
        match statement:
            case Assignment(name, FunctionCall("ar.Vocabulary", (Words(words),))):
                vocabularies[name] = Vocabulary(words)
    return vocabularies


def _decisions(plan: PathPlan, path: str) -> Iterator[Decision]:
    """The decisions of a plan and of all below."""
    yield Decision(path, plan.read_as, plan.reason)
    for name, part in plan.cases.items() if isinstance(plan, MixedPlan) else ():
        yield from _decisions(part, f"{path} ({name})")
    for part in () if isinstance(plan, MixedPlan) else parts(plan):
        yield from _decisions(part, part.path)
