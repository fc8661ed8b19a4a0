"""Reads examples once, for many batches."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

from arrows.engine.reading import ReaderRecipe
from arrows.engine.scheduling import BatchReader, Examples, Prepared
from arrows.inference import Typed
from arrows.storage import require_path

if TYPE_CHECKING:
    from concurrent.futures import Executor


class Preparing(Protocol):
    """The part of a `Model` that prepares examples.

    Attributes:
        typed: the typed expression.
        schedule, float_type, max_nodes: as in `arrows.compile`.
        batches: reads examples.
    """

    typed: Typed
    schedule: str
    float_type: str | None
    max_nodes: int
    batches: BatchReader

    def prepare(
        self,
        examples: Examples,
        *,
        processes: int = 1,
        executor: Executor | None = None,
        cache: str | os.PathLike[str] | None = None,
        data: str | None = None,
    ) -> Prepared:
        """Lowers and numbers examples once; ``prepared[indices]`` is a batch of them.

        Args:
            examples: to lower: a list, or whatever else can be gone over or has a length and items.
            processes: how many share the work: on Linux, while no other thread runs. What the block's
                functions change in a process is lost there; labels and tapped objects come back as copies.
            executor: shares the work instead: a `concurrent.futures.Executor`, such as a
                `ProcessPoolExecutor`, an `mpi4py.futures.MPIPoolExecutor`, or `client.get_executor()` of a
                Dask client. The block and the examples are pickled, by cloudpickle where it is installed.
            cache: a file in which the set is kept, and from which batches are read, so that it may be larger
                than memory. If the file is not there, it is written, with bounded memory; if it is, it is
                mapped, and the examples are not read. It serves this version of arrows, models that read as
                this one does, and the same examples: lists, arrays and tables are compared by their content.
            data: names the examples of a `cache`, in place of their content: a generator's must be named,
                and those that are read from elsewhere when they are asked for. Say something else when they
                change.

        Raises:
            InputError: an example does not fit.
            ArrowTypeError: something cannot be pickled for the workers, or written to the file, or nothing
                shows whether a later call has the same examples and functions.
            ArrowValueError: ``processes`` is no positive integer, or ``cache`` names no file; or its file is
                damaged, or does not fit the model or the examples: the message says how, and the file stays
                as it is.
            OSError: the file cannot be read or written.

        Example:
            >>> import arrows as ar, tempfile
            >>> model = ar.compile(ar.Map(ar.Scalar()) >> ar.Sum())
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     for examples in [[[1, 2], [3]], [[1, 2], [3]]]:  # the second time, the file is there
            ...         prepared = model.prepare(examples, cache=f"{folder}/numbers.set")
            ...     model(prepared[[1, 0]]).tolist()
            [3.0, 3.0]
        """
        recipe = ReaderRecipe(self.typed.form, self.float_type, self.schedule, self.max_nodes)
        path = None if cache is None else require_path("prepare: cache", cache)
        return self.batches.prepare(examples, recipe, processes, executor, path, data)
