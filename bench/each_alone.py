"""The service with a commit for each write, as the comparison for group commit.

It has the options of `comptoir`. Only `Writer.GROUP` differs.
"""

from comptoir.cli.main import main
from comptoir.store.writer import Writer

if __name__ == "__main__":
    Writer.GROUP = 1
    main()
