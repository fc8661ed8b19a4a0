"""`arrows fit`: a classifier or regressor of documents from a raw file, in one command.

`examples.py` reads the file and splits it, `leakage.py` looks for fields that say the label, `task.py` says
what is predicted, `models.py` makes the models and measures them, `command.py` trains, `folds.py`
cross-validates, and `report.py` writes what came of it.
"""

from arrows.cli.fit.command import run
from arrows.cli.fit.options import add_options

__all__ = ["add_options", "run"]
