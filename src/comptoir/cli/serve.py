"""`comptoir serve`: listen, bring the database up to date, serve until a stop."""

import ipaddress
import os
import socket
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated

import typer

from comptoir.app import application
from comptoir.catalog import MODEL
from comptoir.cli import options, runner
from comptoir.cli.runner import warn
from comptoir.config import Settings, environment_name, load_settings
from comptoir.edm.model import Company
from comptoir.errors import OperatorError, Refusal, UnreachableError
from comptoir.http.descriptors import shortage
from comptoir.http.log import set_up_logging
from comptoir.http.metrics import MULTIPROCESS_FOLDER
from comptoir.http.server import bind, run
from comptoir.store.migration import check_not_older, check_replica, make_ready
from comptoir.store.urls import is_postgres
from comptoir.store.watermarks import Watermark, WatermarkFile

_UNKNOWN = "Whether the database has lost changes was not checked."


def serve(  # noqa: PLR0913 - an option each
    *,
    database: options.Database = None,
    read_database: options.ReadDatabase = None,
    keys: options.Keys = None,
    host: options.Host = None,
    port: options.Port = None,
    base_path: options.BasePath = None,
    public_url: options.PublicUrl = None,
    trusted_proxies: options.TrustedProxies = None,
    workers: options.Workers = None,
    log_level: options.LogLevel = None,
    quickstart: Annotated[
        bool,
        typer.Option(
            "--quickstart",
            envvar=environment_name("quickstart"),
            help="Create a sample company on first use, and print commands to try.",
        ),
    ] = False,
    config: options.Config = None,
) -> None:
    """Serve the API.

    Creates an SQLite database if missing, and brings it up to date.
    """
    settings = load_settings(
        {
            "database": database,
            "read_database": read_database,
            "keys": keys,
            "host": host,
            "port": port,
            "base_path": base_path,
            "public_url": public_url,
            "trusted_proxies": trusted_proxies,
            "workers": workers,
            "log_level": log_level,
            "config": config,
        }
    )
    with bind(settings.host, settings.port) as listener:
        settings = replace(settings, port=listener.getsockname()[1])
        _make_ready(settings, needed=quickstart)
        company_id = _sample_company(settings) if quickstart else None
        set_up_logging(settings.log_level)
        _warn_beyond_loopback(settings)
        too_few = shortage(settings, on_postgres=is_postgres(settings.database))
        if too_few is not None:
            warn(too_few)
        # the server has stopped because of this interrupt
        with suppress(KeyboardInterrupt):
            _serve(settings, listener, company_id)


def _sample_company(settings: Settings) -> str:
    from comptoir.cli.quickstart import sample_company_id  # noqa: PLC0415 - brings mimesis

    return sample_company_id(settings)


def _make_ready(settings: Settings, *, needed: bool) -> None:
    """Check the schema; if the database server is down, start without it unless `needed`."""
    try:
        check_replica(settings)
    except UnreachableError as fault:
        warn(f"{fault} Until then, all reads go to the primary.")
    try:
        make_ready(settings, MODEL, warn)
    except UnreachableError as fault:
        if needed:
            raise
        warn(f"{fault} Serving starts when it can be reached.")
    else:
        _refuse_older(settings)


def _refuse_older(settings: Settings) -> None:
    """Raise `OperatorError` if the database has lost acknowledged changes."""
    try:
        watermarks = WatermarkFile(Path(settings.keys)).read()
    except OperatorError as fault:
        warn(f"{fault} {_UNKNOWN}")
        return
    if watermarks:
        runner.run(lambda: _check_watermarks(settings, watermarks))


async def _check_watermarks(settings: Settings, watermarks: Mapping[Company, Watermark]) -> None:
    async with runner.opened(settings) as store:
        try:
            await check_not_older(store, watermarks)
        except Refusal as refusal:
            # a service also starts while its database is down
            warn(f"{refusal} {_UNKNOWN}")


def _serve(settings: Settings, listener: socket.socket, company_id: str | None) -> None:
    app = application(settings)
    typer.echo(f"Serving {settings.base_url}")
    if company_id is not None:
        from comptoir.cli.quickstart import announce  # noqa: PLC0415 - brings mimesis

        announce(settings, listener, company_id)
    if settings.workers == 1:
        run(app, settings, listener)
        return
    with tempfile.TemporaryDirectory(prefix="comptoir-metrics-") as folder:
        os.environ[MULTIPROCESS_FOLDER] = folder
        os.environ.update(as_environment(settings))
        run("comptoir.app:from_environment", settings, listener)


def as_environment(settings: Settings) -> Mapping[str, str]:
    """The environment variables from which another process reads the same settings."""
    return {
        environment_name(each.name): str(getattr(settings, each.name)) for each in fields(settings)
    }


def _warn_beyond_loopback(settings: Settings) -> None:
    if settings.host == "localhost":
        return
    try:
        beyond = not ipaddress.ip_address(settings.host).is_loopback
    except ValueError:
        beyond = True
    if beyond and not settings.public_url.startswith("https://"):
        typer.secho(
            f"WARNING: {settings.host} can be reached from other machines, and tokens and records "
            "are sent unencrypted. Use a proxy with TLS and set --public-url https://…, or listen "
            "on 127.0.0.1.",
            fg=typer.colors.RED,
            bold=True,
            err=True,
        )
