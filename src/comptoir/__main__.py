"""`python -m comptoir` is the command `comptoir`."""

from comptoir.cli import main

main()
