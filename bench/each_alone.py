"""The service, but every write committed on its own: what `comptoir` takes, this takes as well.

It is what group commit is compared with; nothing but the size of the writer's group differs.
"""

from comptoir.cli.main import main
from comptoir.store import submission

if __name__ == "__main__":
    submission.GROUP = 1
    main()
