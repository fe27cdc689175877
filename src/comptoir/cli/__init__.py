"""The `comptoir` command: one file per subcommand, found and assembled here."""

from comptoir.cli.main import main

__all__ = ["main"]
