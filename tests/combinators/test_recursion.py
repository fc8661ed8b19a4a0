"""Recursion over several blocks: `fix` of several references, and declarations that are resolved later."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import pytest

import arrows as ar
from arrows import ops
from arrows.inference import Typed
from arrows.typesys import types as T

FLOAT = T.Tensor(())


def twice(x: Any) -> Any:
    return x * 2.0


def add(x: Any, y: Any) -> Any:
    return x + y


def kind(x: Any) -> str:
    return "leaf" if isinstance(x, (int, float)) else "node"


def two() -> tuple[Any, Any]:
    """Numbers in lists: at even depths they count double."""

    def definition(even: Any, odd: Any) -> tuple[Any, Any]:
        leaf = ar.Scalar()
        return (
            ar.OneOf(kind).case("leaf", leaf >> ar.Function(twice)).case("node", ar.Map(odd) >> ar.Sum()),
            ar.OneOf(kind).case("leaf", leaf).case("node", ar.Map(even) >> ar.Sum()),
        )

    blocks: tuple[Any, Any] = ar.fix(definition)
    return blocks


def declared() -> tuple[Any, Any]:
    """The same by declarations."""
    even = ar.ForwardDeclaration(name="even")
    odd = ar.ForwardDeclaration(name="odd")
    leaf = ar.Scalar()
    first = ar.OneOf(kind).case("leaf", leaf >> ar.Function(twice)).case("node", ar.Map(odd()) >> ar.Sum())
    second = ar.OneOf(kind).case("leaf", leaf).case("node", ar.Map(even()) >> ar.Sum())
    return even.resolve_to(first), odd.resolve_to(second)


MAKERS = pytest.mark.parametrize("make", [two, declared])
WRITTEN = (
    "even where "
    "even = OneOf(kind, {'leaf': Scalar('float32') >> Function(twice), 'node': Map(odd) >> Sum()}), "
    "odd = OneOf(kind, {'leaf': Scalar('float32'), 'node': Map(even) >> Sum()})"
)


def occurrences(typed: Typed, word: str) -> int:
    return sum(typed.form.label == word for typed in typed.walk())


# ------------------------------------------------------------------------------------------ what they mean


@MAKERS
def test_two_definitions_refer_to_one_another(make: Callable[[], tuple[Any, Any]]) -> None:
    even, odd = make()
    assert [float(even.eval(x)) for x in (3, [3], [3, [4]], [])] == [6, 3, 11, 0]
    assert [float(odd.eval(x)) for x in (3, [3], [3, [4]])] == [3, 6, 10]


def test_three_definitions() -> None:
    step = ar.InputTransform(lambda n: n - 1)

    def by(rest: int, following: Any) -> Any:
        return ar.OneOf(bool).case(False, ar.Constant(float(rest))).case(True, step >> following)

    zero, one, two = ar.fix(lambda zero, one, two: (by(0, two), by(1, zero), by(2, one)))
    assert [float(zero.eval(n)) for n in range(5)] == [0, 2, 1, 0, 2]
    assert float(one.eval(1)) == 0 and float(two.eval(1)) == 1


def test_a_definition_may_be_what_stands_for_a_block() -> None:
    pair, _ = ar.fix(lambda pair, other: ({"a": ar.Scalar(), "b": other}, ar.Scalar()))
    assert str(ar.infer(pair).output) == "(a: float32, b: float32)"


def test_a_block_resolved_to_a_recursion_through_itself() -> None:
    again = ar.ForwardDeclaration(name="again")
    tree = ar.fix(
        lambda me: ar.OneOf(kind).case("leaf", ar.Scalar()).case("node", ar.Map(again()) >> ar.Sum())
    )
    again.resolve_to(tree)
    assert float(tree.eval([1, [2, [3]]])) == 6


# ------------------------------------------------------------------------------------------ types


@MAKERS
def test_each_definition_is_typed_once_an_entry(make: Callable[[], tuple[Any, Any]]) -> None:
    even, _ = make()
    typed = ar.infer(even)
    assert typed.output == FLOAT
    assert occurrences(typed, "Function(twice)") == 1
    knots = {id(x.knot) for x in typed.walk() if x.knot is not None}
    assert len(knots) == 2
    # two occurrences of a finished block are two entries; on one value it is one
    assert occurrences(ar.infer(even * even), "Function(twice)") == 2
    assert occurrences(ar.infer(even & even), "Function(twice)") == 1


def test_each_entry_has_types_of_its_own() -> None:
    """A finished block may stand on different types, as any block may: in a definition too."""
    first, _ = ar.fix(
        lambda first, other: (
            ar.GetItem(0) >> ar.Identity(),
            ar.OneOf(len).case(0, ar.Zeros([])).case(1, first >> ar.Scalar()),
        )
    )
    pair = (ar.Scalar() & ar.Vector(2)) >> first & (ar.Vector(3) & ar.Vector(2)) >> first
    assert ar.infer(pair).output == T.Tuple((FLOAT, T.Tensor((3,))))
    outer, _ = ar.fix(lambda outer, other: (pair, outer))
    assert ar.infer(outer).output == T.Tuple((FLOAT, T.Tensor((3,))))


def test_declared_types_are_assumed() -> None:
    step = ar.ForwardDeclaration(input_type=[3], output_type=[3], name="step")
    block = step.resolve_to(ar.Function(lambda x: x * 2))
    assert str(ar.infer(block)).splitlines()[0] == "step: float32[3] -> float32[3]"
    loop = ar.ForwardDeclaration(output_type="int32")
    leaf = ar.Scalar("int32")
    block = loop.resolve_to(ar.OneOf(kind).case("node", ar.GetItem(0) >> loop()).case("leaf", leaf))
    assert ar.infer(block).output == T.Tensor((), "int32")


def test_a_recursion_without_an_end_is_a_bad_example() -> None:
    tree = ar.fix(lambda me: (ar.GetItem("l") >> me & ar.GetItem("r") >> me) >> ar.Concat() >> ar.FC(3))
    loop = ar.fix(lambda me: (me & ar.Zeros([2])) >> ar.Concat() >> ar.FC(3))
    for block, words in ((tree, "there is no item 'l'"), (loop, "the recursion is back at the value")):
        for run in (block.eval, lambda x, block=block: ar.compile(block)([x])):
            with pytest.raises(ar.InputError, match=words):
                run({"l": {}, "r": {}})


def test_declared_floats_follow_the_float_type() -> None:
    step = ar.ForwardDeclaration(output_type=[])
    assert ar.infer(step.resolve_to(ar.Scalar()), float_type="float64").output == T.Tensor((), "float64")


# ------------------------------------------------------------------------------------------ as text, copied


@MAKERS
def test_definitions_are_printed_once_behind_the_expression(make: Callable[[], tuple[Any, Any]]) -> None:
    even, odd = make()
    assert repr(even) == WRITTEN
    assert repr(ar.Map(even & odd)).startswith("Map(even & odd) where even = OneOf(")
    assert even.label == "even"
    lines = str(ar.infer(even)).splitlines()
    assert lines[0] == "even: Input -> float32"
    assert len(lines) < 20


def test_names_are_told_apart() -> None:
    (a, _), (b, _) = two(), two()
    assert repr(a & b).startswith("even & even_2 where even = ")
    assert ", even_2 = OneOf(" in repr(a & b)

    def nested(outer: Any) -> Any:
        return ar.fix(lambda me: ar.OneOf(len).case(0, outer).case(1, me).case(2, ar.Scalar()))

    both = ar.fix(lambda me: nested(me))
    assert (
        repr(both) == "fix(lambda: fix(lambda_2: OneOf(len, {0: lambda, 1: lambda_2, 2: Scalar('float32')})))"
    )
    plain = ar.ForwardDeclaration()
    assert repr(plain) == "<declaration declaration, unresolved>"
    assert repr(plain()) == "declaration"


@MAKERS
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_whole_and_keep_what_is_shared(
    make: Callable[[], tuple[Any, Any]], copied: Callable[[Any], Any]
) -> None:
    even, odd = copied(make())
    assert repr(even) == WRITTEN
    assert even.definition.cases[1].parts[0].parts[0].token is odd.token
    assert float(even.eval([3, [4]])) == 11 and float(odd.eval([3, [4]])) == 10
    original = make()[0]
    twin = copied(original)
    assert twin.token is not original.token and repr(twin) == repr(original)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_share_layers_among_definitions(copied: Callable[[Any], Any]) -> None:
    layer = ar.FC(2, name="once")
    a, b = ar.fix(
        lambda a, b: (
            ar.OneOf(len).case(2, ar.Vector(2) >> layer).case(1, ar.GetItem(0) >> b),
            ar.OneOf(len).case(2, ar.Vector(2) >> layer).case(1, ar.GetItem(0) >> a),
        )
    )
    first, second = copied((a, b))
    model = ar.compile(ar.GetItem(0) >> first & ar.GetItem(1) >> second)
    assert list(model.params) == ["once/weight", "once/bias"]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_declaration_is_copied_with_its_references(copied: Callable[[Any], Any]) -> None:
    tree = ar.ForwardDeclaration(name="tree")
    block = ar.Map(tree())
    twin, reference = copied((tree, block))
    twin.resolve_to(ar.Scalar())
    assert ar.infer(reference).output == T.Sequence(FLOAT)
    with pytest.raises(ar.ArrowTypeError, match="nothing says yet"):
        ar.infer(block)
    done = copied(twin)
    assert ar.infer(ar.Map(done())).output == T.Sequence(FLOAT)
    with pytest.raises(ar.ArrowValueError, match="declaration tree, resolved> was made"):
        done.resolve_to(ar.Scalar())


# ------------------------------------------------------------------------------------------ write-once


def test_a_declaration_is_resolved_once_even_by_threads_at_once() -> None:
    for _ in range(20):
        tree = ar.ForwardDeclaration()
        outcomes: list[bool] = []
        barrier = threading.Barrier(8)

        def resolve(tree: Any = tree, outcomes: list[bool] = outcomes, barrier: Any = barrier) -> None:
            barrier.wait()
            try:
                tree.resolve_to(ar.Scalar())
                outcomes.append(True)
            except ar.ArrowValueError:
                outcomes.append(False)

        threads = [threading.Thread(target=resolve) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == [False] * 7 + [True]


def test_compile_takes_a_closed_snapshot() -> None:
    tree = ar.ForwardDeclaration(name="tree")
    block = ar.OneOf(kind).case("leaf", ar.Scalar()).case("node", ar.Map(tree()) >> ar.Sum())
    with pytest.raises(ar.ArrowTypeError, match="tree"):
        ar.compile(block)
    tree.resolve_to(block)
    model = ar.compile(block)
    with pytest.raises(ar.ArrowValueError):
        tree.resolve_to(ar.Zeros([]))
    assert model([[1, [2]], 3]).tolist() == [3, 3]


# ------------------------------------------------------------------------------------------ deep


def test_inference_enters_each_definition_once_however_they_refer_to_one_another() -> None:
    n = 60
    declarations = [ar.ForwardDeclaration(name=f"d{i}") for i in range(n)]
    references = [d() for d in declarations]
    for declaration in declarations:
        case = ar.OneOf(len).case(0, ar.Zeros([]))
        for i, reference in enumerate(references):
            case = case.case(i + 1, reference)
        declaration.resolve_to(case)
    typed = ar.infer(references[0])
    assert sum(x.form.kind == "OneOf" for x in typed.walk()) == n


# ------------------------------------------------------------------------------------------ declared types


def weigh(x: Any, sums: Any) -> Any:
    return x + 2.0 * sums


def below_a_function(me: Any) -> Any:
    """Numbers in a tree of lists; neither leaf nor function says how long the result is."""
    return (ar.GetItem(0) >> ar.Scalar() & ar.GetItem(1) >> ar.Map(me) >> ar.Sum()) >> ar.Function(weigh)


def test_a_declared_result_types_a_recursion_that_ends_at_an_empty_list() -> None:
    tree = (1, [(2, []), (3, [(4, [])])])
    wanted = [1 + 2 * (2 + 3 + 2 * 4)] * 2
    for block in (ar.fix(output_type=[2])(below_a_function), ar.fix(below_a_function, output_type=[2])):
        assert ar.infer(block).output == T.Tensor((2,))
        assert block.name == "below_a_function"
        assert block.eval(tree).tolist() == wanted
        model = ar.compile(block >> ar.Function(ops.sum), float_type="float64")
        assert ar.to_numpy(model([tree, (5, [])])).tolist() == [2 * wanted[0], 10]
        for copied in (copy.deepcopy(block), pickle.loads(pickle.dumps(block))):
            assert copied.eval(tree).tolist() == wanted


def test_types_of_several_blocks_are_declared_one_by_one() -> None:
    def definition(even: Any, odd: Any) -> tuple[Any, Any]:
        return below_a_function(odd), ar.Identity() >> below_a_function(even)

    even, odd = ar.fix(definition, output_type=([3], None), input_type=(None, T.Input()))
    assert ar.infer(even).output == ar.infer(odd).output == T.Tensor((3,))
    assert even.eval((1, [(2, [])])).tolist() == [5, 5, 5]
