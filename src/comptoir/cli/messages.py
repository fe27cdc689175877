"""Messages for the user that are neither a result nor an error."""

import typer


def warn(message: str) -> None:
    """Print a warning to the standard error stream."""
    typer.echo(f"WARNING: {message}", err=True)
