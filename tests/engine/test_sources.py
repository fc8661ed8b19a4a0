"""Where examples come from: whatever can be gone over or indexed, and nothing that only looks so."""

from __future__ import annotations

import io
from collections import UserList, deque, namedtuple
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import arrows as ar
from arrows.training import SGD, train

RECORDS = [{"x": 1.0, "n": [1, 2]}, {"x": 2.0, "n": []}, {"x": 3.0, "n": [4]}, {"x": 5.0, "n": [3, 3, 3]}]


class Dataset:
    """A map-style dataset as PyTorch has them: a length and items, and no end to what `iter` tries."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self.asked: list[Any] = []

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Any:
        self.asked.append(index)
        assert type(index) is int, "a dataset is asked for one item at a time"
        return self.items[index % len(self.items)]


class Items:
    """The old protocol of sequences: items until an IndexError."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __getitem__(self, index: int) -> Any:
        return self.items[index]


class Streamed:
    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __iter__(self) -> Iterator[Any]:
        yield from self.items


class Both(Dataset):
    """Goes over its items in an order of its own."""

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)


class Column:
    """As a column of a data frame: values, and `keys` that are labels."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self.shape = (len(items),)

    def keys(self) -> Any:
        return range(10, 10 + len(self.items))

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __getitem__(self, label: int) -> Any:
        raise KeyError(label)


def objects(items: list[Any]) -> np.ndarray:
    array = np.empty(len(items), object)
    array[:] = items
    return array


SOURCES: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "dataset": Dataset,
    "items": Items,
    "streamed": Streamed,
    "both": Both,
    "column": Column,
    "generator": lambda items: (item for item in items),
    "iterator": iter,
    "map": lambda items: map(dict, items),
    "deque": deque,
    "user list": UserList,
    "values of a dict": lambda items: dict(enumerate(items)).values(),
    "object array": objects,
}


def model() -> Any:
    record = ar.Record({"x": ar.Scalar(), "n": ar.Map(ar.Scalar()) >> ar.Sum()})
    return ar.compile(record >> ar.Function(lambda x, n: ar.ops.stack([x, n])) >> ar.FC(1, name="fc") >> LOSS)


LOSS = ar.Function(lambda y: (y[0] - 1.0) ** 2)


def test_a_dataset_is_asked_for_each_item_once() -> None:
    dataset = Dataset(RECORDS)
    train(model(), dataset, SGD(0.01), epochs=3, progress=False)
    assert dataset.asked == [0, 1, 2, 3]


def test_a_dataset_that_fails_says_so_itself() -> None:
    class Missing(Dataset):
        def __getitem__(self, index: int) -> Any:
            raise FileNotFoundError(f"tree-{index}.txt")

    for call in (model(), model().prepare, lambda examples: train(model(), examples, SGD(0.1))):
        with pytest.raises(FileNotFoundError, match="tree-0"):
            call(Missing(RECORDS))


class Frame:
    """As much of a data frame as a mistake needs: going over it, or indexing it, gives columns."""

    columns = ("x", "n")
    shape = (4, 2)

    def __len__(self) -> int:
        return 4

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __getitem__(self, name: str) -> Any:
        return [record[name] for record in RECORDS]


class Table:
    """As PyArrow's: no `__iter__`, and items that are columns."""

    columns = ([1.0, 2.0], [[1], [2]])
    shape = (2, 2)

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Any:
        return self.columns[index]


Record = namedtuple("Record", "x n")  # noqa: PYI024


@pytest.mark.parametrize("call", ["__call__", "prepare", "value_and_grad", "train_step", "train"])
@pytest.mark.parametrize(
    ("given", "words"),
    [
        (RECORDS[0], "got dict"),
        ("text", "got str"),
        (b"bytes", "got bytes"),
        (5, "got int"),
        (None, "got NoneType"),
        (np.array(5.0), "got ndarray"),
        (np.array({"x": 1}, dtype=object), "got ndarray"),
        (Frame(), r"Frame.*columns.*as a list of dicts"),
        (Table(), r"Table.*columns.*PyArrow"),
        (len, "got builtin_function_or_method"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_what_is_no_batch(call: str, given: Any, words: str) -> None:
    one = model()
    calls = {
        "train": lambda: train(one, given, SGD(0.1), progress=False),
        "train_step": lambda: one.train_step(given, SGD(0.1)),
    }
    with pytest.raises(ar.ArrowTypeError, match="(?s)" + words):
        calls.get(call, lambda: getattr(one, call)(given))()
    assert one.step == 0


def test_large_tables_are_read_some_rows_at_a_time(tmp_path: Any) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    polars = pytest.importorskip("polars", reason="Polars is not installed")
    arrow = pytest.importorskip("pyarrow", reason="PyArrow is not installed")
    dataset = pytest.importorskip("pyarrow.dataset")
    count = 2500
    columns = {"x": [float(n) for n in range(count)], "n": [[n] * (n % 3) for n in range(count)]}
    table = arrow.table(columns)
    one = ar.compile((ar.GetItem("x") >> ar.Scalar()) & (ar.GetItem("n") >> ar.Map(ar.Scalar()) >> ar.Sum()))
    sums = [float(n * (n % 3)) for n in range(count)]
    sources: list[Callable[[], Any]] = [
        lambda: pandas.DataFrame(columns, index=range(7, 7 + count)),
        lambda: polars.DataFrame(columns),
        lambda: table,
        lambda: table.to_batches()[0],
        lambda: arrow.RecordBatchReader.from_batches(table.schema, table.to_batches(700)),
        lambda: dataset.dataset(table),
    ]
    for number, make in enumerate(sources):
        x, total = one(make())
        assert x.tolist() == columns["x"] and total.tolist() == sums
        assert [float(row[0]) for row in one.predict_stream(make(), batch_size=999)] == columns["x"]
        again = {} if hasattr(make(), "columns") else {"data": "rows"}
        assert len(one.prepare(make(), cache=tmp_path / str(number), **again)) == count
        assert len(one.prepare(make(), cache=tmp_path / str(number), **again)) == count
    scalars = ar.compile(ar.Scalar())
    for array in (arrow.array(columns["x"]), arrow.chunked_array([[0.0], columns["x"][1:]])):
        assert scalars(array).tolist() == columns["x"]


@pytest.mark.filterwarnings("ignore:.*LazyFrame")
def test_tables_whose_rows_are_not_there() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    polars = pytest.importorskip("polars", reason="Polars is not installed")
    one = ar.compile(ar.GetItem("x") >> ar.Scalar())
    with pytest.raises(ar.ArrowTypeError, match="two columns have the name 'x'"):
        one(pandas.DataFrame([[1, 2]], columns=["x", "x"]))
    with pytest.raises(ar.ArrowTypeError, match=r"(?s)LazyFrame.*table\.collect\(\)"):
        one(polars.DataFrame({"x": [1.0]}).lazy())
    arrow = pytest.importorskip("pyarrow", reason="PyArrow is not installed")
    dataset = pytest.importorskip("pyarrow.dataset")
    twice = arrow.Table.from_arrays([arrow.array([1.0]), arrow.array([2.0])], names=["x", "x"])
    reader = arrow.RecordBatchReader.from_batches(twice.schema, twice.to_batches())
    for table in (twice, twice.to_batches()[0], reader, dataset.dataset(twice)):
        with pytest.raises(ar.ArrowTypeError, match="two columns have the name 'x'"):
            one(table)


def test_lines_of_a_file_are_examples() -> None:
    one = ar.compile(ar.InputTransform(lambda line: len(line.split())) >> ar.Scalar())
    assert one(io.StringIO("a b\nc\n")).tolist() == [2, 1]


def check(source: Callable[[], Any], tmp_path: Any) -> None:
    """Prepared, in memory and in a file, trained and predicted from a source: as from a list."""
    ends: list[list[Any]] = []
    for make in (lambda: RECORDS, source):
        one = model()
        assert len(one.prepare(make(), cache=tmp_path / "set", data="records")) == 4
        losses = [one.value_and_grad(make())[0], one.train_step(make(), SGD(0.01))]
        train(one, make(), SGD(0.01), epochs=2, batch_size=2, progress=False)
        values = one(make()), one(one.prepare(make())[[3, 1]]), list(one.predict_stream(make()))
        ends.append([*losses, *(float(value) for some in values for value in some)])
    assert ends[0] == ends[1]


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_what_a_list_gives(source: str, tmp_path: Any) -> None:
    check(lambda: SOURCES[source](RECORDS), tmp_path)


def test_datasets_of_pytorch(tmp_path: Any) -> None:
    data = pytest.importorskip("torch.utils.data", reason="PyTorch is not installed")

    class MapStyle(data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return len(RECORDS)

        def __getitem__(self, number: int) -> Any:
            return RECORDS[number]

    class IterableStyle(data.IterableDataset):  # type: ignore[misc]
        def __iter__(self) -> Iterator[Any]:
            return iter(RECORDS)

    for number, make in enumerate(
        [
            MapStyle,
            IterableStyle,
            lambda: data.Subset(MapStyle(), [0, 1, 2, 3]),
            lambda: data.ConcatDataset([data.Subset(MapStyle(), [0, 1]), data.Subset(MapStyle(), [2, 3])]),
            lambda: data.DataLoader(MapStyle(), batch_size=None),
        ]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        check(make, folder)


def test_datasets_of_hugging_face(tmp_path: Any) -> None:
    datasets = pytest.importorskip("datasets", reason="the package datasets is not installed")
    make = datasets.Dataset.from_list
    check(lambda: make(RECORDS), tmp_path)
    for number, other in enumerate(
        [make(RECORDS).to_iterable_dataset(), make(RECORDS + RECORDS).select(range(4))]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        check(lambda other=other: other, folder)
    with pytest.raises(ar.ArrowTypeError, match="data="):  # its content is not looked at
        model().prepare(make(RECORDS), cache=tmp_path / "unnamed")


def test_tables(tmp_path: Any) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    check(lambda: pandas.DataFrame(RECORDS), tmp_path)
    model().prepare(pandas.DataFrame(RECORDS), cache=tmp_path / "by content")
    with pytest.raises(ar.ArrowValueError, match="of the content"):
        model().prepare(pandas.DataFrame(RECORDS[::-1]), cache=tmp_path / "by content")
    for name, make in (("polars", "DataFrame"), ("pyarrow", "Table.from_pylist")):
        module = pytest.importorskip(name, reason=f"{name} is not installed")
        folder = tmp_path / name
        folder.mkdir()
        for part in make.split("."):
            module = getattr(module, part)
        check(lambda module=module: module(RECORDS), folder)
