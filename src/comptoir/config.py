"""The settings, each declared once: read from an option, the environment or the config file.

An option overrides the environment (`COMPTOIR_…`), which overrides the config file, which
overrides the default. `docs/reference/settings.md` is generated from the declarations below.
"""

import math
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType

from comptoir.errors import OperatorError
from comptoir.messages import quoted, suggestion

SettingValue = str | int | float

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#@*;\s]+", re.ASCII)
_DIGITS = re.compile(r"\s*[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?\s*", re.ASCII)
"""A number in ASCII: Python also accepts underscores and the digits of other scripts."""

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
"""Control characters, and the surrogates in place of bytes that are not UTF-8."""

_BASE_PATH = re.compile(r"(?:/[\w.~-]+)+", re.ASCII)

LONGEST_REPEATABILITY = 366 * 86_400
"""The most seconds for which repeated writes can be recognized."""

ENVIRONMENT_PREFIX = "COMPTOIR_"


def _help(text: str) -> Mapping[str, str]:
    return MappingProxyType({"help": text})


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings. Sizes are in bytes, times in seconds."""

    database: str = field(
        default="sqlite:///./data/comptoir.db",
        metadata=_help("The database: `sqlite:///PATH` or `postgresql://USER@HOST/NAME`."),
    )
    read_database: str = field(
        default="",
        metadata=_help(
            "A standby of the PostgreSQL database, for requests with "
            "`Data-Access-Intent: ReadOnly` or a `Consistency-Token`."
        ),
    )
    connect_seconds: float = field(
        default=10.0,
        metadata=_help(
            "The longest time to connect to PostgreSQL, for all hosts of the URL together."
        ),
    )
    database_connections: int = field(
        default=20,
        metadata=_help(
            "The most connections of a process to PostgreSQL, and as many to a standby."
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
    port: int = field(default=8080, metadata=_help("The port to listen on; 0 selects a free one."))
    base_path: str = field(default="/api", metadata=_help("The path of the service root."))
    public_url: str = field(
        default="",
        metadata=_help(
            "The complete base URL as clients see it, if there is a proxy; by default, it consists "
            "of host, port and base path."
        ),
    )
    trusted_proxies: str = field(
        default="",
        metadata=_help(
            "The addresses, separated by commas, whose X-Forwarded headers are trusted."
        ),
    )
    cors_origins: str = field(
        default="",
        metadata=_help(
            "The sites, such as `https://app.example.com`, separated by commas, whose scripts may "
            "use the API in a browser; `*` for all."
        ),
    )
    workers: int = field(default=1, metadata=_help("The number of processes that serve."))
    log_level: str = field(
        default="info",
        metadata=_help("`info` logs every request, `warning` only failures, `off` nothing."),
    )
    token_issuer: str = field(
        default="comptoir", metadata=_help("The `iss` claim of issued and accepted tokens.")
    )
    token_audience: str = field(
        default="comptoir", metadata=_help("The `aud` claim of issued and accepted tokens.")
    )
    token_algorithms: str = field(
        default="ES256",
        metadata=_help("The accepted signature algorithms, separated by commas."),
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
            "The largest head of a request; also the largest trailers and chunk extensions of a "
            "body."
        ),
    )
    request_seconds: float = field(
        default=60.0,
        metadata=_help(
            "The longest time in which a request must arrive, including its body; then 408."
        ),
    )
    stall_seconds: float = field(
        default=60.0,
        metadata=_help(
            "How long a client may read nothing of a response before its connection is closed."
        ),
    )
    page_size: int = field(
        default=1_000, metadata=_help("Records on a page if the client does not specify a number.")
    )
    max_page_size: int = field(
        default=20_000,
        metadata=_help("The most records on a page with `Prefer: odata.maxpagesize`."),
    )
    queued_writes: int = field(
        default=1_000, metadata=_help("The most waiting writes; further ones get 429.")
    )
    queued_scans: int = field(
        default=100, metadata=_help("The most waiting long reads; further ones get 429.")
    )
    scan_threads: int = field(
        default=2, metadata=_help("Threads for reads without a suitable key or index.")
    )
    scan_seconds: float = field(
        default=30.0, metadata=_help("The longest time for such a read before it is refused.")
    )
    delta_seconds: float = field(
        default=30 * 86_400.0,
        metadata=_help("How long a delta link is valid; after that it gets 410."),
    )
    repeatability_seconds: float = field(
        default=86_400.0,
        metadata=_help(
            "How long a write with a repeated `Repeatability-Request-ID` is recognized."
        ),
    )
    lock_seconds: float = field(
        default=5.0,
        metadata=_help("How long a write waits for the lock of another process before 503."),
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
        metadata=_help("How long a stop waits for the responses to accepted requests."),
    )

    @property
    def origins(self) -> frozenset[str]:
        """The sites of `cors_origins`."""
        given = (each.strip() for each in self.cors_origins.split(","))
        return frozenset(each.lower().removesuffix("/") for each in given if each)

    @property
    def base_url(self) -> str:
        """The URL that paths are appended to, without a trailing slash."""
        if self.public_url:
            return self.public_url.rstrip("/")
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}{self.base_path}"


HELP: Mapping[str, str] = {each.name: each.metadata["help"] for each in fields(Settings)}
"""Setting to its one line of documentation."""


def environment_name(setting: str) -> str:
    """The environment variable of a setting: `COMPTOIR_PAGE_SIZE` for `page_size`."""
    return ENVIRONMENT_PREFIX + setting.upper()


def load_settings(
    options: Mapping[str, SettingValue | None],
    environment: Mapping[str, str] = os.environ,
) -> Settings:
    """Combine the settings of the command line, the environment and the config file.

    In `options`, None means that an option is missing. The option or variable `config`
    (`COMPTOIR_CONFIG`) names the config file, TOML with one line for each setting. Raises
    `OperatorError` for an unknown setting or an invalid value.
    """
    given: dict[str, tuple[SettingValue, str]] = {}
    config = options.get("config") or environment.get(environment_name("config"))
    if config:
        for name, value in _config_file(Path(str(config))).items():
            given[name] = (value, f"setting {name} in {config}:")
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
        raise OperatorError(
            f"the config file {path} cannot be read: {fault.strerror}", "Check its path."
        ) from fault
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
        raise OperatorError(
            f"the config file {path} is not TOML: {fault}", "Correct it."
        ) from fault
    for name, value in content.items():
        if name not in HELP:
            remedy = suggestion(name, HELP) or "docs/reference/settings.md lists the settings."
            raise OperatorError(f"the config file {path} has an unknown setting {name}", remedy)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise OperatorError(
                f"the config file {path} has an invalid value of {name}", "Use text or a number."
            )
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
        remedy = "Use an integer." if wanted is int else "Use a number."
        raise _invalid(source, value, remedy) from None


def _invalid(source: str, value: SettingValue, remedy: str) -> OperatorError:
    return OperatorError(f"invalid {source} {quoted(str(value))}", remedy)


def _check(settings: Settings) -> None:
    for name, remedy in _faults(settings):
        raise _invalid(f"setting {name}", getattr(settings, name), remedy)
    for origin in sorted(settings.origins - {"*"}):
        if _ORIGIN.fullmatch(origin) is None:
            remedy = (
                "Use * or sites such as https://app.example.com, without a path, separated by "
                "commas."
            )
            raise _invalid("setting cors_origins", origin, remedy)


def _faults(settings: Settings) -> Iterator[tuple[str, str]]:
    """The settings with an invalid value, each with a remedy."""
    for name in HELP:
        value = getattr(settings, name)
        if isinstance(value, str):
            if _UNPRINTABLE.search(value):
                yield name, "Use text in UTF-8, without control characters."
        elif name not in ("port", "statement_cache") and not (value > 0 and math.isfinite(value)):
            yield name, "Use a number greater than 0."
    if settings.repeatability_seconds > LONGEST_REPEATABILITY:
        yield "repeatability_seconds", f"Use at most {LONGEST_REPEATABILITY}, which is a year."
    if settings.statement_cache < 0:
        yield "statement_cache", "Use 0 or a greater number."
    if not 0 <= settings.port <= 65_535:
        yield "port", "Use a number from 0 to 65535."
    if _BASE_PATH.fullmatch(settings.base_path) is None:
        yield (
            "base_path",
            "Use segments of letters, digits, - . _ and ~, each after a slash, such as /api.",
        )
    if settings.log_level not in ("info", "warning", "off"):
        yield "log_level", "Use info, warning or off."
    if settings.public_url and not settings.public_url.startswith(("http://", "https://")):
        yield "public_url", "Start it with http:// or https://."
