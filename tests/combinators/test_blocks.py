"""Blocks as values: frozen, flat, copied and pickled with their sharing."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows import FC
from arrows.combinators import AndFan
from arrows.typesys import ArrowTypeError, ArrowValueError, types as T
from tests.combinators.kit import Embedding, tree_lstm


def test_blocks_are_frozen() -> None:
    for block in (ar.Scalar(), ar.Scalar() >> ar.Identity(), FC(3), ar.Map(ar.Scalar()), tree_lstm()):
        with pytest.raises(AttributeError, match="frozen"):
            block.name = "other"
        with pytest.raises(AttributeError, match="frozen"):
            block.anything = 3
        with pytest.raises(AttributeError, match="frozen"):
            del block.site


class _Times(ar.Layer[Any, Any]):
    def parameters(self, input: Any) -> tuple[ar.ops.Parameter, ...]:
        return ()

    def forward(self, parameters: Any, x: Any) -> Any:
        return x * getattr(self, "factor", 2.0)


@pytest.mark.parametrize("frozen", [False, True])
def test_a_dataclass_layer_is_a_frozen_value(frozen: bool) -> None:
    @dataclass(eq=False, frozen=frozen)
    class Scale(_Times):
        factor: float

    layer = Scale(3.0)
    assert ar.compile(ar.Scalar() >> layer)([2]).tolist() == [6]
    assert len({layer, Scale(3.0), layer}) == 2
    assert layer.label == "Scale(3.0)"
    with pytest.raises(AttributeError):
        layer.factor = 4.0
    with pytest.raises(ArrowTypeError, match="Scale has no argument 'factors': it takes factor"):
        Scale(factors=3.0)


@pytest.mark.parametrize(
    "options", [{}, {"frozen": True}, {"unsafe_hash": True}, {"eq": False, "slots": True}]
)
def test_a_dataclass_layer_that_is_no_frozen_value_is_refused(options: dict[str, bool]) -> None:
    @dataclass(**options)
    class Scale(_Times):
        factor: float

    with pytest.raises(ArrowTypeError, match="slots" if "slots" in options else r"@dataclass\(eq=False\)"):
        Scale(3.0)


def test_a_layer_with_an_equality_of_its_own_is_refused() -> None:
    class Equal(_Times):  # noqa: PLW1641
        def __eq__(self, other: object) -> bool:
            return True

    class Hashed(_Times):
        def __hash__(self) -> int:
            return 0

    class Below(Equal):
        pass

    for kind in (Equal, Hashed, Below, Equal):
        with pytest.raises(ArrowTypeError, match="blocks compare by identity"):
            kind()


def test_compose_is_flat_and_associative() -> None:
    f, g, h = ar.GetItem(0), ar.GetItem(1), ar.GetItem(2)
    for block in ((f >> g) >> h, f >> (g >> h), ar.Identity() >> f >> g >> ar.Identity() >> h):
        assert block.parts == (f, g, h)
    assert (ar.Identity() >> f) is f and (f >> ar.Identity()) is f
    assert ar.Pipe(f, g).parts == (f, g)
    assert (ar.Pipe(f, g, name="both") >> h).parts[0].name == "both"


def test_growing_does_not_change_what_it_grew_from() -> None:
    f, g, h = ar.GetItem(0), ar.GetItem(1), ar.GetItem(2)
    one = f >> g
    two, three = one >> h, one >> f
    assert (one.parts, two.parts, three.parts) == ((f, g), (f, g, h), (f, g, f))


def test_fan_out_extends_only_what_fan_out_made() -> None:
    a, b, c = ar.Scalar(), ar.Scalar(), ar.Scalar()
    assert (a & b & c).parts == (a, b, c)
    assert ((a & b) & c).parts == (a, b, c)
    nested = a & (b & c)
    assert nested.parts[0] is a and isinstance(nested.parts[1], AndFan)
    assert len((ar.AllOf(a, b) & c).parts) == 2
    assert len((ar.Record({"x": a}) & c).parts) == 2
    assert ar.infer(a & (b & c)).output == T.as_type(([], ([], [])))


def test_records_stand_where_a_block_is_expected() -> None:
    record: Any = {"b": ar.Scalar(), "a": ar.Vector(2)}
    typed = ar.infer(record >> ar.GetItem("a"))
    assert typed.output == T.Tensor((2,))
    assert ar.infer(ar.Map(record)).output == T.as_type(T.Sequence(T.as_type(([], [2]))))
    assert str(ar.infer(record).output) == "(b: float32, a: float32[2])"
    assert ar.infer((ar.Scalar(), ar.Scalar("int32")) >> ar.GetItem(1)).output == T.Tensor((), "int32")
    assert ar.infer([("x", ar.Scalar())]).output == T.as_type(([],))
    assert ar.infer(ar.Record({})).output == T.Tuple(())
    assert ar.infer(np.zeros((2, 3)) >> ar.Identity()).output == T.Tensor((2, 3), "float64")


def test_sites_are_where_the_user_made_a_block() -> None:
    block = ar.Scalar() >> ar.Optional(ar.Scalar())
    assert block.site.file == __file__ == ar.Map(FC(3)).site.file
    assert str(block.parts[0].site).startswith("test_blocks.py:")


def test_a_copy_has_the_lines_of_source_themselves() -> None:
    """They never change, and to copy each would take most of the time of a copy."""
    block = ar.Map(ar.Scalar() >> FC(3))
    twin = copy.deepcopy(block)
    assert twin.site is block.site and twin.parts[0].parts[1].site is block.parts[0].parts[1].site


def test_copies_keep_which_places_share() -> None:
    dense = FC(3)
    block = ar.GetItem(0) >> ar.Vector(2) >> dense & ar.GetItem(1) >> ar.Vector(2) >> dense
    for twin in (copy.deepcopy(block), pickle.loads(pickle.dumps(block))):
        first, second = twin.parts
        assert first.parts[-1] is second.parts[-1] is not dense
        assert first.parts[-1].size == 3
        assert repr(twin) == repr(block)
        with pytest.raises(AttributeError, match="frozen"):
            first.parts[-1].size = 4
    shallow = copy.copy(block)
    assert shallow is not block and shallow.parts[0].parts[-1] is shallow.parts[1].parts[-1] is dense
    one, two = pickle.loads(pickle.dumps((ar.Scalar() >> dense, ar.Map(dense))))
    assert one.parts[1] is two.parts[0]
    one, two = copy.deepcopy((ar.Scalar() >> dense, ar.Map(dense)))
    assert one.parts[1] is two.parts[0]


def double(x: Any) -> Any:
    return x * 2


def first(me: Any) -> Any:
    return ar.OneOf(len).case(0, ar.Zeros([2])).case(1, ar.GetItem(0) >> me >> ar.Function(double))


def test_recursive_blocks_pickle() -> None:
    twin = pickle.loads(pickle.dumps(ar.fix(first)))
    assert ar.infer(twin).output == T.Tensor((2,))
    assert ar.infer(copy.deepcopy(ar.fix(first))).output == T.Tensor((2,))


def test_arrows_pickle() -> None:
    block = ar.arrow(_swap)
    assert ar.infer(pickle.loads(pickle.dumps(block))).output == T.as_type((T.Input(), T.Input()))


def _swap(a: Any, b: Any) -> Any:
    return b, a


def test_blocks_leave_no_cycles() -> None:
    gc.collect()
    block = ar.Map(ar.Scalar()) >> ar.Sum()
    ref = weakref.ref(block)
    gc.disable()
    try:
        del block
        assert ref() is None
    finally:
        gc.enable()


def test_printing() -> None:
    assert repr(ar.GetItem("a") >> ar.Scalar("int32")) == "GetItem('a') >> Scalar('int32')"
    assert (
        repr((ar.Scalar() & ar.Zeros([2])) >> ar.Concat())
        == "(Scalar('float32') & Zeros(float32[2])) >> Concat()"
    )
    assert repr(ar.Record({"a": ar.Scalar()})) == "Record({'a': Scalar('float32')})"
    assert repr(FC(5, name="dense")) == "FC(5, name='dense')"
    assert repr(Embedding(10, size=3)) == "Embedding(10, size=3)"
    assert repr(ar.OneOf(len).case(1, ar.Scalar())) == "OneOf(len, {1: Scalar('float32')})"
    assert repr(ar.arrow(_swap)) == (
        "arrow _swap(a, b) {w1 = (GetItem(1))(input); w2 = (GetItem(0))(input); return (w1, w2)}"
    )
    assert repr(ar.fix(first)).startswith("fix(first: OneOf(len, {0: Zeros(float32[2])")
    assert "tree" in repr(tree_lstm())


def test_oneof_forms() -> None:
    a, b = ar.Scalar(), ar.Zeros([])
    assert ar.OneOf(bool, {True: a, False: b}).keys == (True, False)
    assert ar.OneOf(bool, [a, b]).keys == (0, 1)
    assert ar.OneOf(str, [("x", a), ("y", b)]).keys == ("x", "y")
    assert ar.OneOf(str, name="which").case("x", a).name == "which"
    by_block = ar.OneOf(ar.GetItem("kind")).case("x", ar.GetItem("v") >> a).case("y", b)
    assert by_block.cases[1] is b and ar.infer(by_block).output == T.Tensor(())
    base = ar.OneOf(bool).case(True, a)
    base.case(False, b)
    assert base.keys == (True,)
    with pytest.raises(ArrowValueError, match="no case"):
        ar.OneOf(bool, {})
    with pytest.raises(ArrowTypeError, match="key"):
        ar.OneOf(3, [a])  # type: ignore[call-overload]
    with pytest.raises(ArrowTypeError, match="hashed"):
        ar.OneOf(bool).case([], a)  # type: ignore[arg-type]
    for misuse in (lambda c: c >> a, lambda c: c & a, ar.Map, ar.infer):
        with pytest.raises(ArrowTypeError, match="a OneOf without cases"):
            misuse(ar.OneOf(bool))


def test_constants() -> None:
    assert ar.Constant(3).type == T.Tensor((), "int32")
    assert ar.Constant(3.5).type == T.Tensor(())
    assert ar.Constant(True).type == T.Tensor((), "bool")
    assert ar.Constant(np.ones(2)).type == T.Tensor((2,), "float64")
    assert ar.Constant(1, "int64").type == T.Tensor((), "int64")
    for bad in ("x", None, [[1], [2, 3]], {}, 2**40):
        with pytest.raises(ArrowTypeError):
            ar.Constant(bad)
    with pytest.raises(ArrowTypeError, match="fraction"):
        ar.Constant(0.5, "int32")
    source = np.zeros(3)
    block = ar.Constant(source)
    source[0] = 1
    assert block.value is not None and block.value[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        block.value[0] = 1


def test_a_finished_arrow_keeps_its_wires_to_itself() -> None:
    kept: list[Any] = []

    def body(x: Any) -> Any:
        kept.append(x)
        return x

    ar.arrow(body)
    with pytest.raises(ArrowTypeError, match="not open here"):
        ar.Scalar()(kept[0])


def test_an_arrow_whose_body_fails_leaves_nothing_behind() -> None:
    def body(x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ar.arrow(body)
    assert ar.infer(ar.arrow(lambda x: ar.Scalar()(x))).output == T.Tensor(())


def test_arrows_nest() -> None:
    inner = ar.arrow(lambda a, b: ar.Function(lambda x, y: x + y)(a, b))

    def outer(x: Any) -> Any:
        y = ar.Scalar()(x)
        again = ar.arrow(lambda z: inner(z, z))
        return {"sum": inner(y, y), "more": again(y)}

    assert str(ar.infer(ar.arrow(outer)).output) == "(sum: float32, more: float32)"
