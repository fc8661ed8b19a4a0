"""What training keeps in safetensors files: parameters, or the whole state of a run (a checkpoint).

`parameter_files.py` saves and loads parameters, `checkpoint.py` the state from which a run goes on. Both go
through `arrows/safetensors_file.py`. A file may come from a stranger, so everything in it is checked before
it is used, and before memory is allocated for it.
"""

from arrows.safetensors_file import Entry, open_file, require_memory
from arrows.training.saving.checkpoint import STATE, add_parameters, load_state, save_state
from arrows.training.saving.existing import EVALUATION, described_file, holds_state
from arrows.training.saving.parameter_files import differences, load, read_metadata, save

__all__ = [
    "EVALUATION",
    "STATE",
    "Entry",
    "add_parameters",
    "described_file",
    "differences",
    "holds_state",
    "load",
    "load_state",
    "open_file",
    "read_metadata",
    "require_memory",
    "save",
    "save_state",
]
