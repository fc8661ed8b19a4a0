"""`arrows fit`: a classifier or regressor of documents from a raw file, in one command.

`examples.py` reads the file and splits it, `leakage.py` looks for fields that say the label, `task.py` says
what is predicted and how good it is, `training.py` trains and cross-validates, `report.py` shows what came of
it, and `command.py` does all of these.
"""

from arrows.cli.fit.command import run
from arrows.cli.fit.options import add_options

__all__ = ["add_options", "run"]
