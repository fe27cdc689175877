"""The command `comptoir`, which is also `python -m comptoir`."""

import gc

from comptoir.cli import interrupt

interrupt.end_at_once()

from comptoir.cli.main import main as run  # noqa: E402 - an interrupt is handled from here on


def main() -> None:
    """Run the command as a process of its own."""
    # imports make many objects and hardly any garbage; the subcommand enables the collector
    gc.disable()
    run()


if __name__ == "__main__":
    main()
