"""The settings, each declared once: read from an option, the environment or the config file.

The first of these that gives a value wins: the option, the environment (`COMPTOIR_…`), the config
file, the default. `docs/reference/settings.md` is generated from the declarations below.
"""

import math
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType

from comptoir.errors import OperatorError

SettingValue = str | int | float

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#@*;\s]+", re.ASCII)
_DIGITS = re.compile(r"\s*[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?\s*", re.ASCII)
"""A number as every program reads it: Python takes underscores and the digits of all scripts."""

_BASE_PATH = re.compile(r"(?:/[\w.~-]+)+", re.ASCII)

LONGEST_REPEATABILITY = 366 * 86_400
"""The most seconds for which writes may be known as repeats."""

ENVIRONMENT_PREFIX = "COMPTOIR_"


def _help(text: str) -> Mapping[str, str]:
    return MappingProxyType({"help": text})


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set. Sizes are in bytes, times in seconds."""

    database: str = field(
        default="sqlite:///./data/comptoir.db",
        metadata=_help("The database: `sqlite:///PATH` or `postgresql://USER@HOST/NAME`."),
    )
    read_database: str = field(
        default="",
        metadata=_help(
            "A standby of the database on PostgreSQL, for the reads that allow it: with "
            "`Data-Access-Intent: ReadOnly`, or with a `Consistency-Token`."
        ),
    )
    connect_seconds: float = field(
        default=10.0,
        metadata=_help(
            "How long connecting to PostgreSQL may take, all hosts of the URL together."
        ),
    )
    database_connections: int = field(
        default=20,
        metadata=_help(
            "The most connections that a process keeps to PostgreSQL, and as many to a standby."
        ),
    )
    statement_cache: int = field(
        default=500,
        metadata=_help(
            "Prepared statements kept for each connection to PostgreSQL; 0 for PgBouncer in "
            "transaction mode."
        ),
    )
    keys: str = field(
        default="./data/keys",
        metadata=_help("The folder of the keys that sign and verify tokens."),
    )
    host: str = field(default="127.0.0.1", metadata=_help("The address to listen on."))
    port: int = field(default=8080, metadata=_help("The port to listen on; 0 takes a free one."))
    base_path: str = field(
        default="/api", metadata=_help("The path under which the interface stands.")
    )
    public_url: str = field(
        default="",
        metadata=_help(
            "The whole base URL as clients see it, when a proxy stands in front; "
            "by default it is made of host, port and base path."
        ),
    )
    trusted_proxies: str = field(
        default="",
        metadata=_help(
            "The addresses, separated by commas, whose X-Forwarded headers are believed."
        ),
    )
    cors_origins: str = field(
        default="",
        metadata=_help(
            "The sites, such as `https://app.example.com`, separated by commas, whose scripts "
            "browsers let in; `*` for all."
        ),
    )
    workers: int = field(default=1, metadata=_help("How many processes serve."))
    log_level: str = field(
        default="info",
        metadata=_help("`info` logs every request, `warning` failures alone, `off` nothing."),
    )
    token_issuer: str = field(
        default="comptoir", metadata=_help("The `iss` that tokens carry and must carry.")
    )
    token_audience: str = field(
        default="comptoir", metadata=_help("The `aud` that tokens carry and must carry.")
    )
    token_algorithms: str = field(
        default="ES256",
        metadata=_help("The signature algorithms that are accepted, separated by commas."),
    )
    body_bytes: int = field(default=1 << 20, metadata=_help("The largest body of a request."))
    batch_bytes: int = field(
        default=8 << 20, metadata=_help("The largest body of a batch, all its requests together.")
    )
    batch_requests: int = field(default=100, metadata=_help("The most requests of a batch."))
    url_bytes: int = field(default=16 << 10, metadata=_help("The longest URL."))
    header_bytes: int = field(
        default=64 << 10,
        metadata=_help(
            "The largest head of a request; also the most trailers and chunk extensions of a body."
        ),
    )
    request_seconds: float = field(
        default=60.0,
        metadata=_help("How long a request, its body included, may take to arrive before 408."),
    )
    stall_seconds: float = field(
        default=60.0,
        metadata=_help(
            "How long a client may read nothing of a response before its connection is closed."
        ),
    )
    page_size: int = field(
        default=1_000, metadata=_help("Records on a page when the client asks for nothing else.")
    )
    max_page_size: int = field(
        default=20_000,
        metadata=_help("The most records that `Prefer: odata.maxpagesize` gets on a page."),
    )
    queued_writes: int = field(
        default=1_000, metadata=_help("Writes that may wait; more are answered with 429.")
    )
    queued_scans: int = field(
        default=100, metadata=_help("Long reads that may wait; more are answered with 429.")
    )
    scan_threads: int = field(
        default=2, metadata=_help("Threads for reads that no key or index serves.")
    )
    scan_seconds: float = field(
        default=30.0, metadata=_help("How long such a read may take before it is refused.")
    )
    delta_seconds: float = field(
        default=30 * 86_400.0,
        metadata=_help("How long a delta link can be followed; later it is answered with 410."),
    )
    repeatability_seconds: float = field(
        default=86_400.0,
        metadata=_help("How long a write that is sent again under its id is known as a repeat."),
    )
    lock_seconds: float = field(
        default=5.0,
        metadata=_help("How long a write waits for another process's lock before 503."),
    )
    expression_nodes: int = field(
        default=2_500, metadata=_help("The most nodes of a filter expression.")
    )
    expression_depth: int = field(
        default=100, metadata=_help("How deep parentheses and calls may nest in an expression.")
    )
    expression_list: int = field(default=1_000, metadata=_help("The most values of an `in` list."))
    expand_items: int = field(
        default=100, metadata=_help("The most items of `$expand`, nested ones included.")
    )
    expand_depth: int = field(default=5, metadata=_help("How deep `$expand` may nest."))
    stop_seconds: float = field(
        default=8.0,
        metadata=_help("How long a stop waits for the answers to requests that were accepted."),
    )

    @property
    def origins(self) -> frozenset[str]:
        """The sites of `cors_origins`."""
        given = (each.strip() for each in self.cors_origins.split(","))
        return frozenset(each.lower().removesuffix("/") for each in given if each)

    @property
    def base_url(self) -> str:
        """The URL that paths are appended to, without a slash at its end."""
        if self.public_url:
            return self.public_url.rstrip("/")
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}{self.base_path}"


HELP: Mapping[str, str] = {each.name: each.metadata["help"] for each in fields(Settings)}
"""Setting to its one line of documentation."""


def environment_name(setting: str) -> str:
    """The environment variable of a setting: `page_size` is read from `COMPTOIR_PAGE_SIZE`."""
    return ENVIRONMENT_PREFIX + setting.upper()


def load_settings(
    options: Mapping[str, SettingValue | None],
    environment: Mapping[str, str] = os.environ,
) -> Settings:
    """Put the settings together.

    `options` are those of the command line, None where one was not given. The config file is named
    by the option or variable `config` (`COMPTOIR_CONFIG`) and is TOML with one line per setting.
    Raises `OperatorError` for an unknown setting or a value that does not fit.
    """
    given: dict[str, tuple[SettingValue, str]] = {}
    config = options.get("config") or environment.get(environment_name("config"))
    if config:
        for name, value in _config_file(Path(str(config))).items():
            given[name] = (value, f"{config}: {name}")
    for name in HELP:
        variable = environment_name(name)
        if variable in environment:
            given[name] = (environment[variable], variable)
        option = options.get(name)
        if option is not None:
            given[name] = (option, f"--{name.replace('_', '-')}")
    settings = Settings(**{name: _typed(name, *value) for name, value in given.items()})  # type: ignore[arg-type]
    _check(settings)
    return settings


def _config_file(path: Path) -> dict[str, SettingValue]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as fault:
        raise OperatorError(f"cannot read the config file {path}: {fault.strerror}.") from fault
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
        raise OperatorError(f"the config file {path} is not TOML: {fault}.") from fault
    for name, value in content.items():
        if name not in HELP:
            raise OperatorError(
                f"the config file {path} sets {name}, which is no setting; "
                "docs/reference/settings.md lists them."
            )
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise OperatorError(f"the config file {path} must set {name} to text or a number.")
    return content


def _typed(name: str, value: SettingValue, source: str) -> SettingValue:
    wanted: type[SettingValue] = type(getattr(Settings(), name))
    try:
        if isinstance(value, wanted):
            return value
        if isinstance(value, str) and _DIGITS.fullmatch(value) is None:
            raise ValueError
        return wanted(value)
    except ValueError:
        kind = "a whole number" if wanted is int else "a number"
        raise OperatorError(f"{source} must be {kind}, not {value!r}.") from None


def _check(settings: Settings) -> None:
    for name in HELP:
        value = getattr(settings, name)
        if not isinstance(value, int | float) or name in ("port", "statement_cache"):
            continue
        if not (value > 0 and math.isfinite(value)):
            raise OperatorError(f"the setting {name} must be more than 0, not {value}.")
    if settings.repeatability_seconds > LONGEST_REPEATABILITY:
        raise OperatorError(
            f"the setting repeatability_seconds must be up to {LONGEST_REPEATABILITY}, a year, not "
            f"{settings.repeatability_seconds:g}."
        )
    if settings.statement_cache < 0:
        raise OperatorError(
            f"the setting statement_cache must be 0 or more, not {settings.statement_cache}."
        )
    if not 0 <= settings.port <= 65_535:
        raise OperatorError(f"the setting port must be between 0 and 65535, not {settings.port}.")
    if _BASE_PATH.fullmatch(settings.base_path) is None:
        raise OperatorError(
            f"the setting base_path must be segments of letters, digits, - . _ and ~, each behind "
            f"a slash, such as /api, unlike {settings.base_path!r}."
        )
    if settings.log_level not in ("info", "warning", "off"):
        raise OperatorError(
            f"the setting log_level must be info, warning or off, not {settings.log_level!r}."
        )
    if settings.public_url and not settings.public_url.startswith(("http://", "https://")):
        raise OperatorError("the setting public_url must begin with http:// or https://.")
    _check_origins(settings.origins)


def _check_origins(origins: frozenset[str]) -> None:
    for origin in sorted(origins - {"*"}):
        if _ORIGIN.fullmatch(origin) is None:
            raise OperatorError(
                "the setting cors_origins must be * or sites such as https://app.example.com, "
                f"without a path, separated by commas, unlike {origin!r}."
            )
