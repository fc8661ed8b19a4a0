"""The compiled model: what calls it, what it tells of itself, where it lies and how much memory it keeps."""

from __future__ import annotations

from arrows.engine.model.model import Model as Model
