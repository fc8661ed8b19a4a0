"""Terms of unification: type variables, structures of variables, and the constraints that wait on them.

When a variable changes, `Propagation` schedules the constraints that wait on it. A structure counts its parts
that are not ground yet (`pending`): when a part becomes ground, the count tells whether the whole is ground,
without looking at the other parts. (A type is ground if no part of it is open.)
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Literal, cast

from arrows.typesys import types as T
from arrows.typesys.errors import ArrowTypeError

if TYPE_CHECKING:
    from arrows.typesys.coercion import Coercion
    from arrows.typesys.unify import Solver

Kind = Literal["tuple", "sequence", "broadcast"]
MAX_PARTS = 100_000  # leaves of a type, each counted wherever it occurs: n nested pairs may have 2**n leaves
SHOWN = 200  # the most parts of a type that a message shows


class Struct:
    """A tuple or sequence whose parts may be open.

    Attributes:
        kind: tuple, sequence or broadcast.
        args: the variables of its parts.
        labels, lost: the keys of a tuple's items, or None, and those that it lost (`types.Tuple`).
        pending: the number of parts that are not ground yet.
        impure: whether some part is known not to be `Input`, so that the whole cannot convert to `Input`.
        owner: the variable whose head this is.
    """

    __slots__ = ("args", "impure", "kind", "labels", "lost", "owner", "pending")

    def __init__(
        self,
        kind: Kind,
        args: list[TypeVariable],
        labels: T.Labels | None,
        lost: frozenset[T.Labels],
        owner: TypeVariable,
    ) -> None:
        self.kind = kind
        self.args = args
        self.labels = labels
        self.lost = lost
        self.owner = owner
        self.pending = 0
        self.impure = kind == "broadcast"

    def ground(self) -> T.Type:
        """The type, once all parts are ground."""
        parts = cast("tuple[T.Type, ...]", tuple(find(a).head for a in self.args))
        if self.kind == "tuple":
            return T.Tuple(parts, self.labels, self.lost)
        return (T.Sequence if self.kind == "sequence" else T.Broadcast)(parts[0])


class TypeVariable:
    """A type that is not known yet.

    Attributes:
        link: the variable that this one was made equal to, if any.
        head: a ground type, a `Struct`, or None while it is open.
        struct: the parts of a compound type, made on demand; kept when the head becomes ground.
        watch: the constraints to run when this changes.
        parents: the structs that this is a part of.
        origin: what fixed the type first, for messages; nothing here looks inside.
        via: the coercion through which the type came, if any.
    """

    __slots__ = ("head", "link", "origin", "parents", "struct", "via", "watch")

    def __init__(self, head: T.Type | None = None, origin: object = None) -> None:
        self.link: TypeVariable | None = None
        self.head: T.Type | Struct | None = head
        self.struct: Struct | None = None
        self.watch: list[Constraint] = []
        self.parents: list[Struct] | tuple[()] = ()  # most variables have none
        self.origin = origin
        self.via: Coercion | None = None

    def within(self, struct: Struct) -> None:
        """Notes that this variable is a part of `struct`."""
        if self.parents:
            self.parents.append(struct)
        else:
            self.parents = [struct]


def find(v: TypeVariable) -> TypeVariable:
    """The variable that stands for all that were made equal to `v` (union-find, with path compression)."""
    root = v
    while root.link is not None:
        root = root.link
    while v is not root:
        assert v.link is not None
        v.link, v = root, v.link
    return root


def ground(v: TypeVariable) -> T.Type | None:
    """The type of `v`, or None while some part of it is open."""
    head = find(v).head
    return head if isinstance(head, T.Type) else None


class Clash(Exception):
    """Two types that must be equal are not. The solver catches this; `inference`, which knows the blocks,
    explains it."""

    def __init__(self, left: TypeVariable, right: TypeVariable, infinite: bool = False) -> None:
        super().__init__()
        self.left = left
        self.right = right
        self.infinite = infinite


class TooWide(ArrowTypeError):
    """A type has more than `MAX_PARTS` leaves; `inference`, which knows the blocks, explains this."""

    def __init__(self, width: int) -> None:
        super().__init__(f"a type of {width:,} parts")
        self.width = width


class Constraint:
    """A relation between types that must hold. It runs whenever a variable that it waits on changes.

    A constraint may refine its types any number of times, so running it again must do no harm.
    """

    __slots__ = ("queued",)

    def __init__(self) -> None:
        self.queued = False

    @property
    def inside(self) -> TypeVariable | None:
        """The element type of the container that the constraint waits for; None if it waits for none.

        Where the element type is `Input`, the container itself may turn out to be an `Input`.
        """
        return None

    def run(self, solver: Solver) -> None:
        """Refines the types as far as they are known by now.

        Raises:
            Clash: it cannot hold.
        """
        raise NotImplementedError


class Propagation:
    """The worklist of a solver: passes changes of a variable on to the structures and constraints around it.

    Attributes:
        work: the constraints that will run, in this order, each at most once.
    """

    def __init__(self) -> None:
        self.work: deque[Constraint] = deque()

    def schedule(self, constraint: Constraint) -> None:
        """Puts the constraint into the worklist, unless it is there."""
        if not constraint.queued:
            constraint.queued = True
            self.work.append(constraint)

    def notify(self, v: TypeVariable) -> None:
        """Schedules the constraints that wait on `v`, which has changed."""
        for constraint in v.watch:  # `schedule`, inlined: inference calls no other method as often
            if not constraint.queued:
                constraint.queued = True
                self.work.append(constraint)

    def became_ground(self, v: TypeVariable) -> None:
        """Passes on that `v` is ground: the structures around it may become ground, and those around them."""
        todo = [v]
        while todo:
            v = todo.pop()
            if v.watch:
                self.notify(v)
            if not v.parents:
                continue
            assert isinstance(v.head, T.Type)
            impure = not v.head.pure_input
            for struct in v.parents:
                struct.pending -= 1
                owner = find(struct.owner)
                if isinstance(owner.head, T.Type):
                    continue
                if struct.pending == 0:
                    owner.head = struct.ground()
                    todo.append(owner)
                elif impure and not struct.impure:
                    struct.impure = True
                    self.notify(owner)
                    self.became_impure(owner)

    def became_impure(self, v: TypeVariable) -> None:
        """Passes on that `v` cannot convert to `Input`: the structures around it cannot either."""
        todo = [v]
        while todo:
            for struct in todo.pop().parents:
                if not struct.impure:
                    struct.impure = True
                    owner = find(struct.owner)
                    self.notify(owner)
                    todo.append(owner)


def width(v: TypeVariable) -> int:
    """The number of leaves of the type at `v`, as far as it is known.

    Example:
        >>> from arrows.typesys.unify import Solver
        >>> s, v = Solver(), TypeVariable()
        >>> for _ in range(3):
        ...     v = s.make("tuple", [v, v])
        >>> width(v)
        8
    """
    counts: dict[int, int] = {}
    todo = [(find(v), False)]
    while todo:
        x, ready = todo.pop()
        if not isinstance(x.head, Struct):
            counts[id(x)] = 1 if x.head is None else x.head.width
        elif ready:
            counts[id(x)] = sum(counts[id(find(arg))] for arg in x.head.args)
        elif id(x) not in counts:
            counts[id(x)] = 1  # a placeholder, never read: no type contains itself
            todo.append((x, True))
            todo.extend((find(arg), False) for arg in x.head.args)
    return counts[id(find(v))]


def occurs(v: TypeVariable, struct: Struct) -> bool:
    """Whether `v` occurs in `struct` at any depth; made equal, the two would be an infinite type."""
    seen: set[int] = set()
    todo = [struct]
    while todo:
        for arg in todo.pop().args:
            arg = find(arg)
            if arg is v:
                return True
            if isinstance(arg.head, Struct) and id(arg) not in seen:
                seen.add(id(arg))
                todo.append(arg.head)
    return False


def coercible(left: T.Type, right: T.Type) -> bool:
    """Whether a value of type `left` may go where `right` is wanted.

    Example:
        >>> coercible(T.Tuple((T.Input(), T.Input())), T.Input()), coercible(T.Tensor(()), T.Input())
        (True, False)
    """
    todo = [(left, right)]
    while todo:
        left, right = todo.pop()
        if left is right or (isinstance(right, T.Input) and left.pure_input):
            continue
        if not right.has_input:
            if left != right:
                return False
            continue
        if type(left) is not type(right) or len(left.children) != len(right.children):
            return False
        todo.extend(zip(left.children, right.children, strict=True))
    return True


def compound(head: T.Type | Struct | None) -> bool:
    """Whether a head has parts."""
    return isinstance(head, (Struct, T.Tuple, T.Sequence, T.Broadcast))


def labels_of(head: T.Type | Struct | None) -> T.Labels | None:
    """The labels of a tuple's own items; None for other types."""
    return head.labels if isinstance(head, (Struct, T.Tuple)) else None


def lost_by(head: T.Type | Struct | None) -> frozenset[T.Labels]:
    """The labels that a tuple lost (`types.Tuple`); none for other types."""
    return head.lost if isinstance(head, (Struct, T.Tuple)) else frozenset()


def kind_of(t: T.Type | None) -> Kind | None:
    """Which kind of structure a type is; None for a type without parts."""
    if isinstance(t, T.Tuple):
        return "tuple"
    if isinstance(t, T.Sequence):
        return "sequence"
    return "broadcast" if isinstance(t, T.Broadcast) else None


def notation(v: TypeVariable) -> str:
    """The notation of the type at `v`, with `?` for each open part.

    Example:
        >>> from arrows.typesys.unify import Solver
        >>> s = Solver()
        >>> notation(s.make("tuple", [TypeVariable(T.Input()), TypeVariable()]))
        '(Input, ?)'
    """
    text: list[str] = []
    todo: list[TypeVariable | str] = [v]
    met: set[int] = set()
    while todo:
        x = todo.pop()
        if isinstance(x, str):
            text.append(x)
            continue
        x = find(x)
        head = x.head
        if head is None:
            text.append("?")
        elif isinstance(head, T.Type):
            text.append(T.notation(head, SHOWN))
        elif id(x) in met or len(text) > SHOWN:
            text.append("...")
        else:
            met.add(id(x))
            pieces: list[TypeVariable | str] = ["(" if head.kind == "tuple" else f"{head.kind.capitalize()}("]
            for i, arg in enumerate(head.args):
                if i:
                    pieces.append(", ")
                if head.labels is not None:
                    pieces.append(f"{T.label(head.labels[i])}: ")
                pieces.append(arg)
            pieces.append(",)" if head.kind == "tuple" and len(head.args) == 1 else ")")
            todo.extend(reversed(pieces))
    return "".join(text)
