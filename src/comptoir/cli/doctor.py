"""`comptoir doctor`: the settings in force, and what is wrong with what they name.

Each check has a thread of its own, because what it asks may never answer. None changes anything.
"""

import asyncio
import os
import shutil
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from threading import Thread
from time import monotonic, time
from typing import NamedTuple
from urllib.parse import urlsplit

import apsw
import click
import msgspec
from msgspec.structs import replace

from comptoir.auth.keys import SIGNING_KEY_FILE, KeyFolder, refuse_open
from comptoir.auth.origins import own_origins, token_url
from comptoir.cli.keys import key_lines, key_path
from comptoir.cli.options import SERVED, setting_options
from comptoir.cli.runner import last_start, model_of, need_file, opened
from comptoir.config import SETTINGS, Settings, environment_name, given_settings, load_settings
from comptoir.edm.model import Model
from comptoir.errors import operator_rows as problems
from comptoir.errors.messages import message
from comptoir.errors.oauth_rows import NOT_PRIVATE
from comptoir.errors.refusal import OperatorError, Refusal
from comptoir.http.supervisor import bind_all
from comptoir.http.tls import certificate_of, checked_context
from comptoir.store.migration import check_not_older, check_replica, make_ready
from comptoir.store.sqlite.connection import cannot_open, database_path
from comptoir.store.sqlite.migrating import check_writable
from comptoir.store.urls import is_postgres, redacted
from comptoir.store.watermarks import WatermarkFile
from comptoir.store.writer import RESERVE, TOLERATED_SECONDS

_ASK_SECONDS = 0.7
"""Seconds for a connection to a service."""
_UNANSWERED = (OSError, HTTPException, ValueError)
_SOON = timedelta(days=14)
_FULL_BYTES = 1 << 20


class _Finding(NamedTuple):
    text: str
    level: str = "ok"
    remedy: str = ""


def _found(error: OperatorError | Refusal, level: str = "wrong") -> _Finding:
    details = error.details if isinstance(error, OperatorError) else ()
    return _Finding(
        error.problem, level, "" if level == "ok" else " ".join([error.remedy, *details])
    )


def _port(settings: Settings) -> Iterator[_Finding]:
    local = replace(settings, public_url="")
    url = local.base_url
    try:
        _refusal_of_token(local)
    except (*_UNANSWERED, OperatorError):
        for each in bind_all(settings):
            each.close()
        yield _Finding(f"no service runs at {url}, and the port is free")
        return
    yield _Finding(f"a service runs at {url}")
    status, content = _answer("GET", local.beside_api("/readyz"), is_local=True)
    for said in content.decode().splitlines():
        if status != 200 or said.startswith("warning: "):
            level = "warning" if status == 200 else "wrong"
            yield _found(problems.SERVICE_SAYS(url=url, said=said), level)


def _address(settings: Settings) -> Iterator[_Finding]:
    url = settings.base_url
    if not settings.public_url:
        yield _Finding(f"clients use {url}, and no public_url names a proxy")
        return
    try:
        said = _refusal_of_token(settings)
    except _UNANSWERED as error:
        # clients may reach what this machine does not
        yield _found(problems.NOT_SERVED_AT(url=url, reason=error), "warning")
        return
    if url.startswith("https:") and NOT_PRIVATE.problem.encode() in said:
        raise problems.UNTRUSTED_PROXY(url=url)
    trusted = settings.trusted_proxies or "none"
    yield _Finding(f"{url} leads to the service; trusted_proxies: {trusted}")


def _refusal_of_token(settings: Settings) -> bytes:
    """The response to a request for a token without a form, which counts as no failed login."""
    url = token_url(own_origins(settings)[0], settings.tenants[0])
    _, content = _answer("POST", url, is_local=not settings.public_url)
    if b'"error_codes":' not in content:
        raise problems.NOT_SERVED_AT(url=settings.base_url, reason="another program does")
    return content


def _answer(method: str, url: str, *, is_local: bool) -> tuple[int, bytes]:
    """The status and the body of a response; on this machine, with any certificate."""
    parts = urlsplit(url)
    client = HTTPConnection(parts.hostname or "", parts.port, timeout=_ASK_SECONDS)
    if parts.scheme == "https":
        trust = ssl.create_default_context()
        if is_local:
            trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
        client = HTTPSConnection(client.host, parts.port, timeout=_ASK_SECONDS, context=trust)
    with closing(client):
        client.request(method, parts.path)
        response = client.getresponse()
        return response.status, response.read(1 << 16)


def _certificate(settings: Settings) -> Iterator[_Finding]:
    if settings.tls_certificate:
        checked_context(settings)
        path = Path(settings.tls_certificate)
        end = certificate_of(path).not_valid_after_utc
        error = problems.CERTIFICATE_ENDS(path=path, end=end.isoformat(" ", "seconds"))
        yield _found(error, "warning" if end < datetime.now(UTC) + _SOON else "ok")


def _keys(settings: Settings) -> Iterator[_Finding]:
    path = key_path(settings)
    # a folder without one gets it when it is read
    if not any(path.glob(f"{Path(SIGNING_KEY_FILE).stem}*.pem")):
        raise problems.UNUSABLE_FILE(path=path, expected="a key that signs")
    yield from map(_Finding, key_lines(KeyFolder(path)))


def _disk(settings: Settings) -> Iterator[_Finding]:
    folders = [Path(settings.keys)]
    if not is_postgres(settings.database):
        folders.append(database_path(settings.database).parent)
    for each in filter(Path.is_dir, folders):
        free = shutil.disk_usage(each).free
        level = "wrong" if free < _FULL_BYTES else "warning" if free < RESERVE else "ok"
        yield _found(problems.LITTLE_SPACE(path=each, mib=free >> 20), level)


def _files(config: Path | None, settings: Settings) -> Iterator[_Finding]:
    """The files with records or passwords to which all users of the machine have access."""
    urls = settings.database, settings.read_database
    places = [] if is_postgres(settings.database) else [database_path(settings.database)]
    if config and any(redacted(each) != each for each in urls):
        places.append(config)
    for each in filter(Path.exists, places):
        try:
            refuse_open(each, each.stat().st_mode, 0o007, "o-rwx")
        except OperatorError as error:
            yield _found(error)


def _database(settings: Settings) -> Iterator[_Finding]:
    need_file(settings)
    began, reported, reading = monotonic(), list[str](), replace(settings, read_only="on")
    model = model_of(settings, reported.append)
    milliseconds = 1_000 * (monotonic() - began)
    yield _Finding(f"{redacted(settings.database)} answers within {milliseconds:.0f} ms")
    if not is_postgres(settings.database) and not settings.refuses_writes:
        check_writable(database_path(settings.database))
    # a service would upgrade a file
    make_ready(settings if is_postgres(settings.database) else reading, model, reported.append)
    for each in reported:
        problem, _, remedy = each.partition(". ")
        yield _Finding(problem, "warning", remedy)
    yield _Finding("its schema and catalog are those of this program and of the settings")
    yield from asyncio.run(_log(reading, model))


async def _log(settings: Settings, model: Model) -> Sequence[_Finding]:
    """Compare the last changes with those that this host acknowledged, and with the clock."""
    found: list[_Finding] = []
    async with opened(settings, model) as store:
        await check_not_older(store, WatermarkFile(Path(settings.keys)).read())
        for company_id in await store.company_names():
            company = await store.company(company_id)
            last = company and await store.last_change(company)
            seconds = datetime.fromisoformat(last.at).timestamp() - time() if last else 0.0
            if seconds > TOLERATED_SECONDS:
                error = problems.CLOCK_BEHIND(id=company_id, seconds=seconds)
                found.append(_found(error, "warning"))
    return found or [_Finding("no change is lost, or later than the clock")]


def _start(settings: Settings) -> Iterator[_Finding]:
    if start := last_start(Path(settings.keys)):
        what = f"the last start, at {start.at} of comptoir {start.release},"
        for each in filter(None, [*start.warnings, start.error]):
            problem, _, remedy = each.partition(". ")
            verb = "ended" if each == start.error else "warned"
            yield _Finding(f"{what} {verb}: {problem}", "warning", remedy)
        if not (start.warnings or start.error):
            yield _Finding(f"{what} had nothing to warn of")


def _replica(settings: Settings) -> Iterator[_Finding]:
    if settings.read_database:
        check_replica(settings)
        yield _Finding(f"{redacted(settings.read_database)} follows the database")


_Check = Callable[[Settings], Iterator[_Finding]]
_CHECKS: Mapping[str, _Check] = {
    each.__name__.removeprefix("_"): each
    for each in (_port, _address, _certificate, _keys, _disk, _database, _replica, _start)
}


def _run(check: _Check, settings: Settings, found: list[_Finding]) -> None:
    try:
        for each in check(settings):
            found.append(each)
    except (OperatorError, Refusal) as error:
        found.append(_found(error))
    except apsw.Error as error:
        found.append(_found(cannot_open(database_path(settings.database), error)))
    except _UNANSWERED as error:
        found.append(_found(problems.CHECK_FAILED(reason=error)))


def _checked(
    settings: Settings, checks: Mapping[str, _Check], seconds: int
) -> Iterator[tuple[str, _Finding]]:
    """The findings of checks that run at the same time, as far as they get."""
    ends_at = monotonic() + seconds
    # a server that does not answer is named before the end
    limited = replace(settings, connect_seconds=min(settings.connect_seconds, 0.7 * seconds))
    found: Mapping[str, list[_Finding]] = {name: [] for name in checks}
    running = [
        Thread(target=_run, args=(check, limited, found[name]), name=name, daemon=True)
        for name, check in checks.items()
    ]
    for each in running:
        each.start()
    for each in running:
        each.join(max(0.0, ends_at - monotonic()))
        yield from ((each.name, finding) for finding in [*found[each.name]])
        if each.is_alive():
            yield each.name, _found(problems.CHECK_UNFINISHED(seconds=seconds))


def _settings(
    settings: Settings, sources: Mapping[str, str], *, with_defaults: bool
) -> Iterator[_Finding]:
    for name, declared in SETTINGS.items():
        value = settings.value(name)
        default = "default" if value == declared.default else f"profile {settings.profile}"
        source = sources.get(name, default).removesuffix(":")
        if with_defaults or source != "default":
            yield _Finding(f"{name} is {redacted(str(value))} ({source})")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document with all settings.")
@click.option(
    "--seconds",
    type=click.IntRange(1, 3_600),
    default=1,
    help="The longest time for the checks, which run at the same time.",
)
@setting_options(*SERVED)
def doctor(as_json: bool, seconds: int, **options: str | int | None) -> None:
    """Print the settings in force, and what is wrong with what they name.

    Changes nothing. Run it as the user of the service, with the options and variables of `comptoir
    serve`. The status is 1 if something is wrong.
    """
    try:
        _, sources = given_settings(options)
        settings = load_settings(options)
    except OperatorError as error:
        found = [("settings", _found(error))]
    else:
        config = options["config"] or os.environ.get(environment_name("config"))
        files = partial(_files, Path(str(config)) if config else None)
        shown = _settings(settings, sources, with_defaults=as_json)
        found = [("settings", each) for each in shown]
        found += _checked(settings, {**_CHECKS, "files": files}, seconds)
    if as_json:
        rows = [{"check": name, **each._asdict()} for name, each in found]
        click.echo(msgspec.json.format(msgspec.json.encode(rows)))
    else:
        for name, each in found:
            text = message(each.text, each.remedy) if each.remedy else each.text
            click.echo(f"{each.level:7}  {name:11}  {text}")
    if any(each.level == "wrong" for _, each in found):
        click.get_current_context().exit(1)
