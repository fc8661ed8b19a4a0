"""Hashes the content of the examples of a set, one after the other."""

from __future__ import annotations

import hashlib
import json

from arrows.engine.reading.content_digest import digests


class ExampleDigest:
    """A hash of examples in their order: equal content has the same hash in every process.

    Plain values (numbers, texts, lists and dicts of them) are hashed as JSON; tuples count as lists there.
    All else is hashed by `digests`, which is slower.

    >>> one, other = ExampleDigest(), ExampleDigest()
    >>> one.add({"word": "tree"}), other.add({"word": "trees"})
    (None, None)
    >>> one.text == other.text
    False
    """

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._encoder = json.JSONEncoder(check_circular=False)

    def add(self, example: object) -> None:
        """Adds an example.

        Raises:
            Unhashable: it holds something whose content cannot be told, such as an open file.
        """
        try:
            content = self._encoder.encode(example).encode("ascii")
        except (TypeError, ValueError, RecursionError):
            content = b"." + digests([("the example", example)])[0].encode("ascii")
        self._hash.update(len(content).to_bytes(8, "little"))
        self._hash.update(content)

    @property
    def text(self) -> str:
        """The hash of what has been added so far."""
        return f"sha256:{self._hash.hexdigest()}"
