"""What commands may write over: a file that `--output` names, as a compiler replaces what it wrote before.

But not what the command reads, and no model, parameters or run.
"""

from __future__ import annotations

from pathlib import Path

from arrows.training import described_file, kind_of
from arrows.typesys import ArrowValueError


def require_output(output: Path | None, *sources: object) -> None:
    """Refuses an output that is what the command reads, or a trained model, parameters or a run.

    Raises:
        ArrowValueError: so it is.
    """
    if output is None or not output.is_file():
        return
    for source in sources:
        if isinstance(source, (str, Path)) and Path(source).is_file() and output.samefile(source):
            raise ArrowValueError(f"--output {output} is the file that is read; give another")
    if kind_of(output) is not None:
        raise ArrowValueError(f"--output {output} is {described_file(output)}; give another path")
