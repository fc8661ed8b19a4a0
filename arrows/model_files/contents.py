"""What a model file says besides its parameters, as a value; and its text in the file."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from arrows.data import Vocabulary
from arrows.engine import Model
from arrows.engine.device import STORED_TYPES
from arrows.engine.reading import Fingerprint
from arrows.files import require_path
from arrows.safetensors_file import OpenFile, is_whole
from arrows.training.saving import Entry, open_file
from arrows.training.saving.existing import MODEL_KEY
from arrows.training.saving.parameter_files import user_texts
from arrows.typesys import ArrowValueError, InputError
from arrows.typesys.quoting import escaped, message_of

T = TypeVar("T")

_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Arguments of `ar.compile` that a file keeps, and the step, on which random numbers depend.

    Attributes:
        float_type, loss, seed, schedule, max_nodes, precision, storage, fingerprint: as of `ar.compile`.
        step: `Model.step`.
        jit: whether element-wise chains were compiled.
    """

    float_type: str | None
    loss: str | Mapping[str, float] | None
    seed: int
    step: int
    schedule: str
    max_nodes: int
    jit: bool
    precision: str
    storage: str
    fingerprint: str | None

    @classmethod
    def of(cls, model: Model) -> ModelSettings:
        """The settings of a model."""
        executors, loss = model.executors, model.loss
        return cls(
            float_type=model.float_type,
            loss=loss if loss is None or isinstance(loss, str) else {k: float(w) for k, w in loss.items()},
            seed=model.seed,
            step=int(model.step),
            schedule=model.schedule,
            max_nodes=model.max_nodes,
            jit=executors.jit,
            precision=executors.precision,
            storage=executors.storage,
            fingerprint=model.batches.stated,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedModel:
    """What a model file says of its model; nothing of it is trusted or run.

    Attributes:
        builder: the name of the function that builds the block, `module:name`.
        part: which part of its result the block is: an attribute, key or position; None: all of it.
        arguments: what the function is called with, as plain JSON.
        vocabularies: further arguments, which are vocabularies.
        fingerprint: a hash of what the block computes.
        outline: the lines that it was made of, one for each block.
        reading: hashes of how the block reads examples, its functions on Python objects included.
        settings: how it was compiled.
        version: of the package that wrote the file.
        parameters: element type and shape by name.
        metadata: texts that were saved with it.

    Example:
        >>> import tempfile
        >>> import arrows as ar
        >>> from arrows.model_files import read_model_file
        >>> model = ar.compile(ar.models.sentiment({"good": 1}, size=3).judge)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ar.save_model(model, f"{folder}/m.safetensors")
        ...     saved = read_model_file(f"{folder}/m.safetensors")
        >>> saved.builder, saved.part, saved.arguments["size"]
        ('arrows.models.sentiment:sentiment', 'judge', 3)
    """

    builder: str
    part: str | None
    arguments: Mapping[str, Any]
    vocabularies: Mapping[str, Vocabulary]
    fingerprint: str
    outline: tuple[str, ...]
    reading: Fingerprint
    settings: ModelSettings
    version: str
    parameters: Mapping[str, Entry]
    metadata: Mapping[str, str]

    def as_text(self) -> str:
        """The text in the file; `of` reads it back."""
        fields = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name not in ("parameters", "metadata", "vocabularies", "reading", "settings")
        }
        fields |= {
            "format": _FORMAT,
            "vocabularies": {name: words.content() for name, words in self.vocabularies.items()},
            "reading": dataclasses.asdict(self.reading),
            "settings": dataclasses.asdict(self.settings),
        }
        return json.dumps(fields, allow_nan=False)

    @classmethod
    def of(cls, file: OpenFile) -> SavedModel:
        """What an open file says.

        Raises:
            ArrowValueError: it holds no model, or is damaged.
        """
        path = file.path
        if MODEL_KEY not in file.texts:
            if any(name.startswith("parameter:") for name in file.entries):
                raise ArrowValueError(
                    f"{path} holds the state of a run and no model: load_state(path, model, optimizer) reads "
                    "it; ar.save_model(model, path) writes a model"
                )
            raise ArrowValueError(
                f"{path} holds parameters and no model: arrows.training.load(model, path) reads them into a "
                "model that you compile; ar.save_model(model, path) writes a whole one"
            )
        try:
            return cls._of_json(file, json.loads(file.texts[MODEL_KEY]))
        except InputError as error:  # a vocabulary
            raise ArrowValueError(message_of(error)) from None
        except ArrowValueError:
            raise
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise ArrowValueError(
                f"{path} is damaged: what it says of its model cannot be read ({type(error).__name__}); "
                "write the file again, or use another copy"
            ) from None

    @classmethod
    def _of_json(cls, file: OpenFile, fields: object) -> SavedModel:
        """Reads parsed JSON; raises the error of whatever does not fit."""
        content = _expect(dict, fields)
        if content["format"] != _FORMAT:
            version = escaped(_expect(str, content["version"]), 20)
            raise ArrowValueError(
                f"{file.path} was written by arrows {version}, and takes that or a later one"
            )
        reading, settings = _expect(dict, content["reading"]), _expect(dict, content["settings"])
        pairs = [(_expect(str, name), _expect(str, digest)) for name, digest in reading["functions"]]
        if not is_whole(settings["step"]):
            raise ValueError("a number of steps")
        _expect(bool, settings["jit"])
        if settings["storage"] not in ("float32", *STORED_TYPES):
            raise ValueError("a type of stored numbers")
        vocabularies = {
            name: Vocabulary.of_content(words, f"{file.path}: the vocabulary {escaped(name, 40)!r}")
            for name, words in _expect(dict, content["vocabularies"]).items()
        }
        part = content["part"]
        return cls(
            builder=_expect(str, content["builder"]),
            part=None if part is None else _expect(str, part),
            arguments=_expect(dict, content["arguments"]),
            vocabularies=vocabularies,
            fingerprint=_expect(str, content["fingerprint"]),
            outline=tuple(_expect(str, line) for line in _expect(list, content["outline"])),
            reading=Fingerprint(
                block=_expect(str, reading["block"]),
                functions=tuple(pairs),
                stated=reading["stated"],
                refusal=reading["refusal"],
                python=_expect(str, reading["python"]),
            ),
            settings=ModelSettings(**settings),
            version=_expect(str, content["version"]),
            parameters=file.entries,
            metadata=user_texts(file),
        )


def _expect(kind: type[T], value: object) -> T:
    """The value, if it is of a type."""
    if not isinstance(value, kind):
        raise TypeError(f"{kind.__name__} expected")
    return value


def read_model_file(path: str | Path) -> SavedModel:
    """Reads what a model file says of its model; it imports nothing, builds nothing and reads no parameters.

    Raises:
        ArrowTypeError: `path` is not a path.
        ArrowValueError: the file holds no model, or is damaged.
        OSError: the file cannot be read.

    Example:
        >>> import arrows as ar
        >>> read_model_file("nowhere")
        Traceback (most recent call last):
        ...
        FileNotFoundError: [Errno 2] No such file or directory: 'nowhere'
    """
    with open_file(require_path("read_model_file(path): path", path)) as file:
        return SavedModel.of(file)
