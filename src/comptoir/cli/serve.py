"""`comptoir serve`: listen, bring the database up to date, serve until a stop."""

import asyncio
import resource
import shlex
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from pkgutil import resolve_name  # noqa: TID251 - only for a quickstart

import click
from msgspec.structs import replace

from comptoir.app import application, served_model
from comptoir.auth.origins import is_loopback
from comptoir.catalog import MODEL, read_catalog
from comptoir.cli.options import SERVED, option_or_variable, settings_options
from comptoir.cli.runner import model_of, noted, use_store, warn
from comptoir.config import Settings
from comptoir.edm.model import Company, Model
from comptoir.errors import operator_rows as problems
from comptoir.errors.refusal import OperatorError, Refusal, UnreachableError
from comptoir.features import FEATURES
from comptoir.http.log import set_up_logging
from comptoir.http.routes import profile_addresses
from comptoir.http.supervisor import Supervisor, bind_all, run
from comptoir.http.tls import checked_context
from comptoir.store.company_names import warnings_of
from comptoir.store.migration import check_not_older, check_replica, make_ready
from comptoir.store.store import Store
from comptoir.store.urls import is_postgres
from comptoir.store.watermarks import Watermark, WatermarkFile

_TRUSTING = "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"
"""The variables that name authorities to Python, its package requests, curl and Node."""
_UNKNOWN = "Whether the database has lost changes was not checked."

_CLIENTS = 1_000
"""Client connections that a process should be able to accept."""

_OWN = 50
"""Descriptors of the interpreter, the event loop, logs and listening sockets, and a reserve."""
_CONTROL_CONNECTIONS = 1
"""Connections of a process to PostgreSQL besides `database_connections`, for the control tables."""
_FILES_OF_SQLITE = 3
"""Files of a connection: the database, its write-ahead log and the index of the log."""
_THREADS_OF_SQLITE = 6
"""Connections besides those of scans: reads, writes, indexing, clients, and two temporary ones."""
_RAISED = (1 << 16, 10_240)
"""Limits to request, highest first; some systems allow only the second."""


@click.command()
@option_or_variable(
    "--quickstart",
    is_flag=True,
    help="Create a sample company on first use, and print commands to try.",
)
@option_or_variable(
    "--https",
    is_flag=True,
    help="Serve HTTPS with a certificate for localhost, created on first use.",
)
@settings_options(*SERVED)
def serve(settings: Settings, quickstart: bool, https: bool) -> None:
    """Serve the API.

    Creates an SQLite database if missing, and brings it up to date.
    """
    with ExitStack() as closing, ExitStack() as starting:
        starting.enter_context(noted(Path(settings.keys)))
        if https:
            settings = _with_local_certificate(settings)
        if settings.tls_certificate:
            checked_context(settings)
        # checks the settings, before the port opens
        model = _model_of(settings)
        for each in application(settings, model).features:
            each.check_start(click.get_current_context().params["config"])
        listeners = [closing.enter_context(each) for each in bind_all(settings)]
        settings = replace(settings, port=listeners[0].getsockname()[1])
        is_empty = _make_ready(settings, model, needed=quickstart)
        announcing = _prepared(settings) if quickstart else []
        set_up_logging(settings.log_level)
        _warn_beyond_loopback(settings)
        if too_few := _shortage(settings):
            warn(too_few)
        starting.close()
        # the server has stopped because of this interrupt
        with suppress(KeyboardInterrupt):
            _serve(settings, model, listeners, announcing, is_empty=is_empty)


def _with_local_certificate(settings: Settings) -> Settings:
    """Settings with the certificate for localhost; prints how clients trust it."""
    from comptoir.auth.local_authority import local_certificate  # noqa: PLC0415 - brings builders

    if settings.tls_certificate:
        raise problems.TWO_CERTIFICATES(path=settings.tls_certificate)
    local = local_certificate(Path(settings.keys).parent / "tls")
    authority = shlex.quote(str(local.authority.certificate.resolve()))
    click.echo("Paste this where clients run, to trust the certificate of this machine.")
    for variable in _TRUSTING:
        click.echo(f"export {variable}={authority}")
    localhost = local.localhost
    return replace(settings, tls_certificate=str(localhost.certificate), tls_key=str(localhost.key))


def _prepared(settings: Settings) -> Sequence[Callable[[Settings], None]]:
    """Prepare the quickstarts of all features; returns what prints how to begin."""
    quickstarts = [each.quickstart for each in FEATURES if each.quickstart]
    if not quickstarts:
        raise problems.NO_SAMPLES()
    return [resolve_name(each)(settings) for each in quickstarts]


def _model_of(settings: Settings) -> Model:
    """The model to serve; while the database server is down, that of the settings."""
    try:
        return model_of(settings)
    except UnreachableError:
        return read_catalog(Path(settings.catalog)) if settings.catalog else MODEL


def _make_ready(settings: Settings, model: Model, *, needed: bool) -> bool:
    """Check the schema; if the database server is down, start without it unless `needed`.

    Returns whether the database has no company.
    """
    try:
        check_replica(settings)
    except UnreachableError as error:
        warn(f"{error} Until then, all reads go to the primary.")
    try:
        make_ready(settings, model, warn)
    except UnreachableError as error:
        if needed:
            raise
        warn(f"{error} Serving starts when it can be reached.")
        return False
    return _lacks_companies(settings, model)


def _lacks_companies(settings: Settings, model: Model) -> bool:
    """Raise `OperatorError` if the database has lost acknowledged changes; warn of equal names.

    Returns whether it has no company.
    """
    watermarks: Mapping[Company, Watermark] = {}
    try:
        watermarks = WatermarkFile(Path(settings.keys)).read()
    except OperatorError as error:
        warn(f"{error} {_UNKNOWN}")

    async def check(store: Store) -> bool:
        try:
            await check_not_older(store, watermarks)
            names = await store.company_names()
        except Refusal as refusal:
            # a service also starts while its database is down
            warn(f"{refusal} {_UNKNOWN}")
            return False
        for warning in warnings_of(names):
            warn(warning)
        return not names

    # the model that is served, so that the tables are built once
    return use_store(settings, check, served_model(settings, model))


def _serve(
    settings: Settings,
    model: Model,
    listeners: Sequence[socket.socket],
    announcing: Sequence[Callable[[Settings], None]],
    *,
    is_empty: bool,
) -> None:
    is_quickstart = bool(announcing)
    settings = replace(settings, is_quickstart=is_quickstart)
    app = application(settings, model)
    with ExitStack() as serving:
        for each in app.features:
            serving.enter_context(each.serving())
        click.echo(f"Serving {settings.base_url}")
        click.echo(f"Documentation: {settings.docs_url}")
        for name, address in profile_addresses(settings).items():
            click.echo(f"{name}: {address}")
        for each in app.features:
            each.announce(is_quickstart=is_quickstart)
        for announce in announcing:
            announce(settings)
        if not is_quickstart:
            click.echo(f"Profile: {settings.profile}")
            if is_empty:
                click.echo("Company: none yet (comptoir company create NAME creates one)")
        if settings.workers == 1:
            run(app, settings, listeners)
            return
        build = partial(application, settings, model)
        asyncio.run(Supervisor(build, settings, listeners).run())


def _warn_beyond_loopback(settings: Settings) -> None:
    if not is_loopback(settings.host) and not settings.base_url.startswith("https://"):
        warn(
            f"{settings.host} can be reached from other machines, and tokens and records are sent "
            "unencrypted. Set tls_certificate and tls_key, or use a proxy with TLS and set "
            "--public-url https://…, or listen on 127.0.0.1.",
            is_red=True,
        )


def _shortage(settings: Settings) -> str | None:
    """A warning if a process may open fewer files than it may need with the settings."""
    if is_postgres(settings.database):
        databases = 2 if settings.read_database else 1
        stored = settings.database_connections * databases + _CONTROL_CONNECTIONS
    else:
        stored = (settings.scan_threads + _THREADS_OF_SQLITE) * _FILES_OF_SQLITE
    parts = {"itself": _OWN, "the database": stored, "connections of clients": _CLIENTS}
    allowed, total = _raised_limit(), sum(parts.values())
    if allowed >= total:
        return None
    listed = ", ".join(f"{count:,} for {purpose}" for purpose, count in parts.items())
    return (
        f"a process may open {allowed:,} files, and may need {total:,} with these settings "
        f"({listed}). Raise the limit with ulimit -n {total}, LimitNOFILE={total} in a systemd "
        f"unit, or --ulimit nofile={total} in Docker."
    )


def _raised_limit() -> int:
    """Raise the process's limit on descriptors as far as allowed; returns the limit."""
    soft, hard = (
        sys.maxsize if each == resource.RLIM_INFINITY else each
        for each in resource.getrlimit(resource.RLIMIT_NOFILE)
    )
    for wanted in _RAISED:
        raised = min(wanted, hard)
        with suppress(OSError, ValueError):
            if raised > soft:
                resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
            return max(soft, raised)
    return soft
