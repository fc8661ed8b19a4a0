"""What was observed of a program: its call sites, what feeds what, and in which stratum they run."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import arrows as ar
from arrows.drawing import draw_dataflow, draw_timeline
from arrows.onthefly.dataflow import Dataflow


def recurrent(schedule="strata"):
    net = ar.OnTheFly(seed=0, schedule=schedule)
    embed, cell, score = ar.Embedding(9, 4), ar.LSTMCell(4), ar.FC(2)
    with net.batch() as g:
        for words in ([1, 2, 3], [4]):
            state = g.zeros(cell.state)
            for word in words:
                state = cell(embed(word), state)
            score(state[0]).numpy()
        timelines = g.timelines
    return net, timelines


def edges(flow):
    return [(flow.calls[a].label, flow.calls[b].label) for a, b in flow.wires]


def test_call_sites_have_their_lines_and_types():
    net, _ = recurrent()
    flow = net.dataflow
    assert [call.label for call in flow.calls] == [
        "values",
        "Embedding(9, 4)",
        "LSTMCell(4)",
        "LSTMCell(4)",
        "FC(2)",
    ]
    assert [call.line.partition(":")[0] for call in flow.calls] == ["", *["test_dataflow.py"] * 4]
    assert flow.calls[4].output == "float32[2]"


def test_nothing_was_observed_at_first():
    assert ar.OnTheFly().dataflow == Dataflow((), ())
    assert "nothing" in str(ar.OnTheFly()._repr_svg_())


def test_strata_do_not_depend_on_the_schedule():
    assert recurrent("agenda")[0].dataflow == recurrent("strata")[0].dataflow


def test_what_a_block_computes_is_observed_too():
    net = ar.OnTheFly()
    with net.batch() as g:
        g(
            ar.Map(ar.Scalar()) >> ar.Map(ar.Function(lambda x: x * 2, name="double")) >> ar.Sum(), [1, 2]
        ).numpy()
    assert edges(net.dataflow) == [("values", "double"), ("double", "Sum()")]


def test_rows_of_elements_belong_to_their_call():
    net, weigh = ar.OnTheFly(), ar.Function(ar.ops.segment_softmax, name="weigh")
    with net.batch() as g:
        weights = weigh([g.tensor(1.0), g.tensor(3.0)])
        g.numpy(weights[0] + weights[1])
    flow = net.dataflow
    assert edges(flow) == [("values", "weigh"), ("weigh", "add")]
    assert len({call.stratum for call in flow.calls}) == 3


def test_values_of_earlier_runs_keep_their_origin():
    net, add = ar.OnTheFly(), ar.Function(lambda x: x + 1, name="add")
    with net.batch():
        x = add(1)
        x.numpy()
        ar.Function(lambda x: x * 2, name="double")(x).numpy()
    assert edges(net.dataflow) == [("values", "add"), ("add", "double")]


def test_the_picture_of_a_program():
    net, _ = recurrent()
    assert "step by step" in draw_dataflow(net.dataflow)
    assert str(net.dataflow) + "\n" == draw_dataflow(net.dataflow)  # so `print` draws it
    assert ET.fromstring(net._repr_svg_()).tag.endswith("svg")


def test_the_timeline_of_a_run_to_come_is_drawn():
    net = ar.OnTheFly()
    with net.batch() as g:
        x = ar.FC(3)(g.tensor([1.0, 2.0]))
        drawn = draw_timeline(g.timeline(x))
        assert "FC  █    1 step, 1 row" in drawn
        assert drawn.startswith("strata: 1 step, 1 row\n")  # of no example: a program has none
        assert not g.timelines
