"""`Embedding`: a table with a vector for each integer, trained or given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arrows import ops
from arrows.combinators import AnyBlock, Function, wrong_argument
from arrows.layers import initializers
from arrows.layers.arguments import DeclaredLayer, float_type
from arrows.ops import IndexOutOfRange, Initializer, Parameter, ShapeError, TensorLike
from arrows.typesys import static as S, types as T

_UNIFORM = initializers.uniform(0.1)


@dataclass(eq=False, repr=False)
class Embedding(DeclaredLayer[S.Tensor[Any, Any], S.Tensor[Any, Any]]):
    """From an integer i to row i of a table, a vector [size].

    For a tensor of integers the vectors lie along a new last axis.  Gradients of the table are row-sparse.

    Args:
        buckets: number of rows; each integer i has 0 <= i < buckets.
        size: length of a vector.
        initializer: first values of the table.
        dtype: element type of the table.
        trainable: whether the table is trained; if not, it is still saved and loaded, but never changes.
        name: the name in messages, and of the parameter: `name/weight`.

    Parameters of the layer:
        weight [buckets, size].

    Raises:
        ArrowTypeError, ArrowValueError: an argument has a wrong type or value.
        ShapeError: when types are checked, the input is not an integer tensor.
        IndexError: an integer of an example is out of range.

    >>> import arrows as ar
    >>> (ar.Scalar("int32") >> ar.Embedding(10, 4)).eval(7).shape
    (4,)
    >>> import numpy as np
    >>> vectors = ar.Embedding.of(np.array([[1.0, 2.0], [3.0, 4.0]]), trainable=False)
    >>> (ar.Scalar("int32") >> vectors).eval(1).tolist()
    [3.0, 4.0]

    Words in and words out of one table (`attend`), in a tagger that says each word again:

    >>> embed = ar.Embedding(10, 4)
    >>> again = ar.Scalar("int32") >> embed >> ar.FC(4, ar.ops.tanh) >> embed.attend
    >>> list(ar.compile(again).params), again.eval(7).shape
    (['Embedding_1/weight', 'FC_1/weight', 'FC_1/bias'], (10,))
    """

    buckets: int
    size: int
    initializer: Initializer = _UNIFORM
    _: KW_ONLY
    dtype: str = "float32"
    trainable: bool = True

    @staticmethod
    def of(table: npt.ArrayLike, *, trainable: bool = True, name: str | None = None) -> Embedding:
        """An embedding with a given table, such as word vectors.

        Args:
            table: an array of floating numbers [buckets, size]; it is copied.
            trainable: whether the table is trained further.
            name: the name in messages, and of the parameter: `name/weight`.

        Raises:
            ArrowTypeError: the table is not an array of two axes.
            ArrowValueError: its elements are not floating.
        """
        shape = np.shape(table)
        if len(shape) != 2:
            raise wrong_argument(
                "Embedding", f"the table of Embedding is an array [buckets, size], got shape {list(shape)}"
            )
        values = np.asarray(table)
        return Embedding(
            shape[0],
            int(shape[1]),
            initializers.given(values),
            dtype=float_type("Embedding", "element type", values.dtype),
            trainable=trainable,
            name=name,
        )

    @property
    def attend(self) -> Attend:
        """The product with the transposed table, from a vector [size] to its inner product with each row.

        A matrix [n, size] gives the products of each of its rows, [n, buckets].

        A block, and the same one each time: `h >> embed.attend`, or `embed.attend(h)` on a wire, in a
        `Function` and on the fly.  As the scores of a word that is to come, it ties the table of the words
        that are read to that of the words that are written: one parameter, whose gradient is dense then.

        Source: Press, Wolf, "Using the Output Embedding to Improve Language Models", EACL 2017, section 3;
        Inan, Khosravi, Socher, "Tying Word Vectors and Word Classifiers", ICLR 2017.

        >>> import arrows as ar
        >>> embed = ar.Embedding.of([[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]])
        >>> (ar.Vector(2, "float64") >> embed.attend).eval([1, 10]).tolist()
        [21.0, 43.0, 10.0]
        """
        attend: Attend | None = self.__dict__.get("_attend")
        if attend is None or attend.of_example != self._products:  # a shallow copy is another layer
            attend = self.__dict__["_attend"] = Attend(self._products)
        return attend

    def _products(self, *args: Any) -> TensorLike:
        (spec,) = self.parameters(T.Tensor((), "int32"))
        table = ops.parameter(self, spec)
        vector = args[0] if len(args) == 1 else None
        if not isinstance(vector, TensorLike):
            raise ShapeError(f"attend takes one vector of size {self.size}, not {len(args)} inputs")
        if vector.ndim not in (1, 2) or vector.shape[-1] != self.size or vector.dtype != table.dtype:
            wanted = T.Tensor((self.size,), table.dtype)
            hint = f"put ar.FC({self.size}) before it" if vector.ndim else ""
            if vector.shape[-1:] == wanted.shape:
                hint = f'cast it: x.cast("{table.dtype}")'
            raise ShapeError(
                f"the rows of {self.label} are {wanted}, and attend takes a vector like them, "
                f"not {vector.type}",
                hint=hint,
            )
        if vector.ndim == 1:  # the gradient, a sum of outer products, comes out the right way round
            return ops.matmul(table, vector)
        return ops.matmul(vector, ops.transpose(table))

    def parameters(self, input: T.Type) -> tuple[Parameter, ...]:
        if not isinstance(input, T.Tensor) or input.floating or input.dtype == "bool":
            raise ShapeError(
                f"the input of Embedding must be an integer, not {input}",
                hint='read it with ar.Scalar("int32")',
            )
        shape = self.buckets, self.size
        return (Parameter("weight", shape, self.dtype, self.initializer, trainable=self.trainable),)

    def forward(self, parameters: Mapping[str, TensorLike], index: TensorLike) -> TensorLike:
        return ops.gather(parameters["weight"], index)

    def out_of_range(self, error: IndexOutOfRange) -> tuple[str, str]:
        rows = f"the rows of its table are 0 to {self.buckets - 1}"
        if error.index < 0:
            return str(error), f"{rows}; a row for what is unknown is one more, at the end"
        return str(error), f"{rows}; ar.Embedding({error.index + 1}, {self.size}) has one for {error.index}"


class Attend(Function[Any, Any]):
    """`embed.attend`, the function of its embedding under a name of its own."""

    kind = "attend"

    def brief(self, depth: int) -> str:
        return f"{self.of_example.__self__.brief(depth)}.attend"  # type: ignore[attr-defined]

    def pieces(self) -> list[str | AnyBlock]:
        return [*self.of_example.__self__.pieces(), ".attend"]  # type: ignore[attr-defined]
