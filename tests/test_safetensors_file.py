"""Damaged files and files of strangers: each is refused with an error of the package, and changes nothing."""

from __future__ import annotations

import json
import math
import os
import re
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import arrows as ar
from arrows import safetensors_file as files
from arrows.safetensors_file import open_file, read_file, write_file
from arrows.training import Adam, Progress, load, load_state, read_metadata, save, save_state
from arrows.typesys.errors import ArrowValueError
from tests.profile import NIGHTLY, draws
from tests.training.saving.damage import (
    at,
    block,
    dropped,
    everything,
    loads,
    places,
    put,
    resaved,
    safetensors,
    trained,
)

DROPPED = object()
NUMBERS = (0, -1, -7, 1.5, -0.5, math.nan, math.inf, 2**70, 10**400)
WRONG: tuple[Any, ...] = (DROPPED, None, True, *NUMBERS, "", "x", [], [1], {}, {"a": 1}, {"a": "b"})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Files of a run's state and of parameters, with the model and optimizer after one more step."""
    folder = tmp_path_factory.mktemp("run")
    model, optimizer = trained(folder / "run")
    save(model, folder / "parameters", {"size": "2", "word": "é"})
    model.train_step([[4, 4]], optimizer)
    return folder, model, optimizer


def refused(path: Path, model: Any, optimizer: Any = None, why: str = "") -> str:
    """Asserts that a file is refused, and that nothing has changed; returns the message."""
    before = everything(model, optimizer)
    with pytest.raises(ArrowValueError) as caught:
        _ = load(model, path) if optimizer is None else load_state(path, model, optimizer)
    assert everything(model, optimizer) == before
    text = str(caught.value)
    assert text.startswith(str(path)) and len(text) < 3000 and re.search(why, text), text
    assert all(line.isprintable() for line in text.splitlines())
    return text


# ------------------------------------------------------------------------------ flipped bits, cut files


@pytest.mark.parametrize("name", ["parameters", "run"])
def test_every_flipped_bit_is_noticed(name, run, tmp_path):
    folder, model, optimizer = run
    whole = (folder / name).read_bytes()
    step = 1 if NIGHTLY else {"parameters": 3, "run": 13}[name]
    header = 8 + int.from_bytes(whole[:8], "little")
    bits = [
        *range(0, 8 * header, step),
        *range(8 * header, 8 * len(whole), 1 if name == "parameters" else step),
    ]
    (tmp_path / name).write_bytes(whole)
    with open(tmp_path / name, "r+b", buffering=0) as file:
        for bit in bits:
            for mask in (1 << bit % 8, 0):
                file.seek(bit // 8)
                file.write(bytes([whole[bit // 8] ^ mask]))
                if mask:
                    refused(tmp_path / name, model, optimizer if name == "run" else None)


@pytest.mark.parametrize("name", ["parameters", "run"])
def test_every_cut_is_noticed(name, run, tmp_path):
    folder, model, optimizer = run
    whole = (folder / name).read_bytes()
    for length in range(0, len(whole), 1 if NIGHTLY else 9):
        (tmp_path / name).write_bytes(whole[:length])
        refused(tmp_path / name, model, optimizer if name == "run" else None, "not a whole safetensors file")
    for more in (b"\0", b" " * 8, whole):
        (tmp_path / name).write_bytes(whole + more)
        refused(tmp_path / name, model, optimizer if name == "run" else None, "bytes of numbers")


def test_the_message_tells_numbers_from_header(run, tmp_path):
    folder, model, _ = run
    whole = (folder / "parameters").read_bytes()
    (tmp_path / "m").write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    refused(
        tmp_path / "m", model, None, "damaged: the checksum of its numbers does not match; write the file"
    )
    assert read_metadata(tmp_path / "m")["size"] == "2"
    (tmp_path / "m").write_bytes(whole.replace(b'"size":"2"', b'"size":"3"'))
    refused(tmp_path / "m", model, None, "damaged: the checksum of its header does not match")
    with pytest.raises(ArrowValueError, match="damaged"):
        read_metadata(tmp_path / "m")
    for key in (b"arrows.numbers", b"arrows.header"):
        (tmp_path / "m").write_bytes(whole.replace(key, key.upper()))
        refused(tmp_path / "m", model, None, "one of its two checksums is missing")


@given(st.data())
@draws(60, 5000, "bytes")
def test_random_damage(run, tmp_path_factory, data):
    folder, model, optimizer = run
    name = data.draw(st.sampled_from(["parameters", "run"]))
    whole = bytearray((folder / name).read_bytes())
    first = data.draw(st.integers(0, len(whole) - 1))
    last = data.draw(st.integers(first, min(len(whole), first + 40)))
    whole[first:last] = data.draw(st.binary(max_size=40))
    path = tmp_path_factory.getbasetemp() / "random"
    path.write_bytes(whole)
    if said(path) != said(folder / name):  # a tab for a blank changes nothing
        refused(path, model, optimizer if name == "run" else None)


def said(path: Path) -> Any:
    """The whole content of a file; None if the file is refused."""
    try:
        arrays, texts = read_file(path)
    except ArrowValueError:
        return None
    return texts, {name: (array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()}


# ------------------------------------------------------------------- what a run's state says, checksums right


def harmless(path: tuple[Any, ...], value: Any, old: Any) -> bool:
    """Whether a value could have been written at this place, so that it need not be refused."""
    name, parent = (None, None, *path)[-1], (None, None, *path)[-2]
    if value is DROPPED:
        return parent in ("metadata", "unnamed", "figures", "history", "evaluations")
    whole = type(value) is int and 0 <= value < 2**63
    number = type(value) is float or (type(value) is int and abs(value) < 2**63)
    measure = number and 0 <= value < math.inf
    text = isinstance(value, str)
    ok = {
        "learning_rate": value is None or measure,
        "model_step": value is None or whole,
        "model_seed": value is None,
        "metadata": value in ({}, {"a": "b"}),
        "unnamed": value == {},
        "figures": value in ({}, {"a": 1}),
        "history": value == [],
        "evaluations": value == [],
        "step": whole,
        "steps": whole,
        "epoch": whole and value > 0,
        "accumulate": whole and value > 0,
        "plateau": text,
        "batch_size": whole and value > 0,
        "before": value == [],
        "content": text,
        "epochs": whole,
        "rates": text,
        "unit": text,
        "by": text,
        "began": text,
        "best": type(value) is bool,
        "seed": type(value) is int and 0 <= value < 2**100,
        "total": number,
        "loss": number,
        "dev": number,
        "seconds": measure,
        "examples_per_second": measure,
        "examples": whole and value == 0,
        "position": whole and value <= 4,
    }
    if path[:1] == ("unnamed",) and len(path) == 3:
        return text if name == 0 else whole
    return bool(ok.get(name, parent in ("counts", "since") and whole and value <= 4))


def test_each_number_of_a_run_s_state_is_checked(run, tmp_path):
    folder, model, optimizer = run
    arrays, texts = read_file(folder / "run")
    numbers = json.loads(texts["arrows.run"])
    seen = {"refused": 0, "loaded": 0}
    for path in places(numbers):
        old = at(numbers, path)
        for value in WRONG:
            if (value is DROPPED and not path) or (value == old and type(value) is type(old)):
                continue
            marked = dropped(numbers, path) if value is DROPPED else put(numbers, path, "HERE")
            # Python itself does not write numbers of so many digits.
            digits = "1" + 5000 * "0" if value == 10**400 else "" if value is DROPPED else json.dumps(value)
            text = json.dumps(marked).replace('"HERE"', digits)
            write_file(tmp_path / "run", arrays, {"arrows.run": text})
            if not harmless(path, value, old):
                refused(tmp_path / "run", model, optimizer)
                seen["refused"] += 1
                continue
            with suppress(ArrowValueError):
                loads(tmp_path / "run", ar.compile(block(), seed=3), Adam(0.1, average=0.9))
                seen["loaded"] += 1
    assert seen["refused"] > 500 and seen["loaded"] > 50, seen


@pytest.mark.parametrize(
    "text", ["", "[", "null", "[]", "3", '"x"', "{}", "[" * 100_000, '{"version": 2}', "1" * 5000]
)
def test_a_run_s_state_that_is_none(text, run, tmp_path):
    folder, model, optimizer = run
    write_file(tmp_path / "run", read_file(folder / "run")[0], {"arrows.run": text})
    refused(tmp_path / "run", model, optimizer, "another version" if "version" in text else "damaged")


@pytest.mark.parametrize("position", [-7, -1, 5, 2**62])
def test_a_place_outside_of_the_examples(position, run, tmp_path):
    folder, model, optimizer = run
    resaved(
        folder / "run", tmp_path / "run", lambda _, numbers: put(numbers, ("progress", "position"), position)
    )
    refused(tmp_path / "run", model, optimizer, "damaged: progress.position is")


def test_each_array_of_a_run_s_state_is_checked(run, tmp_path):
    folder, model, optimizer = run
    arrays, texts = read_file(folder / "run")
    path, count = tmp_path / "run", 0
    for name, array in arrays.items():
        others = [
            array[None],
            array[..., :1] if array.shape[-1] > 1 else array[..., :0],
            array.astype("float16"),
        ]
        others += [array.astype("int64"), np.float64(1.0).reshape(())]
        if name.startswith("count:"):
            for bad in (-1.0, 0.5, np.nan, np.inf, 5.0):
                others.append(np.where(np.arange(5) == 2, bad, array))
        for other in others:
            write_file(path, {**arrays, name: other}, texts)
            refused(path, model, optimizer)
            count += 1
        write_file(path, {other: array for other, array in arrays.items() if other != name}, texts)
        refused(path, model, optimizer)
    for extra in (
        "x",
        "parameter:x",
        "slot:x",
        "slot:mean:x",
        "slot:x:FC_1/bias",
        "average:x",
        "since:words/weight",
    ):
        write_file(path, {**arrays, extra: arrays["parameter:FC_1/bias"]}, texts)
        refused(path, model, optimizer)
    write_file(path, {**arrays, "count:FC_1/bias": np.ones(2)}, texts)
    refused(path, model, optimizer, "count of 'FC_1/bias' belongs to no parameter, or occurs twice")
    assert count > 60


def test_a_state_of_averages_is_none_of_an_optimizer_without(run, tmp_path):
    folder, model, _ = run
    plain = Adam(0.1)

    def renamed(_: Any, numbers: Any) -> Any:
        return numbers | {"optimizer": plain.settings}

    resaved(folder / "run", tmp_path / "run", renamed)
    before = everything(model)
    with pytest.raises(ArrowValueError, match="it has averages, and its optimizer keeps none"):
        load_state(tmp_path / "run", model, plain)
    assert everything(model) == before and not plain.state


def test_no_state_is_loaded_while_averages_are_in_use(run):
    folder, model, optimizer = run
    with optimizer.use_averages(model), pytest.raises(ArrowValueError, match="while averages stand in for"):
        load_state(folder / "run", model, optimizer)


def test_what_could_not_be_loaded_is_not_saved(run, tmp_path, monkeypatch):
    _, model, optimizer = run
    with pytest.raises(
        ArrowValueError, match=r"could not be loaded again: it is damaged: progress\.position is -7"
    ):
        save_state(tmp_path / "run", model, optimizer, Progress(position=-7))
    other = ar.compile(ar.Vector(2) >> ar.FC(1, name="fc"))
    with pytest.raises(ArrowValueError, match=r"state of '.*', which is no parameter of this model"):
        save_state(tmp_path / "run", other, optimizer)
    with pytest.raises(ArrowValueError, match=r"keys that begin with 'arrows\.' are reserved"):
        save(model, tmp_path / "run", {"arrows.x": "1"})
    with pytest.raises(ArrowValueError, match="half of a surrogate pair"):
        save(model, tmp_path / "run", {"x": "\ud800"})
    monkeypatch.setattr(files, "LONGEST", 5000)
    with pytest.raises(ArrowValueError, match="has room for"):
        save(model, tmp_path / "run", {"x": "x" * 5000})
    assert not os.listdir(tmp_path)


# ----------------------------------------------------------------------------------------- headers that lie


def entry(dtype: Any = "F32", shape: Any = (2,), offsets: Any = (0, 8)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


EVIL = {
    "nested": b"[" * 200_000,
    "nested in metadata": b'{"__metadata__":{"a":' + b"[" * 200_000 + b"}}",
    "no table": [],
    "metadata of numbers": {"__metadata__": {"a": 3}},
    "metadata as a list": {"__metadata__": []},
    "no table of an array": {"w": 3},
    "a key less": {"w": {"dtype": "F32", "shape": [2]}},
    "a key more": {"w": entry() | {"more": 1}},
    "dtype of a stranger": {"w": entry("\x1b[31m")},
    "dtype as a number": {"w": entry(4)},
    "negative size": {"w": entry(shape=[-2])},
    "truth as a size": {"w": entry(shape=[True, 2])},
    "fraction as a size": {"w": entry(shape=[2.0])},
    "huge size": {"w": entry(shape=[2**70])},
    "digits": b'{"w":{"dtype":"F32","shape":[' + b"9" * 5000 + b'],"data_offsets":[0,8]}}',
    "a product that overflows": {"w": entry(shape=[2**33, 2**33])},
    "many axes": {"w": entry(shape=[1] * 1000)},
    "shape as a text": {"w": entry(shape="2")},
    "offsets that turn": {"w": entry(offsets=[8, 0])},
    "one offset": {"w": entry(offsets=[0])},
    "negative offset": {"w": entry(offsets=[-8, 0])},
    "a hole": {"w": entry(offsets=[0, 8]), "v": entry(offsets=[12, 20])},
    "an overlap": {"w": entry(offsets=[0, 8]), "v": entry(offsets=[4, 12])},
    "too short": {"w": entry(offsets=[0, 4])},
    "no UTF-8": b'{"\xff":3}',
    "not even JSON": b"{]",
    "nothing": b"",
}


@pytest.mark.parametrize("kind", EVIL)
def test_headers_that_lie(kind, run, tmp_path):
    _, model, optimizer = run
    (tmp_path / "m").write_bytes(safetensors(EVIL[kind], bytes(8)))
    refused(tmp_path / "m", model, None, "is not a whole safetensors file")
    refused(tmp_path / "m", model, optimizer, "is not a whole safetensors file")


@pytest.mark.parametrize("dtype", ["BF16", "F8_E4M3", "F8_E5M2", "F4", "C64", "F8_E8M0", "I4"])
def test_element_types_that_numpy_does_not_have(dtype, run, tmp_path):
    _, model, _ = run
    content = {name: entry("F32", list(a.shape)) for name, a in model.params.items()}
    place = 0
    for name, array in model.params.items():
        content[name]["data_offsets"] = [place, place := place + array.nbytes]
    first = next(iter(content))
    content[first]["dtype"] = dtype
    (tmp_path / "m").write_bytes(safetensors(content, bytes(place)))
    refused(tmp_path / "m", model, None, f"{dtype}\\[5, 2\\] in the file, float32\\[5, 2\\] in the model")
    with pytest.raises(ArrowValueError, match=f"is {dtype}, which NumPy does not have"):
        read_file(tmp_path / "m")


def test_a_giant_takes_no_memory_before_it_is_refused(run, tmp_path):
    _, model, optimizer = run
    size = 512 * 10**9
    with open(tmp_path / "m", "wb") as file:
        file.write(safetensors({"words/weight": entry("F32", [size // 4], [0, size])}))
        try:
            file.truncate(file.tell() + size)
        except OSError:
            pytest.skip("this file system has no sparse files")
    tracemalloc.start()
    refused(tmp_path / "m", model, None, "does not fit the model")
    refused(tmp_path / "m", model, optimizer, "is not the state of a training run")
    with pytest.raises(ArrowValueError, match=r"has 512\.0 GB of numbers, and this machine"):
        read_file(tmp_path / "m")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e7


def test_names_of_a_stranger_do_not_steer_the_terminal(run, tmp_path):
    _, model, _ = run
    names = ["\x1b]0;owned\x07", "a" * 5000, "\u202egnp", "\r\n\x9b2J", "\ud800"]
    content = {name: entry(offsets=[8 * i, 8 * i + 8]) for i, name in enumerate(names)}
    (tmp_path / "m").write_bytes(safetensors(content, bytes(8 * len(names))))
    text = refused(tmp_path / "m", model)
    assert "'\\x1b]0;owned\\x07': float32[2] in the file" in text and "a" * 101 not in text
    content = {f"w{i}": entry(offsets=[8 * i, 8 * i + 8]) for i in range(500)}
    (tmp_path / "m").write_bytes(safetensors(content, bytes(8 * 500)))
    assert refused(tmp_path / "m", model).endswith("\n  and 483 more")


def test_texts_of_a_stranger_do_not_steer_the_terminal(run, tmp_path):
    folder, model, optimizer = run
    evil = "\x1b[2J\x1b]0;owned\x07\n" + "x" * 10_000
    for change in ({"optimizer": evil, "began": evil}, {"unnamed": {"FC_1": [evil, -1]}}, {evil: 1}):
        resaved(folder / "run", tmp_path / "run", lambda _, numbers, change=change: numbers | change)
        refused(tmp_path / "run", model, optimizer)
    resaved(folder / "run", tmp_path / "run", lambda _, numbers: put(numbers, ("counts", evil), 1))
    refused(tmp_path / "run", model, optimizer)


@pytest.mark.skipif(os.name != "posix", reason="pipes")
def test_a_pipe_does_not_keep_us_waiting(tmp_path, run):
    os.mkfifo(tmp_path / "m")
    for use in (lambda: read_metadata(tmp_path / "m"), lambda: load(run[1], tmp_path / "m")):
        with pytest.raises(OSError, match="this is not a file"):
            use()
    with pytest.raises(OSError, match="this is not a file"):
        read_metadata(tmp_path)


def test_a_file_that_is_replaced_while_it_is_read_is_read_as_it_was(tmp_path):
    for name, value in (("m", 1.0), ("other", 2.0)):
        write_file(tmp_path / name, {"w": np.full(3, value)}, {"value": str(value)})
    with open_file(tmp_path / "m") as file:
        os.replace(tmp_path / "other", tmp_path / "m")
        assert file.texts == {"value": "1.0"} and file.arrays()["w"].tolist() == [1, 1, 1]
    assert read_file(tmp_path / "m")[1] == {"value": "2.0"}


# --------------------------------------------------------------------------- other programs


def test_other_programs_read_our_files_and_we_theirs(tmp_path):
    arrays = {
        name: np.arange(6).reshape(2, 3).astype(name)
        for name in (
            "float64",
            "float32",
            "float16",
            "int64",
            "int32",
            "int16",
            "int8",
            "uint8",
            "uint64",
            "bool",
        )
    }
    arrays |= {"none": np.zeros((0, 3), "float32"), "scalar": np.float32(2).reshape(()), "é\n": np.ones(1)}
    arrays |= {"columns": np.arange(6.0).reshape(2, 3).T, "big": np.arange(3, dtype=">i4")}
    write_file(tmp_path / "ours", arrays, {"by": "us ∆", "\x1b": "\n"})
    theirs = load_file(tmp_path / "ours")
    with safe_open(tmp_path / "ours", framework="numpy") as file:
        texts = file.metadata()
    assert set(theirs) == set(arrays) and {"by": "us ∆", "\x1b": "\n"}.items() <= texts.items()
    save_file(theirs, tmp_path / "copy", texts)  # in another order: the checksums hold
    save_file(theirs, tmp_path / "theirs", {"by": "them"})
    for path in (tmp_path / "ours", tmp_path / "copy", tmp_path / "theirs"):
        for name, array in read_file(path)[0].items():
            np.testing.assert_array_equal(array, arrays[name])
            assert array.dtype == arrays[name].dtype.newbyteorder("=") and array.flags.writeable
    save_file(theirs | {"scalar": np.zeros((), "float32")}, tmp_path / "edited", texts)
    with pytest.raises(ArrowValueError, match="damaged: the checksum of its numbers"):
        read_file(tmp_path / "edited")
    with pytest.raises(
        ArrowValueError, match="'c' is complex128, and a safetensors file has no such elements"
    ):
        write_file(tmp_path / "complex", {"c": np.zeros(1, complex)})
