"""The command `comptoir`, which is also `python -m comptoir`."""

from comptoir.cli import interrupt

interrupt.end_at_once()

from comptoir.cli.main import main  # noqa: E402 - an interrupt is handled from here on

if __name__ == "__main__":
    main()
