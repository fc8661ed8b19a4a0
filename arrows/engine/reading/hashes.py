"""Hashes that tell what is equal without a comparison: nodes of a batch, and how models read examples.

Each node gets a structural hash of its site, of its inputs' hashes in order and of the bits that were read
from the example, so that a batch computes equal nodes once. The hashes are made when examples are read, level
by level with array operations, and become numbers by a table; in a batch, equal numbers are one node. No
result changes: what names a node that is left out, such as a metric or a result, reads the row of the one
that stands for it, once a visit.

Nodes with equal hashes are never compared, so a collision would be a wrong number. With 128 bits, two of
10**9 different nodes collide with a probability below 10**-20; with 64 it would be 0.03.

A fingerprint decides whether a model may use a set of examples that another prepared. Equal digests of
functions and of plain data mean that they do the same. A root is written to its hash in one pass, each value
with its exact type before its parts, in their order: that of a dict counts. There is no recursion, so data
may be as deep as memory allows.

Told are plain data; what Python, NumPy, pandas and this package have under a name, and objects of their
classes, by what pickles them; and functions, by their code, its constants, defaults, what they close over and
the globals that they name. All else is refused, and the user is asked for a name instead: what an object of
somebody's class does, nobody can tell from outside.
"""

from __future__ import annotations

import dis
import hashlib
import inspect
import itertools
import marshal
import sys
import types
from collections.abc import Mapping, Sequence
from copyreg import dispatch_table
from dataclasses import dataclass
from types import CodeType
from typing import Any, TypeAlias

import numpy as np

from arrows.arrays import HostArray
from arrows.combinators import function_name
from arrows.engine.planning import Plan
from arrows.engine.reading.wiring import IndexPort, source_layout, starts_of_runs
from arrows.ops import finalise
from arrows.typesys import ArrowTypeError, SourceLine, message

# Nodes

# Hashing costs some 30 array operations a level. Deep narrow examples are not hashed: they share little.
_FEWEST_A_LEVEL = 48

# A hash is two lanes of 64 bits, which are mixed with odd factors of their own.
_ODD = np.array([0x9E3779B97F4A7C15, 0xD1B54A32D192ED03], np.uint64)[:, None]
_FIRST = np.array([0xBF58476D1CE4E5B9, 0xAEF17502108EF2D9], np.uint64)[:, None]
_SECOND = np.array([0x94D049BB133111EB, 0xDB4F0B9175AE2165], np.uint64)[:, None]


def node_hashes(
    plan: Plan,
    site: HostArray,
    key: HostArray,
    sources: HostArray,
    counts: HostArray,
    raw: list[HostArray],
) -> HostArray | None:
    """Hashes the nodes of examples.

    Args:
        plan: the model's plan.
        site: the site of each node, those of the constants first.
        key: the key of each node, which is larger than those of its inputs.
        sources: value ids, node after node, as in `Wirings`.
        counts: the lengths of the sequences that nodes take.
        raw: for each tensor type that is read, its values in the order of the nodes.

    Returns:
        Two 64-bit words for each node, ``[nodes, 2]``; None where hashing would not pay.
    """
    nodes = len(site)
    order = np.argsort(key, kind="stable")
    starts = starts_of_runs(key[order])  # nodes of one key are a level: none reads another
    if nodes < _FEWEST_A_LEVEL * max(len(starts), 1):
        return None
    hashes = _mixed(_ODD * (site.astype(np.uint64) + np.uint64(1)))
    _mix_in_values(plan, site, raw, hashes)
    for number in range(len(plan.lowered.constants)):
        hashes[:, number] = _mixed(hashes[:, number : number + 1] + _ODD * np.uint64(number + 1))[:, 0]

    layout = source_layout(plan, site, counts)
    domains = plan.sites.domains[site]
    for number in range(1, int(domains.max(initial=0))):  # where one sequence ends and the next begins
        nodes_of = np.flatnonzero(domains > number)
        lengths = counts[layout.first_count[nodes_of] + number].astype(np.uint64)
        hashes[:, nodes_of] = _mixed(hashes[:, nodes_of] + _ODD * lengths)
    # All sources, level after level, each with a salt for its place among its node's inputs.
    length = layout.length[order]
    ends = np.cumsum(length)
    total = int(ends[-1]) if nodes else 0
    place = np.arange(total) - np.repeat(ends - length, length)
    source = sources[np.repeat(layout.first_source[order], length) + place]
    output = source & ((1 << plan.shift) - 1)
    salt = _ODD * (
        place.astype(np.uint64) * np.uint64(1 << plan.shift) + output.astype(np.uint64) + np.uint64(1)
    )
    source = source >> plan.shift
    is_element = np.array([each.kind == "element" for each in plan.operations])[plan.sites.operation][site]
    parents = np.maximum.accumulate(np.where(is_element, 0, np.arange(nodes)))
    has_elements = bool(is_element.any())

    bounds = np.append(starts, nodes)
    for a, z in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        level, lengths = order[a:z], length[a:z]
        fed = lengths > 0
        if fed.any():
            b, y = int(ends[a] - length[a]), int(ends[z - 1])
            parts = _mixed(hashes[:, source[b:y]] + salt[:, b:y])
            offsets = np.cumsum(lengths[fed]) - lengths[fed]
            sums = np.add.reduceat(parts, offsets, axis=1)
            readers = level[fed]
            hashes[:, readers] = _mixed(hashes[:, readers] + sums + _ODD * lengths[fed].astype(np.uint64))
        if has_elements:
            rows = level[is_element[level]]
            distance = (rows - parents[rows]).astype(np.uint64)
            hashes[:, rows] = _mixed(hashes[:, rows] + _mixed(hashes[:, parents[rows]] + _ODD * distance))
    return hashes.T


def classify(hashes: HostArray) -> HostArray:
    """A number for each node, the same for nodes with equal hashes (``[nodes, 2]``).

    There is no sort. All nodes write their place into a table, under some bits of their hash, and the last
    one stays in each entry. Those whose hash is that one's are done; the others, which collided with another
    hash, try again under other bits.
    """
    hashes = np.ascontiguousarray(hashes.T)
    nodes = hashes.shape[1]
    bits = max(2 * nodes - 1, 1).bit_length()
    shift = np.uint64(64 - bits)
    table = np.empty(1 << bits, np.int32)
    representative = np.empty(nodes, np.int32)
    left = np.arange(nodes, dtype=np.int32)
    a, b = hashes
    for attempt in itertools.count():
        entry = (a * np.uint64(2 * attempt + 1) + b * np.uint64(attempt)) >> shift
        table[entry] = left
        last = table[entry]
        representative[left] = last
        collided = np.flatnonzero((hashes[0, last] != a) | (hashes[1, last] != b))
        if len(collided) == 0:
            break
        left, a, b = left[collided], a[collided], b[collided]
    number: HostArray = np.cumsum(representative == np.arange(nodes), dtype=np.int32) - 1
    return number[representative]


def _mixed(words: HostArray) -> HostArray:
    """Scrambles both lanes in place."""
    return finalise(np, words, _FIRST, _SECOND)


def _mix_in_values(plan: Plan, site: HostArray, raw: list[HostArray], hashes: HostArray) -> None:
    """Mixes the bits of the values that were read into the hashes of the nodes that read them."""
    for operation in plan.operations:
        if operation.kind != "read":
            continue
        nodes = np.flatnonzero(plan.sites.operation[site] == operation.index)
        values = np.ascontiguousarray(raw[operation.stream])
        size = int(np.prod(values.shape[1:]))
        bits = values.reshape(len(values), size).view(f"u{values.dtype.itemsize}")
        words = hashes[:, nodes]
        for column in range(size):
            words = _mixed(words + _ODD * (bits[:, column].astype(np.uint64) + np.uint64(1)))
        hashes[:, nodes] = words


# Fingerprints

Told: TypeAlias = tuple[Any, list[object]]
"""What a value is by itself, for `marshal`; and its parts."""

# Values without parts, which `marshal` writes the same way in every process, and with their exact type.
_PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None), type(...)})
_FLAT = {list, tuple, set, frozenset}
_KNOWN = {*sys.stdlib_module_names, "arrows", "numpy", "pandas"}
_READ_ELSEWHERE = {"eval", "exec", "compile", "globals", "open", "input", "__import__", "hash", "id"}
# More would take some seconds. Containers of plain values count as one object.
MOST_OBJECTS = 300_000


class Unhashable(TypeError):
    """The content of an object cannot be told exactly; the text says what is in it."""


def digest(root: object) -> str:
    """A hash of the content of an object.

    Raises:
        Unhashable: the content of something that it holds cannot be told, or there is too much of it.

    >>> digest({"a": 1, "b": 2}) == digest({"a": 1, "b": 2}) != digest({"b": 2})
    True
    """
    hashed = hashlib.sha256()
    pending: list[object] = [root]
    functions: dict[types.FunctionType, int] = {}  # those met so far, since a function may call itself
    met = 0
    while pending:
        value = pending.pop()
        met += 1
        if met > MOST_OBJECTS:
            raise Unhashable(f"more than {MOST_OBJECTS:,} objects, or a circle of them")
        again = functions.setdefault(value, met) if isinstance(value, types.FunctionType) else met
        head, parts = _told(value, type(value)) if again == met else (("again", again), [])
        told = marshal.dumps((head, len(parts)), 2)  # later versions write which objects are identical
        hashed.update(len(told).to_bytes(8, "little") + told)
        pending += reversed(parts)
    return hashed.hexdigest()


def _told(value: Any, kind: type) -> Told:
    if kind in _PLAIN or (kind in _FLAT and _PLAIN.issuperset(map(type, value))):
        return value, []
    if kind is list or kind is tuple:
        return kind.__name__, list(value)
    if kind is dict:
        return "dict", [list(value), list(value.values())]
    if (name := _name(value)) is not None:
        return ("named", name), []
    if kind is types.FunctionType:
        return _function(value)
    if kind is types.CodeType:
        own = {"co_name": "", "co_qualname": "", "co_filename": "", "co_firstlineno": 1, "co_linetable": b""}
        flags = value.co_flags & ~inspect.CO_NESTED
        code = value.replace(**own, co_consts=(), co_flags=flags)
        return ("code", sys.version_info[:2], code), list(value.co_consts)
    if kind is np.ndarray and value.dtype.kind in "biufcmMSU":
        return ("array", str(value.dtype), value.shape, value.tobytes()), []
    if kind not in _FLAT and _is_known(kind.__module__):
        try:
            made = dispatch_table[kind](value) if kind in dispatch_table else value.__reduce_ex__(4)
        except Exception:  # noqa: BLE001 (whatever cannot be pickled)
            made = ""
        if isinstance(made, tuple):
            return "made", list(made)
    raise Unhashable(f"a {f'{kind.__module__}.'.removeprefix('builtins.')}{kind.__qualname__}")


def _is_known(module: object) -> bool:
    return str(module).partition(".")[0] in _KNOWN


def _name(value: Any) -> str | None:
    """The name by which Python, or a package that is known, has a value; None if it has none."""
    if isinstance(value, types.ModuleType):
        return value.__name__ if _is_known(value.__name__) else None
    module = getattr(value, "__module__", None) or type(value).__module__
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    found: object = sys.modules.get(module) if _is_known(module) else None
    for part in str(name).split("."):
        found = getattr(found, part, None)
    return f"{module}.{name}" if found is value else None


def _function(function: types.FunctionType) -> Told:
    try:
        closed = [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:
        raise Unhashable("a variable that has no value yet") from None
    names: set[str] = set()
    codes = [] if _is_known(function.__globals__.get("__name__")) else [function.__code__]
    for code in codes:
        codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
        names.update(code.co_names)  # those of attributes too
        if dis.opmap["IMPORT_NAME"] in code.co_code[::2]:
            raise Unhashable("an import that happens when it runs; import at the top of the file")
    for name in sorted(names.intersection(_READ_ELSEWHERE) - function.__globals__.keys()):
        raise Unhashable(f"a call of {name}, whose result depends on more than the function holds")
    read = {name: function.__globals__[name] for name in sorted(names & function.__globals__.keys())}
    held = function.__code__, function.__defaults__, function.__kwdefaults__, closed, read, vars(function)
    return "function", list(held)


_SAY = "say what your functions' data is: ar.compile(block, fingerprint='vocabulary of May')"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """How a model reads examples, at one time.

    Attributes:
        block: a hash of how the block reads.
        functions: for each function and table that the block reads with, what it is called in messages and a
            hash of its code and of all that it holds.
        stated: what the user says instead of that, `compile(fingerprint=)`.
        refusal: which function has content that cannot be hashed, and why; no function is hashed then.
        python: the version of Python; the code of functions differs between versions.
    """

    block: str
    functions: Sequence[tuple[str, str]] = ()
    stated: str | None = None
    refusal: str | None = None
    python: str = f"Python {sys.version_info.major}.{sys.version_info.minor}"

    def require_told(self, attempt: str) -> None:
        """Refuses to keep a set for models that could not tell whether they read alike.

        Raises:
            ArrowTypeError: the content of a function cannot be hashed.
        """
        if self.refusal is not None:
            reason = f"no later model could tell whether it reads examples alike: {self.refusal}"
            raise ArrowTypeError(message(attempt, reason=reason, hint=f"{_SAY}; and anew when it changes"))

    def difference(self, other: Fingerprint) -> str | None:
        """Why two models do not read examples alike; None if they do."""
        if self.block != other.block:
            return "its block reads examples otherwise"
        if self.stated != other.stated:
            return f"it was compiled with fingerprint={other.stated!r}, this one with {self.stated!r}"
        refusal = self.refusal or other.refusal
        if refusal is not None:
            return f"nothing shows whether they read alike: {refusal}; in both models, {_SAY}"
        pairs = zip(self.functions, other.functions, strict=True)  # of one block, so they are as many
        changed = [name for (name, own_hash), (_, other_hash) in pairs if own_hash != other_hash]
        if changed:
            return (
                f"what it reads examples with holds other data, or did so then: {', '.join(changed)}; if it "
                "only remembers results, or another Python compiled it, give both models fingerprint="
            )
        return None


def fingerprint(block: str, names: Mapping[str, object], stated: str | None) -> Fingerprint:
    """How a model reads examples now.

    ``names`` are the functions and tables that its generated code reads with; if the user states nothing of
    what they hold, it is looked at.
    """
    hashes = []
    for name, value in names.items() if stated is None else ():
        if not name.startswith("MEMO"):
            called = _called(name, value)
            try:
                hashes.append((called, digest(value)))
            except Unhashable as refused:
                return Fingerprint(block, refusal=f"{called} holds {refused}, whose content cannot be told")
    return Fingerprint(block, hashes, stated)


def described(plan: Plan, indices: Sequence[IndexPort], source: str) -> str:
    """A hash of how a block reads, without what its functions say; ``source``: the generated code."""
    sites = [(site.kind, [(port.leaf, port.domain) for port in site.ports]) for site in plan.lowered.sites]
    reads = list(map(str, plan.lowered.streams.reads))
    said = sites, reads, plan.sites.operation.tolist(), plan.sites.pair.tolist(), plan.shift, indices, source
    return hashlib.sha256(repr(said).encode("utf-8", "surrogatepass")).hexdigest()


def _called(name: str, value: object) -> str:
    """Returns what a function or a table is called in messages."""
    if not callable(value):
        return "the cases of a choice" if name.startswith("CASES") else "the key of an item"
    code = getattr(value, "__code__", None)
    place = f" ({SourceLine(code.co_filename, code.co_firstlineno)})" if isinstance(code, CodeType) else ""
    return f"{function_name(value)}{place}"
