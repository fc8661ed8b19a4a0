"""Inference: what flows where, in both directions, through recursion, and where values convert."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import FC, ops
from arrows.combinators import Apply, Reference
from arrows.typesys import ArrowTypeError, types as T
from tests.combinators.kit import Embedding, tree_lstm

SCALAR, INDEX, VOID, INPUT = T.Tensor(()), T.Tensor((), "int32"), T.Void(), T.Input()


def out(block: Any, input: Any = None) -> T.Type:
    return ar.infer(block, input).output


def test_the_first_example() -> None:
    typed = ar.infer(tree_lstm())
    state = T.as_type(([300], [300]))
    assert (typed.input, typed.output) == (INPUT, state)
    assert typed.knot is not None and typed.knot.name == "tree" and typed.knot.fix is typed
    references = [t for t in typed.walk() if isinstance(t.form, Reference)]
    assert len(references) == 3
    assert all(t.knot is typed.knot and (t.input, t.output) == (INPUT, state) for t in references)
    assert all(t.trace is not None for t in typed.walk() if isinstance(t.form, Apply))
    cells = {id(t.trace) for t in typed.walk() if t.form.kind == "TreeLSTM"}
    assert len(cells) == 1


def test_float_type() -> None:
    typed = ar.infer(tree_lstm(), float_type="float64")
    assert typed.output == T.with_float(T.as_type(([300], [300])), "float64")
    for t in typed.walk():
        assert "float32" not in str(t.input) + str(t.output)
        if t.trace is not None:
            assert all(var.type.dtype != "float32" for var in t.trace.results)


def test_inputs_are_found_backwards() -> None:
    assert ar.infer(FC(3), [2]).output == T.Tensor((3,))
    assert ar.infer(Embedding(9, 4)).input == INDEX
    assert ar.infer(ar.Map(Embedding(9, 4))).input == T.Sequence(INDEX)
    assert ar.infer(ar.Identity() >> Embedding(9, 4)).input == INDEX
    assert ar.infer(ar.AllOf(ar.Identity(), Embedding(9, 4))).input == INDEX
    # One layer, two places: the type of one is the type of the other.
    dense = FC(3)
    step = ar.arrow(lambda s, x: (ar.Function(lambda a: a)(s), dense(x)))
    assert ar.infer(ar.AllOf(ar.GetItem(0) >> ar.Vector(2) >> dense, ar.Zeros(([], [2])) >> step)).output


ADD = ar.Function(lambda s, x: s + x)


def embedded(state: Any, x: Any) -> Any:
    return ADD(state, Embedding(9, 4)(x))


class Pairing(FC):
    """A layer that says what it takes."""

    def signature(self) -> tuple[T.Type | None, T.Type | None]:
        return T.as_type(([3], [3])), T.Tensor((3,))

    def parameters(self, input: T.Type) -> tuple[ops.Parameter, ...]:
        return ()

    def forward(self, parameters: Any, *args: Any) -> Any:
        return args[0] + args[1]


SEQ = T.Sequence(INDEX)


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (ar.Map(ar.Map(Embedding(9, 4))), T.Sequence(SEQ)),
        (ar.Map(ar.Identity(name="as it is")) >> ar.Map(Embedding(9, 4)), SEQ),
        (ar.AllOf(ar.Map(Embedding(9, 4)), ar.Map(ar.Identity(name="as it is"))), SEQ),
        (ar.AllOf(ar.Map(ar.Identity(name="as it is")), ar.Map(Embedding(9, 4))), SEQ),
        (ar.Fold(ar.arrow(embedded), ar.Zeros([4])), SEQ),
        (ar.Fold((ar.GetItem(0) & (ar.GetItem(1) >> Embedding(9, 4))) >> ADD, ar.Zeros([4])), SEQ),
        (ar.Identity(name="as it is") >> ar.Fold(ar.arrow(embedded), ar.Zeros([4])), SEQ),
        (ar.Map(ar.Fold(ar.arrow(embedded), ar.Zeros([4]))), T.Sequence(SEQ)),
        (ar.Scan(ar.arrow(lambda x, s: (embedded(s, x), s)), ar.Zeros([4])), SEQ),
        (ar.RNN(ar.arrow(lambda x, s: embedded(s, x)), ar.Zeros([4])), SEQ),
        (ar.Reduce(Pairing(3)), T.Sequence(T.Tensor((3,)))),
        (ar.Identity(name="as it is") >> Embedding(9, 4), INDEX),
        (ar.arrow(lambda x, y: (Embedding(9, 4)(y), x)) >> ar.GetItem(0), T.Tuple((INPUT, INDEX))),
    ],
)
def test_containers_are_known_by_what_is_done_with_their_elements(block: Any, expected: T.Type) -> None:
    assert ar.infer(block).input == expected


def test_containers_inside_a_recursion_are_known_by_their_elements() -> None:
    @ar.fix
    def tree(me: Any) -> Any:
        again = me >> ar.Map(Embedding(9, 4)) >> ar.Map(ar.Function(lambda x: ops.cast(x.sum(), "int32")))
        return ar.OneOf(len).case(0, again).case(1, ar.Map(ar.Scalar("int32")))

    assert out(tree) == SEQ


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        # None by default is zeros of what an untyped function gives, wherever the Optional stands.
        (ar.Optional(ar.Vector(3) >> ar.Function(lambda x: (x, x[0]))), T.as_type(([3], []))),
        (ar.Optional(ar.Optional(ar.Scalar() >> ar.Function(lambda x: x + 1))), SCALAR),
        (ar.Map(ar.Optional(ar.Scalar() >> ar.Function(lambda x: x + 1))) >> ar.Sum(), SCALAR),
        (ar.Optional(ar.Map(ar.Vector(2)) >> ar.Fold(ADD, ar.Zeros([2]))), T.Tensor((2,))),
        (ar.Optional(ar.Scalar() >> ar.Function(lambda x: x + 1)) >> ar.Identity(name="i") >> ar.Sum(), None),
        (ar.Vector(3) >> ar.Function(lambda x: x) >> ar.Identity(name="i") >> FC(2), T.Tensor((2,))),
        (
            ar.Map(ar.Vector(3)) >> ar.Identity(name="i") >> ar.RNN(ADD, ar.Zeros([3])) >> ar.GetItem(1),
            T.Tensor((3,)),
        ),
    ],
)
def test_types_flow_through_untyped_functions_and_identities(block: Any, expected: T.Type | None) -> None:
    if expected is None:
        with pytest.raises(ArrowTypeError, match="Sum adds the elements of a sequence"):
            out(block)
    else:
        assert out(block) == expected


def test_recursive_trees_without_declared_types() -> None:
    leaf, sides = ar.GetItem("x") >> ar.Vector(3), (ar.GetItem("left"), ar.GetItem("right"))

    def both(me: Any) -> Any:
        return sides[0] >> me & sides[1] >> me

    joined = ar.fix(lambda me: ar.OneOf(len).case(0, both(me) >> ar.Concat() >> FC(3)).case(1, leaf))
    added = ar.fix(
        lambda me: ar.OneOf(len).case(0, both(me) >> ADD).case(1, leaf >> ar.Function(lambda x: x * 2))
    )
    maybe = ar.fix(lambda me: ar.Optional(ar.OneOf(len).case(0, leaf).case(1, both(me) >> ADD)))
    folded = ar.fix(lambda me: ar.Map(me) >> ar.Identity(name="i") >> ar.Fold(ADD, ar.Zeros([3])))
    for tree in (joined, added, maybe, folded):
        assert out(tree) == T.Tensor((3,))


def test_wide_records_are_read_by_key_in_no_time() -> None:
    fields = {f"field {i}": ar.Scalar() for i in range(3000)}
    block = ar.Record(fields) >> ar.AllOf(*[ar.GetItem(key) for key in fields])
    assert len(out(block)) == 3000  # type: ignore[arg-type]


def test_recursion_through_a_partly_known_tuple() -> None:
    @ar.fix
    def tree(me: Any) -> Any:
        total = ar.Map(me >> ar.GetItem(0)) >> ar.Sum() >> FC(2)
        return ar.Zeros([2]) & total

    assert out(tree) == T.as_type(([2], [2]))


def test_records_of_inputs_convert_where_an_input_is_wanted() -> None:
    pair = ar.GetItem("a") & ar.GetItem("b")
    typed = ar.infer(pair >> ar.InputTransform(len))
    assert typed.parts[0].output == T.Tuple((INPUT, INPUT)) and typed.parts[1].input == INPUT
    assert out(ar.Map(pair) >> ar.InputTransform(len)) == INPUT
    assert out((pair & pair) >> ar.Vector(2)) == T.Tensor((2,))
    # A structure that is wanted as one stays one.
    assert out(pair >> ar.Identity()) == T.Tuple((INPUT, INPUT))
    assert out(pair >> ar.Identity() >> ar.Identity() >> ar.InputTransform(len)) == INPUT
    mixed = ar.AllOf(pair, ar.Scalar())
    for broken in (mixed >> ar.InputTransform(len), ar.Map(ar.Scalar()) >> ar.InputTransform(len)):
        with pytest.raises(ArrowTypeError):
            out(broken)


def test_a_tuple_of_objects_and_an_object_meet_where_one_is_made_the_other() -> None:
    pair, one = ar.GetItem("a") & ar.GetItem("b"), ar.GetItem("c")
    for cases in ((pair, one), (one, pair), (ar.AllOf(pair, ar.Scalar()), one & ar.Scalar())):
        with pytest.raises(ArrowTypeError, match=r">> ar\.Input\(tuple\)"):
            out(ar.OneOf(len).case(0, cases[0]).case(1, cases[1]))
    assert out(ar.OneOf(len).case(0, pair >> ar.Input(tuple)).case(1, one)) == INPUT
    with pytest.raises(ArrowTypeError, match=r">> ar\.Input\(tuple\)"):
        out(pair >> ar.fix(lambda me: ar.OneOf(len).case(0, ar.Scalar()).case(1, ar.GetItem("next") >> me)))


def test_labels() -> None:
    a = ar.Record({"h": ar.Scalar(), "c": ar.Vector(2)})
    assert str(out(a)) == "(h: float32, c: float32[2])"
    assert out(a >> ar.GetItem("c")) == out(a >> ar.GetItem(1)) == out(a >> ar.GetItem(-1)) == T.Tensor((2,))
    plain = ar.Scalar() & ar.Vector(2)
    assert str(out(ar.OneOf(len).case(0, a).case(1, a))) == "(h: float32, c: float32[2])"
    assert str(out(ar.OneOf(len).case(0, a).case(1, plain))) == "(float32, float32[2])"
    assert str(out(ar.OneOf(len).case(0, plain).case(1, a))) == "(float32, float32[2])"
    # Dropping labels at the choice leaves the record itself alone.

    @ar.arrow
    def both(x: Any) -> Any:
        r = a(x)
        s = ar.OneOf(ar.Identity() >> ar.GetItem(1)).case(0, ar.GetItem(0)).case(1, ar.Zeros(([], [2])))
        return r["c"], s((r, x))

    assert str(out(both)) == "(float32[2], (float32, float32[2]))"
    nested = ar.Record({"x": a})
    assert (
        str(out(ar.OneOf(len).case(0, nested).case(1, ar.Record({"x": plain}))))
        == "(x: (float32, float32[2]),)"
    )
    assert str(out(ar.Map(a))) == "Sequence((h: float32, c: float32[2]))"
    assert str(out(a >> ar.GetItem(slice(1, 2)))) == "(c: float32[2],)"


def test_assumed_inputs() -> None:
    assert out(ar.GetItem(1), ([2], "int32")) == INDEX
    assert out(ar.Map(ar.Function(lambda x: x)), T.Sequence(T.Tensor((2,)))) == T.Sequence(T.Tensor((2,)))
    assert out(ar.Map(ar.Function(lambda x: x)), T.Broadcast(T.Tensor((2,)))) == T.Broadcast(T.Tensor((2,)))
    for block, input in [
        (ar.Scalar(), [2]),
        (ar.Fold(ar.GetItem(0), ar.Zeros([])), T.Broadcast(SCALAR)),
        (ar.Sum(), T.Broadcast(SCALAR)),
        (ar.GetItem(0), T.Broadcast(SCALAR)),
        (ar.Map(ar.Scalar()), ()),
        (ar.Sum(), ()),
        (ar.GetItem(0), VOID),
    ]:
        with pytest.raises(ArrowTypeError):
            out(block, input)


def test_occurrences_of_one_layer_are_one_operation() -> None:
    dense = FC(3)
    typed = ar.infer(ar.AllOf(ar.Vector(3) >> dense, ar.Vector(3) >> dense >> dense))
    traces = [t.trace for t in typed.walk() if t.form is dense]
    assert len(traces) == 3 and all(t is traces[0] for t in traces)


def test_layers_inside_functions() -> None:
    dense = FC(3)
    typed = ar.infer(ar.Vector(2) >> ar.Function(lambda x: ops.tanh(dense(x))))
    trace = typed.parts[1].trace
    assert trace is not None and trace.parameters[0][0] is dense


def test_no_key_error_leaks_from_user_layers() -> None:
    class Broken(FC):
        def parameters(self, input: T.Type) -> Any:
            raise KeyError("mine")

    with pytest.raises(ArrowTypeError) as caught:
        out(ar.Vector(2) >> Broken(3))
    assert "mine" in str(caught.value)
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_cell_in_a_fold_is_refused() -> None:
    cell, words = ar.GRUCell(3), ar.Map(ar.Vector(3))
    with pytest.raises(ArrowTypeError, match=r"GRUCell\(3\), which takes \(element, state\)"):
        ar.Fold(cell, ar.Zeros(cell.state))
    for pair in (ar.GetItem(0) & ar.GetItem(1), ar.GetItem(1) & ar.GetItem(0)):
        ar.infer(words >> ar.Fold(pair >> cell, ar.Zeros(cell.state)))


@pytest.mark.parametrize(
    "keys", [(1, 0), (np.int64(1), np.int64(0)), (1.0, "a"), ("a", -2), (np.float32(-1), 5)]
)
def test_a_key_that_is_the_position_of_another_field_is_refused(keys: tuple[Any, Any]) -> None:
    """Whatever equals a position is that position."""
    with pytest.raises(ar.ArrowValueError, match="position of another field"):
        ar.Record({key: ar.Identity() for key in keys})
    with pytest.raises(ArrowTypeError, match="position of another item"):
        ar.infer(ar.Vector(2) >> ar.Function(lambda x: dict.fromkeys(keys, x)))


def test_a_slice_of_numbered_fields_has_no_keys() -> None:
    pair = ar.Record({0: ar.Scalar(), 1: ar.Vector(2), 2: ar.Void()}) >> ar.Slice(start=1)
    assert str(ar.infer(pair).output) == "(float32[2], Void)"
    assert str(ar.infer(pair >> ar.GetItem(0)).output) == "float32[2]"


def test_keys_do_not_depend_on_the_order_of_cases() -> None:
    """A key that one case has and another has elsewhere is refused, whichever case is met first."""
    p, q = ar.GetItem("p") >> ar.Scalar(), ar.GetItem("q") >> ar.Scalar("int32")
    early = ar.arrow(lambda x: {"a": p(x), "b": q(x)})
    late = (p & q) >> ar.Function(lambda u, v: (u + 1, v)) >> ar.Function(lambda u, v: {5: u, 6: v})
    for cases in ([early, late], [late, early]):
        for key in ("a", "b", 5, 6):
            with pytest.raises(ArrowTypeError, match="have different keys"):
                ar.infer(ar.OneOf(len, cases) >> ar.GetItem(key) >> ar.Embedding(100, 2))


@pytest.mark.parametrize("order", [1, -1])
def test_keys_are_lost_in_a_recursion(order: int) -> None:
    """The arrow says first what the recursion gives, and a case that has keys says so after the other."""

    def chain(me: Any) -> Any:
        first = ar.GetItem("next") >> me >> ar.arrow(lambda x, _y: x)
        keyed = first >> ar.Function(lambda x: {"a": x, "b": ops.cast(ops.sum(x), "int32")})
        return ar.OneOf(bool, [(True, ar.Vector(3) & ar.Scalar("int32")), (False, keyed)][::order])

    with pytest.raises(ArrowTypeError, match="have different keys"):
        ar.infer(ar.fix(chain) >> ar.GetItem("a"))


def test_a_key_that_cannot_be_hashed_is_no_item() -> None:
    block = ar.Record({"a": ar.Scalar(), "b": ar.Vector(2)}) >> ar.GetItem(np.array([1, 2]))
    with pytest.raises(ar.ArrowTypeError, match="the keys are 'a', 'b'"):
        ar.infer(block)
