"""Gathers and the bounds of sequences, planned on the host: against what each step reads one by one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrows.engine.device import Arena, Upload, get_device
from arrows.engine.program.emitters.arrays import GatherArrays
from arrows.engine.running.gathers import plan_gather, plan_segments
from arrows.engine.running.operation_code import GatherLayout
from arrows.engine.scheduling import OperationRows, PortRows
from arrows.ops import ROW
from arrows.ops.arrays import HostArray
from arrows.typesys import types as T


def operation_rows(*ports: list[int], bounds: list[int]) -> OperationRows:
    """An operation of one component that reads rows of one slab."""
    return OperationRows(
        count=bounds[-1],
        ports=tuple(PortRows(np.array(rows, np.intp)) for rows in ports),
        offsets={},
        first_rows=(0,),
        bounds=np.array(bounds),
        parts=np.array([0, len(bounds) - 1]),
        components=np.zeros(1, np.int32),
        longest=max(stop - start for start, stop in pairwise(bounds)),
    )


def bound_gather(
    *ports: list[int], bounds: list[int], held: bool = False, device_name: str = "cpu"
) -> tuple[GatherArrays, HostArray]:
    """The arrays of a gather, and its slab."""
    device = get_device(device_name)
    shape = (2 * len(ports),)
    layout = GatherLayout(
        operands=tuple(range(len(ports))),
        type=T.Tensor(shape),
        slab=0,
        level=ROW,
        by_component=False,
        held=held,
    )
    upload = Upload(device)
    rows = operation_rows(*ports, bounds=bounds)
    planned = plan_gather(layout, rows, rows.bounds, upload, kernels=False)
    uploaded = upload.send()
    slab = np.arange(40, dtype=np.float32).reshape(20, 2)
    return planned.bind(Arena(device), uploaded, device.to_device(slab), memory=0, number=0), slab


def read_step(arrays: GatherArrays, bounds: list[int], step: int, width: int) -> HostArray:
    """What an emitted function reads at a step, by its contract."""
    start, stop = bounds[step], bounds[step + 1]
    if arrays.first is None:
        assert arrays.rows is not None
        return np.asarray(arrays.rows[start:stop])
    first, count = arrays.first[step], stop - start
    target = arrays.rows[start:stop] if arrays.rows is not None else None
    if first >= 0:
        values = arrays.slab[first : first + count * width]
    else:
        assert arrays.index is not None
        if target is None:
            assert arrays.buffer is not None
            target = arrays.buffer[:count]
        values = arrays.slab.take(arrays.index[start * width : stop * width], 0)
    values = values.reshape(count, -1)
    if target is not None:
        target[...] = values
    return np.asarray(values)


@given(data=st.data())
def test_each_step_reads_its_rows(data: st.DataObject) -> None:
    bounds = [0, *sorted(data.draw(st.sets(st.integers(1, 8), min_size=1)))]
    width = data.draw(st.integers(1, 2))
    held = data.draw(st.booleans())
    size = bounds[-1]
    ports = []
    for _ in range(width):
        start = data.draw(st.integers(0, 5))
        anywhere = st.lists(st.integers(0, 19), min_size=size, max_size=size)
        ports.append(data.draw(st.one_of(anywhere, st.just(list(range(start, start + size))))))
    arrays, slab = bound_gather(*ports, bounds=bounds, held=held)
    wanted = slab[np.array(ports).T].reshape(size, -1)
    for step, (start, stop) in enumerate(pairwise(bounds)):
        assert (read_step(arrays, bounds, step, width) == wanted[start:stop]).all()
    if held or arrays.first is None:
        assert arrays.rows is not None
        assert (np.asarray(arrays.rows) == wanted).all()


@pytest.mark.parametrize("device", ["cpu", "fake"])
@pytest.mark.parametrize("held", [False, True])
def test_a_range_of_all_steps_is_not_copied(held: bool, device: str) -> None:
    arrays, _ = bound_gather([3, 4, 5], bounds=[0, 1, 3], held=held, device_name=device)
    assert arrays.first is None and arrays.index is None and arrays.buffer is None
    assert arrays.rows is not None and arrays.rows.shape == (3, 2)


def test_ranges_of_two_operands_side_by_side() -> None:
    arrays, slab = bound_gather([4, 6], [5, 7], bounds=[0, 1, 2])
    assert arrays.rows is not None
    assert (np.asarray(arrays.rows) == slab[4:8].reshape(2, 4)).all()


def test_steps_that_read_ranges_need_no_index() -> None:
    arrays, _ = bound_gather([7, 8, 2], bounds=[0, 2, 3])
    assert arrays.first == [7, 2]
    assert arrays.index is None and arrays.rows is None and arrays.buffer is None
    arrays, _ = bound_gather([7, 8, 2], bounds=[0, 2, 3], held=True)
    assert arrays.index is None and arrays.rows is not None


def test_a_buffer_has_the_rows_of_the_longest_step() -> None:
    arrays, _ = bound_gather([7, 7, 2, 4, 9], bounds=[0, 2, 5])
    assert arrays.first == [-1, -1]
    assert arrays.rows is None and arrays.buffer is not None and arrays.buffer.shape == (3, 2)


@given(
    lengths=st.lists(st.integers(0, 3), min_size=1, max_size=8),
    cuts=st.sets(st.integers(1, 7)),
    name=st.sampled_from(["cpu", "fake"]),
)
def test_the_bounds_of_a_sequence(lengths: list[int], cuts: set[int], name: str) -> None:
    device = get_device(name)
    bounds = [0, *sorted(cut for cut in cuts if cut < len(lengths)), len(lengths)]
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    upload = Upload(device)
    planned = plan_segments(offsets, np.array(bounds), upload)
    uploaded = upload.send()
    steps = planned.bind(uploaded)
    assert len(steps) == len(bounds) - 1
    assert planned.most == max(sum(lengths[a:z]) for a, z in pairwise(bounds))
    for (first, last), (start, stop, segments) in zip(pairwise(bounds), steps, strict=True):
        assert (start, stop) == (offsets[first], offsets[last])
        assert device.to_numpy(segments.offsets).tolist() == (offsets[first : last + 1] - start).tolist()
        ids = np.repeat(np.arange(last - first), lengths[first:last])
        assert device.to_numpy(segments.ids).tolist() == ids.tolist()
        assert (segments.count, segments.total) == (last - first, stop - start)
        assert segments.longest == max(lengths)
        assert segments.gapless == (min(lengths) > 0)
