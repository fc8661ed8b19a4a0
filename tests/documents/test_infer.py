"""Blocks that `infer_block` proposes read their examples and others like them; the source says the same."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import math

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

import arrows as ar
from arrows.documents import build_block
from tests.profile import draws

LARGEST = 1.7976931348623157e308
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
    | st.sampled_from(["a", "b", "2024-05-31", "some free text", "it's", '"quoted"\n', "<unknown>", "名前"])
    | st.sampled_from([LARGEST, 5e-324, "nan", "١٢", "\ud800", '"""\\', "0001-01-01"])
)
KEYS = (
    st.sampled_from(["a", "b", "kids", "A b", "me", "for", "", "名", "document", "a_vocabulary", 'x"y'])
    | st.sampled_from(
        ["a.b", '"""', "\\", "\n", "\ud800", "\u202e", "$", "['a']", "__class__", "len", "x" * 99]
    )
    | st.text(max_size=3)
)
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=10,
)


def block_of_source(source):
    names = {}
    exec(compile(source, "proposal.py", "exec"), names)  # what a user would run
    return names["document"]


WRAPPERS = {
    "[x]": lambda x: [x],
    "[x, 1]": lambda x: [x, 1],
    "[x, x]": lambda x: [x, x],
    "n": lambda x: {"n": x},
    "n, m": lambda x: {"n": x, "m": 1},
    "a, n": lambda x: {"a": x, "n": 2},
}


@st.composite
def nested(draw):
    """A value within arrays and objects within one another, which repeat in one way or several."""
    value = draw(st.sampled_from([1, "a", None, True]))
    for kind in draw(st.lists(st.sampled_from([*WRAPPERS]), max_size=14)):
        value = WRAPPERS[kind](value)
    return value


@settings(max_examples=100, deadline=None)
@given(st.lists(nested(), min_size=1, max_size=4), st.sampled_from([2, 3, 4, 12]))
@example([{"n": [{"n": [[[{"n": 1}]]]}]}], 12)  # an object within arrays that repeat within objects that do
def test_any_recursions_give_a_block_that_reads_them(examples, depth):
    with contextlib.suppress(ar.InputError):  # there is nothing in these, or it lies too deep
        proposal = ar.infer_block(examples, width=2, depth=depth)
        assert len(ar.compile(proposal.block).prepare(examples)) == len(examples)
        return
    with pytest.raises(ar.InputError, match="nothing can be read"):
        ar.infer_block(examples, width=2, depth=depth)


def is_empty(value, depth):
    """Whether nothing but nulls, arrays and objects is in a value, or in what lies no deeper."""
    if isinstance(value, dict):
        return is_empty([*value.values()], depth)
    nested = isinstance(value, list) and (depth < 0 or all(is_empty(item, depth - 1) for item in value))
    return value is None or nested


@settings(max_examples=15, deadline=None)
@given(st.lists(DOCUMENTS, min_size=1, max_size=6), st.sampled_from([1, 2, 3, 12]), st.booleans())
@example([[LARGEST, -1.7973e308]], 12, True)  # whose deviation is larger than any float once it is rounded
@example([{"a": 1}, {"a": {"b": 2}}, {"a": [3]}], 1, True)
@example([[1, [2, [3]]], [1, {"a": 2}]], 2, True)
@example([None, 3.5, "x"], 2, True)
@example([None, {"a": [{"a": []}, None]}], 12, True)
def test_any_documents_give_a_block_that_reads_them(examples, depth, wide):
    try:
        proposal = ar.infer_block(examples, width=5, depth=depth, wide=wide)
    except ar.InputError:  # checked below: there is nothing in these
        assert is_empty(examples, depth)
        return
    model = ar.compile(proposal.block >> ar.FC([], name="head of the test"), seed=3)
    together = ar.to_numpy(model(examples))
    assert np.isfinite(together).all()
    for sample, result in zip(examples, together, strict=True):
        assert np.allclose(model.eval(sample), result, atol=1e-5)
    loss, grads = model.value_and_grad(examples)
    assert np.isfinite(loss)
    assert np.any(ar.to_numpy(grads["head of the test/bias"]) != 0) and grads.keys() == model.params.keys()

    for block in (
        block_of_source(proposal.source),
        build_block(json.loads(json.dumps(proposal.decisions))),
    ):
        other = ar.compile(block >> ar.FC([], name="head of the test"), seed=3)
        assert list(other.params) == list(model.params)
        assert np.array_equal(ar.to_numpy(other(examples)), together)
    assert ar.infer_block(examples, width=5, depth=depth, wide=wide).source == proposal.source

    def loss(documents):
        return float(ar.to_numpy(model(documents)).mean())  # all that is exchanged is read

    losses = ar.documents.field_losses(loss, examples, proposal.decisions)
    assert losses["$"] == loss(examples) and losses.keys() <= proposal.decisions.keys()


def posts(count, seed=0):
    """Documents with a field of each kind, and trees of answers."""
    draw = np.random.default_rng(seed)

    def pick(*values):
        return values[int(draw.integers(len(values)))]

    def answers(depth):
        below = [answers(depth - 1) for _ in range(pick(0, 1, 2))] if depth else []
        return {"by": pick("ann", "bob"), "stars": pick(1, 2, 3, None), "answers": below}

    return [
        {
            "id": number,
            "key": f"post-{number + 1000}",
            "by": pick("ann", "bob", "cy"),
            "age": pick(20, 31.5, None),
            "price": float(10 ** draw.uniform(0, 9)),
            "text": " ".join(pick("a", "good", "bad", "film", "so", "not") for _ in range(pick(0, 7, 9))),
            "formula": "".join(pick("C", "O", "N", "c1", "(", ")") for _ in range(12)),
            "written": f"2024-0{pick(1, 5, 9)}-11T10:00:00Z",
            "spam": pick(True, False),
            "tags": [pick(*"abcdef") for _ in range(pick(0, 1, 4))],
            "place": [float(draw.random()), float(draw.random())],
            "sizes": [float(draw.random()) for _ in range(pick(0, 3))],
            "rows": [[1, 2], [3]],
            "mixed": pick(1, "x", True, [1.5], {"a": 1}),
            "first name": {"short": pick("x", "y"), "long": None},
            "items": [{"kind": pick("x", "y"), "n": pick(1, 2)} for _ in range(2)],
            "nothing": None,
            "empty": [],
            "thread": answers(3),
        }
        for number in range(count)
    ]


READ = {
    "object": ["$", "mixed (object)", "first name", "items[]", "thread"],
    "left out": ["id", "key", "first name.long", "nothing", "empty"],
    "category": ["by", "tags[]", "rows[][]", "mixed (text)", "first name.short", "items[].kind"],
    "number": ["age", "price", "sizes[]", "mixed (number)", "mixed[]", "mixed.a", "items[].n"],
    "text": ["text", "formula"],
    "date": ["written"],
    "boolean": ["spam", "mixed (boolean)"],
    "array, pooled": ["tags", "sizes", "rows", "rows[]", "mixed (array)", "items", "thread.answers"],
    "vector": ["place"],
    "mixed": ["mixed"],
    "again thread": ["thread.answers[]"],
}
READ["category"] += ["thread.by", "thread.stars"]


def test_each_kind_of_field_is_read_in_its_way():
    examples = posts(60)
    proposal = ar.infer_block(examples, width=8)
    expected = {path: kind for kind, paths in READ.items() for path in paths}
    assert {path: kind for path, kind, _ in proposal.table()} == expected
    assert {*proposal.decisions["by"]["words"]} == {"ann", "bob", "cy"}
    price, logs = proposal.decisions["price"], np.log1p([post["price"] for post in examples])
    assert price["log"] and np.allclose([price["mean"], price["std"]], [logs.mean(), logs.std()], 1e-3)
    reasons = {path: because for path, _, because in proposal.table()}
    assert reasons["price"].endswith("of many magnitudes") and "null" in reasons["age"]
    assert "ids" in reasons["key"] and reasons["nothing"] == "always null"
    assert "like those at thread" in str(proposal).splitlines()[-1]

    block = block_of_source(proposal.source)
    model, other = (ar.compile(b, seed=1) for b in (proposal.block, block))
    assert list(model.params) == list(other.params)
    strange = [{}, {"by": "eve", "new": 1, "tags": ["z"]}, dict.fromkeys(examples[0])]
    for documents in (examples, strange):
        assert np.array_equal(ar.to_numpy(model(documents)), ar.to_numpy(other(documents)))
    deep = {"by": "ann", "answers": []}
    for _ in range(3000):
        deep = {"by": "bob", "answers": [deep]}
    assert np.isfinite(ar.to_numpy(model([{"thread": deep}]))).all()


LARGE_IDS = [10**18 + number for number in range(300)]  # float64 tells hardly any of them apart
NUMBERS = st.floats(-1e140, 1e140) | st.integers(-(10**20), 10**20)


@draws(60, 600)
@given(st.lists(NUMBERS, min_size=2, max_size=40), st.sampled_from([0, 0.1, 10**9, 10**18, -(10**18)]))
@example(LARGE_IDS, 0)
@example([0.1 + 0.2, 0.3] * 10, 0)
def test_numbers_are_small_once_they_are_standardised(numbers: list[float], add: float) -> None:
    numbers = [number + add for number in numbers]
    row = ar.infer_block([{"n": number} for number in numbers], kinds={"n": "number"}).decisions["n"]
    values = np.array([*map(float, numbers)])
    values = np.sign(values) * np.log1p(np.abs(values)) if row.get("log") else values
    # No number of n is further than sqrt(n) standard deviations from their mean.
    assert np.abs((values - row["mean"]) / row["std"]).max() <= 1.01 * math.sqrt(len(numbers)) + 0.01


def test_numbers_that_differ_by_rounding_are_not_of_many_magnitudes() -> None:
    rows = [{"n": number, "m": number % 7} for number in LARGE_IDS]
    assert "log" not in ar.infer_block(rows).decisions["n"]


def read_as(examples, **options):
    table = ar.infer_block(examples, width=4, **options).table()
    return {path: (kind, because) for path, kind, because in table}


@pytest.mark.parametrize("value", [3, 2.5, "red", True])
def test_a_field_that_is_always_the_same_is_left_out(value):
    examples = [{"a": value, "b": n * n} for n in range(30)]
    kind, reason = read_as(examples)["a"]
    assert kind == "left out" and reason == f"always {str(value).lower()!r}"
    if value == "red":  # a name may be forced to count
        assert read_as(examples, kinds={"a": "category"})["a"][0] == "category"
    sometimes = [sample if n % 2 else {"b": n} for n, sample in enumerate(examples)]
    assert read_as(sometimes)["a"][0] != "left out"  # whether it is there says something
    lists = [{"a": [value] * (n % 4), "b": n * n} for n in range(30)]
    assert read_as(lists)["a"][0] == "array, pooled"  # how many there are does


@given(st.integers(2, 14), st.integers(-5, 5), st.sampled_from([5, 25]))
def test_whole_numbers_of_few_values_are_categories(different, least, times):
    examples = [{"code": least + n % different} for n in range(different * times)]
    kind, _ = read_as(examples)["code"]
    assert kind == ("category" if 3 <= different <= 10 and times == 25 else "number")
    assert read_as(examples, kinds={"code": "number"})["code"][0] == "number"
    assert read_as([{"code": sample["code"] + 0.5} for sample in examples])["code"][0] == "number"


def test_categories_most_of_which_are_rare_are_read_by_their_words():
    rare = [{"of": [f"fresh leaf {n // 2}", "sea salt"], "by": f"u{n % 300}"} for n in range(400)]
    frequent = [{"of": [f"fresh leaf {n % 60}", "sea salt"]} for n in range(400)]
    assert read_as(rare)["of[]"][0] == "text" and read_as(frequent)["of[]"][0] == "category"
    assert read_as(rare)["by"][0] == "text"  # more than every second is another
    single = [{"tags": [f"w{n}", "salt", "oil"]} for n in range(400)]
    assert read_as(single)["tags[]"][0] == "category"  # of one word each


def test_of_many_categories_those_that_occur_once_are_unknown():
    names = [f"{n}{'th' * (1 + n % 3)}" for n in range(80) for _ in range(1 + n % 3)] + ["0th"]
    decided = ar.infer_block([{"by": name} for name in names]).decisions["by"]
    assert {*decided["words"]} == {name for name in names if names.count(name) > 1}
    assert decided["because"] == "80 different in 160, 26 rare ones unknown"


def test_arrays_are_pooled_by_sum_mean_and_largest():
    examples = [{"x": [0.5 * n, 1.5][: n % 3]} for n in range(30)]
    model = ar.compile(ar.infer_block(examples, width=3).block)
    assert not np.allclose(model([{"x": [0.5, 0.5]}]), model([{"x": [0.5]}]))  # how many there are counts
    left, right = model([{"x": [1, 1, 4]}, {"x": [0, 2, 4]}])  # of one sum, mean, largest and length
    assert not np.allclose(left, right, atol=1e-6)
    for kind, words in (("attention", "Attention("), ("mean", "Mean("), ("sequence", "RNN(")):
        other = ar.infer_block(examples, width=3, kinds={"x": kind})
        assert (
            words in str(other.block)
            and f"pooling={kind!r}" in other.source
            and "Sum(" not in str(other.block)
        )


def test_a_proposal_learns_what_lies_deep_in_a_document():
    from arrows.training import Adam, train

    def size(thread):
        return 1 + sum(map(size, thread["answers"]))

    examples = posts(200, seed=2)
    block = ar.infer_block([{"thread": post["thread"]} for post in examples], width=12).block
    label = ar.InputTransform(lambda post: float(size(post["thread"]) > 4)) >> ar.Scalar()
    score = block >> ar.FC([], name="head of the test")
    model = ar.compile((score & label) >> ar.SigmoidCrossEntropy())
    history = train(model, examples, Adam(0.01), epochs=12, batch_size=20, progress=False)
    share = np.mean([size(post["thread"]) > 4 for post in examples])
    guess = -(share * np.log(share) + (1 - share) * np.log(1 - share))
    assert 0.2 < share < 0.8 and history[-1].loss < 0.5 * guess


HALVES = {"left": {"w": "a"}, "right": {"w": "b"}}
RECURSIVE = {
    "a list of objects": {"v": 1, "next": {"v": 2, "next": {"v": 3, "next": None}}},
    "two halves": {"left": HALVES, "right": HALVES},
    "nested arrays": ["S", ["NP", ["D", "the"], ["N", "cat"]], ["VP", "sat"]],
    "two steps": {"node": {"kids": [{"node": {"kids": [{"node": {"kids": []}}], "v": 1}}]}},
    "beside numbers": {"op": "+", "args": [1, {"op": "*", "args": [2, {"op": "-", "args": [3]}]}]},
    "in an array": [{"kids": [{"kids": [{"kids": []}]}], "v": 1}],
}


@pytest.mark.parametrize("name", RECURSIVE)
def test_recursion_of_any_form_is_seen(name):
    examples = [RECURSIVE[name]]
    proposal = ar.infer_block(examples, width=4)
    assert any(kind.startswith("again") for _, kind, _ in proposal.table()), str(proposal)
    assert "@ar.fix" in proposal.source
    model, other = (ar.compile(block) for block in (proposal.block, block_of_source(proposal.source)))
    result = ar.to_numpy(model(examples))
    assert result.shape == (1, 4) and np.array_equal(result, ar.to_numpy(other(examples)))


@pytest.mark.parametrize(
    "sample",
    [
        {"address": {"city": "Rome", "zip": 1}, "city": "Rome", "zip": 1},
        [[[1, 2], [3, 4]], [[5, 6]]],
        {"user": {"name": "a", "boss": "b"}},
    ],
)
def test_what_only_looks_alike_is_no_recursion(sample):
    assert "@ar.fix" not in ar.infer_block([sample]).source


def test_documents_that_nest_without_end_are_cut_off():
    nested = 1
    for _ in range(40):
        nested = [nested]
    with pytest.raises(ar.InputError, match=r"nothing can be read in 1 examples: .* too deep"):
        ar.infer_block([nested])
    proposal = ar.infer_block([{"a": 1, "deep": nested}], depth=3)
    assert "too deep" in str(proposal) and proposal.table()[-1][1] == "left out"


def test_kinds_and_ignore_decide_instead():
    examples = [{"code": n % 7, "name": f"n{n % 3}", "text": "so good", "price": f"{n}.5"} for n in range(30)]
    for n, sample in enumerate(examples):
        sample |= {"list": [1, 2], "votes": {f"u{n}": 1}}
    kinds = {"code": "category", "name": "ngrams", "price": "number", "list": "sequence", "votes": "map"}
    proposal = ar.infer_block(examples, width=4, kinds=kinds, ignore=["text"])
    read = {path: kind for path, kind, _ in proposal.table()}
    assert read["code"] == "category" and read["name"] == "text" and read["price"] == "number"
    assert read["list"] == "array, sequence" and read["votes"] == "map, pooled" and read["text"] == "left out"
    assert read["votes[].key"] == "left out" and read["votes[].value"] == "number"
    model, other = (ar.compile(block) for block in (proposal.block, block_of_source(proposal.source)))
    assert np.array_equal(ar.to_numpy(model(examples)), ar.to_numpy(other(examples)))
    for kind in ("text", "words", "ngrams"):
        assert read_as(examples, kinds={"name": kind})["name"][0] == "text"


KEYED = [{"votes": {f"user{n}": n}} for n in range(3000)]
MISTAKES = [
    ([], {}, "there are no examples"),
    ({"a": 1}, {}, "examples should be a list of documents, not dict"),
    ([{"a": [{"b": dt.date(2024, 1, 1)}]}], {}, r"a\[\].b: expected a JSON value, got .* date"),
    ([{"a": float("nan")}], {}, "example 0: a: expected a finite number, got nan"),
    ([{"a": 10**400}], {}, "a: a number of 1,329 bits is too large for float64"),
    ([{"a": {1: 2}}], {}, "a: the keys of an object are texts, not 1"),
    ([{"a": None}, {"a": None}], {}, "nothing can be read in 2 examples: 2 objects of 1 field"),
    ([{"name": 1}], {"ignore": ["nmae"]}, "ignore names the path 'nmae', .* they have name"),
    ([{"a": None, "b": 1}], {"kinds": {"a": "text"}}, "for 'a', and the examples have nothing but"),
    ([{"a": 1}], {"kinds": {"a": "int"}}, "kinds says 'int' for 'a', and .* may be category, number"),
    ([{"a": "2024-13-01"}], {"kinds": {"a": "date"}}, "an example has '2024-13-01'"),
    ([{"a": "x"}], {"kinds": {"a": "number"}}, "'a', and not all texts are numbers"),
    ([{"a": [1]}, {"a": [1, 2]}], {"kinds": {"a": "vector"}}, "'a', and not all of its arrays"),
    ([1], {"width": 0}, "width should be a whole number from 1"),
    (
        KEYED,
        {},
        r"votes: 3,000 different keys in 3,000 objects .*'votes': 'map'.*--kind votes=map, .*ignore=",
    ),
]


@pytest.mark.parametrize(("examples", "options", "message"), MISTAKES, ids=[each[2] for each in MISTAKES])
def test_errors_name_the_path(examples, options, message):
    with pytest.raises((ar.InputError, ar.ArrowValueError, ar.ArrowTypeError), match=message):
        ar.infer_block(examples, **options)


def test_names_of_fields_take_no_name_that_is_needed():
    examples = [
        {"classify": "a", "document": "b", "名": "some text", "名_score": "c", "me": "d", "": "e", "1st": "f"}
    ]
    proposal = ar.infer_block(examples * 2, width=3)
    blocks = ar.models.document_classifier(proposal.decisions, ["y"], ["a", "b"])
    names = {name.partition("/")[0] for name in ar.compile(blocks.judge).params}
    assert {"classify", "document classifier", "document", "document_2"} <= names
    assert {"field", "field_score", "me", "field_1st"} <= names, names


def test_documents_of_other_types_are_refused_with_their_path():
    model = ar.compile(ar.infer_block(posts(30)).block)
    for document, path in (
        ({"by": 3}, "by"),
        ({"age": "old"}, "age"),
        ({"tags": "abc"}, "tags"),
        ({"written": "yesterday"}, "written"),
        ({"items": [{"n": 1}, {"n": "2"}]}, "items > .1. > n"),
        ({"place": [1]}, "place"),
        ({"text": 3}, "text"),
        ({"spam": 1}, "spam"),
    ):
        with pytest.raises(ar.InputError, match=path):
            model([document])


def changed(decisions, draw):
    """Decisions in which a value, somewhere, is another."""
    strange = st.none() | st.integers(-3, 3) | st.text(max_size=5) | st.floats() | st.just([]) | st.just({})
    if draw(st.integers(0, 3)) == 0 or not isinstance(decisions, (dict, list)) or not decisions:
        return draw(strange | st.sampled_from(["__import__", "again", "object", "array", "$"]))
    where = draw(st.sampled_from([*decisions] if isinstance(decisions, dict) else [*range(len(decisions))]))
    copy = decisions.copy()
    if isinstance(copy, dict) and draw(st.booleans()):
        del copy[where]
    else:
        copy[where] = changed(copy[where], draw)
    return copy


POSTED = ar.infer_block(posts(30), width=3).decisions


@settings(max_examples=60, deadline=None)
@given(st.data())
@pytest.mark.filterwarnings("ignore")
def test_decisions_from_files_are_read_with_care(data):
    with contextlib.suppress(ar.InputError):  # and nothing else
        assert isinstance(build_block(changed(POSTED, data.draw)), ar.Block)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "os.system"}, "age: there is no kind 'os.system'; there are array, boolean"),
        ({"std": 0}, "age cannot be read as 'number': numbers want .* a finite deviation above 0"),
        ({"mean": float("nan")}, "age cannot be read as 'number'"),
        ({"kind": "category"}, "age cannot be read as 'category': .* unexpected keyword argument 'mean'"),
        ({"kind": "again", "path": "elsewhere"}, "age cannot be read as 'again'"),
    ],
)
def test_decisions_changed_by_hand_are_checked(change, message):
    decisions = ar.infer_block([{"age": 3}, {"age": 5}], width=3).decisions
    field = decisions["age"]
    decisions["age"] = field | {"mean": 0.0, "std": 1.0, "because": "I know"}
    assert np.isfinite(build_block(decisions).eval({"age": 4})).all()
    decisions["age"] = field | change
    with pytest.raises(ar.InputError, match=message):
        build_block(decisions)
    for nothing in (None, [], {}, {"$": {"width": 3}}, {"$": {"width": "3", "kind": "boolean"}}):
        with pytest.raises(ar.InputError, match="decisions on a block"):
            build_block(nothing)


def test_a_field_is_exchanged_among_all_objects_of_its_path():
    def post(n, depth):
        answers = [post(5 * n + k, depth - 1) for k in range(n % 3 if depth else 0)]
        some = {"mixed": [n] if n % 2 else {"x": n}} if n % 4 else {"mixed": None}
        return {"by": n, "answers": answers, "map": {f"k{n}": n}} | some

    posts = [post(n, 2) for n in range(40)]
    kept = json.dumps(posts)
    decisions = ar.infer_block(posts, kinds={"map": "map"}).decisions
    seen = []

    def loss(documents):
        numbers, waiting = {"by": [], "mixed.x": [], "map": []}, [*documents]
        for each in waiting:  # grows
            numbers["by"].append(each["by"])
            numbers["map"].append(each["map"])
            numbers["mixed.x"] += [each["mixed"]["x"]] if isinstance(each.get("mixed"), dict) else []
            waiting += each["answers"]
        seen.append(numbers)
        return 1.0

    losses = ar.documents.field_losses(loss, posts, decisions, repeats=1)
    assert [*losses] == ["$", "by", "answers", "map", "mixed", "mixed.x"] and json.dumps(posts) == kept
    before, *changed = seen
    for path, after in zip([*losses][1:], changed, strict=True):
        for name, values in after.items():
            assert sorted(map(str, values)) == sorted(map(str, before[name]))
            if path not in (name, "answers", "mixed"):
                assert values == before[name]
    assert changed[0]["by"] != before["by"] and changed[2]["map"] != before["map"]
    assert changed[4]["mixed.x"] != before["mixed.x"]


def test_the_rows_of_a_frame_are_documents():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    rows = [{"age": 3, "name": "Ann"}, {"age": 4, "name": "Bob"}]
    assert ar.infer_block(pandas.DataFrame(rows)).decisions == ar.infer_block(rows).decisions
