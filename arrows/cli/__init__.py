"""The command `arrows`, its subcommands a file each, and the demonstration."""

from arrows.cli.command_line import main

__all__ = ["main"]
