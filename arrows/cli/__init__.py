"""The command `arrows`: one file for each subcommand, and what they share."""

from arrows.cli.command_line import exit_status, main

__all__ = ["exit_status", "main"]
