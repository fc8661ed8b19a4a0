"""The command `arrows`: one file for each subcommand, and what they share.

`command_line.py` builds the parser and runs a subcommand; `exit_codes.py` turns its errors into exit codes,
for the benchmarks as well.
"""

from arrows.cli.command_line import main
from arrows.cli.exit_codes import exit_status, open_streams

__all__ = ["exit_status", "main", "open_streams"]
