"""The names of `arrows.storage` by which modules of data and commands know it."""

from arrows.storage import keep_previous, previous, replacing, require_path, require_replaceable

__all__ = ["keep_previous", "previous", "replacing", "require_path", "require_replaceable"]
