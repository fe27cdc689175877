"""What the last start of the service said: a file in the key folder, which `doctor` reads."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from comptoir import __version__
from comptoir.auth.keys import drafted
from comptoir.cli.runner import WARNINGS
from comptoir.errors.messages import time_text
from comptoir.errors.refusal import OperatorError

_NAME = "last-start.json"


class LastStart(msgspec.Struct, frozen=True):
    """The time and the release of a start, its warnings, and the error that ended it, if any."""

    at: str
    release: str
    warnings: Sequence[str]
    error: str = ""

    def store(self, folder: Path) -> None:
        """Write the file, unless the folder cannot be written or does not exist."""
        with suppress(OSError), drafted(folder / _NAME, msgspec.json.encode(self)) as draft:
            draft.replace(folder / _NAME)


def last_start(folder: Path) -> LastStart | None:
    """What the file says; None without a file that can be read."""
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode((folder / _NAME).read_bytes(), type=LastStart)
    return None


@contextmanager
def noted(folder: Path) -> Iterator[None]:
    """Note the start of the block, if it ends: what it has warned of, and its `OperatorError`."""
    start = LastStart(
        time_text(datetime.now(UTC).timestamp()),
        __version__,
        click.get_current_context().meta.setdefault(WARNINGS, []),
    )
    try:
        yield
    except OperatorError as error:
        msgspec.structs.replace(start, error=str(error)).store(folder)
        raise
    start.store(folder)
