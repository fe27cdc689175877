"""The service, but every write committed on its own: what `comptoir` takes, this takes as well.

It is what group commit is compared with; nothing but `Writer.GROUP` differs.
"""

from comptoir.cli.main import main
from comptoir.store.writer import Writer

if __name__ == "__main__":
    Writer.GROUP = 1
    main()
