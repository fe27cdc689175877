"""`comptoir keys`: rotate and list the keys that sign and verify tokens."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from comptoir.auth.audit import Act, ActName
from comptoir.auth.keys import PUBLIC_KEY_SUFFIX, KeyFolder, SigningKey, end_of
from comptoir.cli.options import settings_options
from comptoir.cli.runner import operator, use_store, warn
from comptoir.config import Settings
from comptoir.errors import operator_rows as problems
from comptoir.errors.messages import quoted, time_text
from comptoir.errors.refusal import OperatorError, Refusal

USUAL_DELAY = timedelta(minutes=15)
"""The time in which a new key reaches all hosts before it signs."""

LONGEST_DELAY = timedelta(days=366)


@click.group()
def keys() -> None:
    """Rotate and list the keys that sign and verify tokens."""


@keys.command()
@click.option(
    "--at",
    metavar="TIME",
    help="When the key begins to sign, such as 2027-01-31T22:00:00Z; by default in 15 minutes. A "
    "time in the past means now.",
)
@settings_options("keys", "database")
def rotate(settings: Settings, at: str | None) -> None:
    """Create a key that signs all tokens from a time on, and print its file on the last line.

    Services need no restart. They accept tokens of the former key for a day more.
    """
    now = datetime.now(UTC)
    starts_at = now + USUAL_DELAY if at is None else max(now, _parsed(at, now + LONGEST_DELAY))
    path = key_path(settings)
    folder = KeyFolder(path)
    former = folder.signing_keys[-1]
    added = folder.add_signing_key(starts_at.replace(microsecond=0))
    act = Act(operator(), ActName.KEYS_ROTATE, added.name, f"kid={added.kid}")
    try:
        use_store(settings, lambda store: store.control.record([act]))
    except (OperatorError, Refusal) as error:
        # the service needs no database for its keys
        warn(f"the audit log does not have the new key: {error}")
    signs, ends = time_text(added.starts_at), time_text(end_of(added))
    # the end distinguishes it from the copy of another key, which it must not replace
    copy = path / f"until-{ends.replace('-', '').replace(':', '')}{PUBLIC_KEY_SUFFIX}"
    click.echo(f"Copy the new key to all hosts: it signs from {signs} on.")
    click.echo(f"Tokens of the former key end at {ends}. To accept longer ones of")
    click.echo("`comptoir token` until their own end, run")
    click.echo(f"openssl pkey -in {path / former.name} -pubout -out {copy}")
    click.echo(path / added.name)


@keys.command("list")
@settings_options("keys")
def list_keys(settings: Settings) -> None:
    """List the keys, one on each line: file, kid (RFC 7638), and what it is used for."""
    for each in key_lines(KeyFolder(key_path(settings))):
        click.echo(each)


def key_lines(folder: KeyFolder) -> Iterator[str]:
    """The file, the `kid` and the use of each key, as a line."""
    signing, now = folder.signing_keys, time.time()
    for key, successor in zip(signing, [*signing[1:], None], strict=True):
        yield f"{key.name} {key.kid} {_use(key, successor, now)}"
    for name, public in folder.public_keys.items():
        yield f"{name}{PUBLIC_KEY_SUFFIX} {public.thumbprint()} trusted"


def _use(key: SigningKey, successor: SigningKey | None, now: float) -> str:
    """The use of a key, and its end if it has a successor."""
    if key.starts_at > now:
        return f"signs from {time_text(key.starts_at)}"
    if successor is None:
        return "signs"
    if successor.starts_at > now:
        return f"signs until {time_text(successor.starts_at)}"
    ends = end_of(successor)
    return f"{'trusted until' if now < ends else 'ended at'} {time_text(ends)}"


def key_path(settings: Settings) -> Path:
    """The folder of the keys, which must exist: a misspelled name would get keys of its own."""
    path = Path(settings.keys)
    if not path.is_dir():
        raise problems.NO_KEY_FOLDER(path=path)
    return path


def _parsed(text: str, latest: datetime) -> datetime:
    """A time of RFC 3339; raises `OperatorError` if it is not one, or too late."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        parsed = None
    if parsed is None or parsed.tzinfo is None or parsed > latest:
        raise problems.INVALID_TIME(text=quoted(text))
    return parsed
