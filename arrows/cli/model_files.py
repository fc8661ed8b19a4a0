"""Reads back the models that `arrows train sentiment` and `arrows train tagger` save."""

from __future__ import annotations

from pathlib import Path

import arrows as ar
from arrows.engine.device import Device
from arrows.model_files import SavedModel, load_model, read_model_file
from arrows.models import Lexicon
from arrows.typesys import ArrowValueError
from arrows.typesys.quoting import escaped


def restore_sentiment(path: str | Path, device: str | Device = "cpu") -> ar.Model:
    """A model that classifies trees, built from a saved file alone; refuses one that holds no such model."""
    _require(path, "arrows.models.sentiment:sentiment", "sentiment model")
    return load_model(path, device=device)


def restore_tagger(path: str | Path, device: str | Device = "cpu") -> tuple[ar.Model, Lexicon]:
    """A model that tags sentences, built from a saved file alone, and its lexicon; refuses another file."""
    saved = _require(path, "arrows.models.tagger:lexicon_tagger", "tagger")
    model = load_model(path, device=device)
    return model, Lexicon(saved.arguments["words"], saved.arguments["characters"])


def _require(path: str | Path, builder: str, name: str) -> SavedModel:
    saved = read_model_file(path)
    if (saved.builder, saved.part) != (builder, "judge"):
        raise ArrowValueError(
            f"{path} holds no {name}: {escaped(saved.builder, 200)!r} builds its block; arrows predict MODEL "
            "FILE.jsonl applies any model"
        )
    return saved
