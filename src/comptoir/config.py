"""The settings, each declared once: read from an option, the environment or the config file.

An option overrides the environment (`COMPTOIR_…`), which overrides the config file, which
overrides the default. `docs/reference/settings.md` is generated from the declarations below.
"""

import math
import os
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urljoin

from comptoir import operator_rows as problems
from comptoir.errors import OperatorError
from comptoir.files import read_whole
from comptoir.messages import quoted, suggestion
from comptoir.profiles import CURRENT, PROFILES, VERSIONS, profile_of
from comptoir.profiles.record import Hooks, Profile

SettingValue = str | int | float

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#@*;\s]+", re.ASCII)
_DIGITS = re.compile(r"\s*[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?\s*", re.ASCII)
"""A number in ASCII: Python also accepts underscores and the digits of other scripts."""

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
"""Control characters, and the surrogates in place of bytes that are not UTF-8."""

_TENANT = re.compile(r"[a-z0-9][a-z0-9.-]*", re.ASCII)
"""Client libraries convert the addresses of tenants to lower case."""

_MAY_BE_0 = ("port", "admin_port", "statement_cache", "running_requests", "query_bytes")
_SEGMENT = re.compile(r"[A-Za-z0-9][\w.~-]*", re.ASCII)
_SWITCHES = ("read_only", "relations", "interface_extensions", "outgoing_http", "faults")
_RENAMED = {"seed_shapes": "interface_extensions", "turn_seconds": "queue_seconds"}
_BASE_PATH = re.compile(r"(?:/[\w.~-]+)+", re.ASCII)
_WEB_ADDRESS = re.compile(
    r"https?://(?:\[[\dA-Fa-f:.]+\]|[^/?#\[\]:\s]+)(?::\d{1,5})?(?:[/?#].*)?", re.ASCII
)
RATE = re.compile(r"([1-9][0-9]{0,8})/([1-9][0-9]{0,5})s", re.ASCII)

LONGEST_REPEATABILITY = 366 * 86_400
"""The most seconds for which repeated writes can be recognized."""

SHORTEST_IDLE = 120
"""The least seconds without a request that end a session, whose last use is noted by the minute."""

CONSOLE = "/console"
"""The path of the console, which is outside the base path."""

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
    read_only: str = field(
        default="off",
        metadata=_help("`on` refuses writes of records, and serves a read-only database too."),
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
    admin_host: str = field(
        default="127.0.0.1",
        metadata=_help("The address on which `admin_port` is, if that is not 0."),
    )
    admin_port: int = field(
        default=0,
        metadata=_help(
            "The only port with `/metrics`, `/readyz` and `/docs`; 0 to have them beside the API."
        ),
    )
    console: str = field(
        default="auto",
        metadata=_help(
            "The web console at `/console`, on `admin_port` if there is one: `on`, `off`, or "
            "`auto` to serve it on a loopback address only, if `public_url` is empty."
        ),
    )
    console_idle_seconds: float = field(
        default=1_800.0,
        metadata=_help("How long a session of the console lasts without a request."),
    )
    console_session_seconds: float = field(
        default=28_800.0, metadata=_help("The longest duration of a session of the console.")
    )
    profile: str = field(
        default="standard",
        metadata=_help(
            "How the service behaves where the interface leaves it open: `standard`, or "
            "`business-central` to rehearse an integration with Business Central."
        ),
    )
    relations: str = field(
        default="on",
        metadata=_help(
            "Whether the profile `business-central` refuses codes that name no record, such as "
            "those of items: `on`, or `off` for partial data."
        ),
    )
    interface_extensions: str = field(
        default="on",
        metadata=_help("Whether `business-central` has the interface's additions: `on` or `off`."),
    )
    faults: str = field(
        default="off",
        metadata=_help(
            "`on` lets requests meet faults on demand, to rehearse how a client handles them; for "
            "tests only."
        ),
    )
    fault_rules: str = field(
        default="",
        metadata=_help("The JSON file of the rules of `faults` at the start."),
    )
    bc_version: int = field(
        default=CURRENT,
        metadata=_help(
            "The version of Business Central that `profile = business-central` imitates, from "
            f"{VERSIONS[0]} to {VERSIONS[-1]}."
        ),
    )
    base_path: str = field(default="/api", metadata=_help("The path of the service root."))
    environments: str = field(
        default="Production, Sandbox",
        metadata=_help(
            "The names of environments, separated by commas, in addresses such as "
            "`/v2.0/Production/api/v2.0` of the profile `business-central`."
        ),
    )
    instance: str = field(
        default="BC",
        metadata=_help(
            "The name of the server in addresses such as `/BC/ODataV4` of the profile "
            "`business-central`."
        ),
    )
    api_publisher: str = field(
        default="comptoir",
        metadata=_help(
            "The publisher in addresses such as `/BC/api/comptoir/ext/v1.0` of the profile "
            "`business-central`."
        ),
    )
    api_group: str = field(
        default="ext", metadata=_help("The group in such addresses, after `api_publisher`.")
    )
    api_version: str = field(
        default="v1.0", metadata=_help("The version in such addresses, after `api_group`.")
    )
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
    tls_certificate: str = field(
        default="",
        metadata=_help(
            "The PEM file of the certificate for HTTPS, followed by its chain; without it, the "
            "service speaks plain HTTP."
        ),
    )
    tls_key: str = field(
        default="", metadata=_help("The PEM file of the certificate's unencrypted private key.")
    )
    cors_origins: str = field(
        default="",
        metadata=_help(
            "The sites, such as `https://app.example.com`, separated by commas, whose scripts may "
            "use the API in a browser; `*` for all."
        ),
    )
    workers: int = field(
        default=1,
        metadata=_help(
            "The number of processes that serve: up to four for each core, and 64. It must be 1 "
            "with `faults`."
        ),
    )
    log_level: str = field(
        default="info",
        metadata=_help(
            "`info` logs every request, `warning` only failures, `off` nothing; `debug` adds "
            "queries without secrets, and the checks that refused requests."
        ),
    )
    inspect: str = field(
        default="auto",
        metadata=_help(
            "What is kept of requests for the console: `bodies`, `heads` without bodies, `off`, "
            "or `auto` for `bodies` with `--quickstart` and else `off`."
        ),
    )
    inspect_requests: int = field(
        default=1_000,
        metadata=_help("How many of its last requests each worker keeps for `inspect`."),
    )
    inspect_body_bytes: int = field(
        default=64 << 10, metadata=_help("How much of each body is kept for `inspect`.")
    )
    inspect_bytes: int = field(
        default=64 << 20,
        metadata=_help(
            "The most bytes that are kept for `inspect`, in files that the stop removes."
        ),
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
    oauth_tenants: str = field(
        default="comptoir",
        metadata=_help(
            "The first segments of the token endpoint's path, separated by commas; a client of "
            "Microsoft's libraries calls it the tenant."
        ),
    )
    oauth_resources: str = field(
        default="api://comptoir, https://api.businesscentral.dynamics.com",
        metadata=_help(
            "The resources, separated by commas, that clients may name in a scope such as "
            "`api://comptoir/.default`."
        ),
    )
    issuer_stale_seconds: float = field(
        default=86_400.0,
        metadata=_help(
            "How long the last keys of an outside issuer that is away are believed after they "
            "should have been fetched again; then 503."
        ),
    )
    outgoing_allow: str = field(
        default="",
        metadata=_help(
            "The networks, such as `10.0.0.0/8`, separated by commas, that the service may reach "
            "for the keys of outside issuers and for notifications, besides public addresses."
        ),
    )
    outgoing_http: str = field(
        default="off",
        metadata=_help(
            "`on` lets the notification URLs of subscriptions begin with http://, to try them out."
        ),
    )
    clock_factor: float = field(
        default=1.0,
        metadata=_help(
            "By how much the waits of the profile are shorter: those before notifications and "
            "before retries, and the lifetime of subscriptions."
        ),
    )
    body_bytes: int = field(default=1 << 20, metadata=_help("The largest body of a request."))
    batch_bytes: int = field(
        default=8 << 20, metadata=_help("The largest body of a batch, all its requests together.")
    )
    batch_requests: int = field(default=100, metadata=_help("The most requests of a batch."))
    url_bytes: int = field(default=16 << 10, metadata=_help("The longest URL."))
    query_bytes: int = field(
        default=0,
        metadata=_help("The longest query of a URL, percent-encoded; 0 for that of `url_bytes`."),
    )
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
    client_requests: int = field(
        default=100,
        metadata=_help(
            "The most requests of one client at once; further ones get 429. Each worker allows "
            "its share."
        ),
    )
    running_requests: int = field(
        default=0,
        metadata=_help(
            "How many of them run; the others wait for their turn. 0 for all. Each worker allows "
            "its share."
        ),
    )
    queue_seconds: float = field(
        default=480.0, metadata=_help("Seconds a request may queue before 503.")
    )
    client_rate: str = field(
        default="",
        metadata=_help(
            "The rate of requests of each client that has none of its own, such as `6000/300s`; "
            "empty for no limit."
        ),
    )
    queued_writes: int = field(
        default=1_000, metadata=_help("The most waiting writes; further ones get 429.")
    )
    queued_scans: int = field(
        default=100,
        metadata=_help(
            "The most long reads that wait or run, and half of it for one client; further ones "
            "get 503."
        ),
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
        return frozenset(each.lower().removesuffix("/") for each in _items(self.cors_origins))

    @property
    def behaviour(self) -> Profile:
        """The profile that `profile` names, without what other settings turn off."""
        profile = profile_of(self.profile, self.bc_version)
        if self.relations == "off":
            profile = profile.without_relations()
        return (
            profile if self.interface_extensions == "on" else profile.without_interface_extensions()
        )

    @property
    def refuses_writes(self) -> bool:
        """Whether the service only reads records."""
        return self.read_only == "on"

    @property
    def rehearses(self) -> bool:
        """Whether requests can meet faults on demand."""
        return self.faults == "on"

    @property
    def hooks(self) -> Hooks | None:
        """The profile's rules of subscriptions, by `clock_factor`; None without subscriptions."""
        rules = self.behaviour.hooks
        return None if rules is None else rules.scaled(self.clock_factor)

    @property
    def tenants(self) -> tuple[str, ...]:
        """The names of `oauth_tenants`."""
        return _items(self.oauth_tenants)

    @property
    def address_names(self) -> Mapping[str, tuple[str, ...]]:
        """The names in the addresses of a profile, by what they name (`profiles.record.Routes`)."""
        return {
            "tenant": self.tenants,
            "environment": _items(self.environments),
            "instance": (self.instance,),
            "publisher": (self.api_publisher,),
            "group": (self.api_group,),
            "version": (self.api_version,),
        }

    @property
    def resources(self) -> tuple[str, ...]:
        """The resources of `oauth_resources`."""
        return _items(self.oauth_resources)

    @property
    def networks(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """The networks of `outgoing_allow`; raises `ValueError` for one that is not valid."""
        return tuple(map(ip_network, _items(self.outgoing_allow)))

    @property
    def base_url(self) -> str:
        """The URL that paths are appended to, without a trailing slash."""
        if self.public_url:
            return self.public_url.rstrip("/")
        return self.listening_url

    @property
    def docs_url(self) -> str:
        """The address of the documentation of the API."""
        if not self.admin_port:
            return urljoin(self.base_url, "/docs")
        return f"{self._origin(self.admin_host, self.admin_port)}/docs"

    @property
    def console_url(self) -> str:
        """The address of the console, if it is served."""
        if not self.admin_port:
            return urljoin(self.base_url, CONSOLE)
        return f"{self._origin(self.admin_host, self.admin_port)}{CONSOLE}"

    @property
    def listening_url(self) -> str:
        """The base URL by the address that the service listens on."""
        return f"{self._origin(self.host, self.port)}{self.base_path}"

    def _origin(self, host: str, port: int) -> str:
        scheme = "https" if self.tls_certificate else "http"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def _items(text: str) -> tuple[str, ...]:
    """The items of a list that commas separate."""
    return tuple(each.strip() for each in text.split(",") if each.strip())


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
    `OperatorError` for an unknown or renamed setting, or an invalid value.
    """
    given: dict[str, tuple[SettingValue, str]] = {}
    config = options.get("config") or environment.get(environment_name("config"))
    if config:
        for name, value in _config_file(Path(str(config))).items():
            given[name] = (value, f"setting {name} in {config}:")
    for former, name in _RENAMED.items():
        if (variable := environment_name(former)) in environment:
            raise problems.RENAMED_VARIABLE(former=variable, name=environment_name(name))
    for name in HELP:
        variable = environment_name(name)
        if variable in environment:
            given[name] = (environment[variable], variable)
        option = options.get(name)
        if option is not None:
            given[name] = (option, f"--{name.replace('_', '-')}")
    settings = Settings(**{name: _typed(name, *value) for name, value in given.items()})  # type: ignore[arg-type]
    _check(settings)
    return with_defaults(settings, given)


def with_defaults(settings: Settings, given: Collection[str]) -> Settings:
    """The settings with the profile's defaults for those that are not given."""
    defaults = settings.behaviour.settings
    missing = {name: value for name, value in defaults.items() if name not in given}
    # a mapping cannot give each name the type of its own setting
    return replace(settings, **missing)  # type: ignore[arg-type]


def _config_file(path: Path) -> dict[str, SettingValue]:
    try:
        content = tomllib.loads(read_whole(path, problems.ANOTHER_CONFIG).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise problems.INVALID_CONFIG(path=path, reason=error) from error
    for name, value in content.items():
        if name not in HELP:
            renamed = f"Use {_RENAMED[name]}." if name in _RENAMED else suggestion(name, HELP)
            raise problems.UNKNOWN_SETTING(suggested=renamed, path=path, name=name)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise problems.INVALID_TYPE(path=path, name=name)
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
    return problems.INVALID_VALUE(source=source, value=quoted(str(value)), remedy=remedy)


def _check(settings: Settings) -> None:
    for name, remedy in _faults(settings):
        raise _invalid(f"setting {name}", getattr(settings, name), remedy)
    for origin in sorted(settings.origins - {"*"}):
        if _ORIGIN.fullmatch(origin) is None:
            remedy = "Use * or sites such as https://a.example without a path, separated by commas."
            raise _invalid("setting cors_origins", origin, remedy)


def _faults(settings: Settings) -> Iterator[tuple[str, str]]:
    """The settings with an invalid value, each with a remedy."""
    yield from _type_faults(settings)
    if settings.repeatability_seconds > LONGEST_REPEATABILITY:
        yield "repeatability_seconds", f"Use at most {LONGEST_REPEATABILITY}, which is a year."
    most = min(64, 4 * (os.cpu_count() or 1))
    if settings.workers > most:
        yield "workers", f"Use at most {most}, which is four for each core and 64 in all."
    if settings.client_rate and RATE.fullmatch(settings.client_rate) is None:
        yield "client_rate", "Write requests and seconds, such as 6000/300s."
    if settings.log_level not in ("debug", "info", "warning", "off"):
        yield "log_level", "Use debug, info, warning or off."
    if settings.inspect not in ("auto", "off", "heads", "bodies"):
        yield "inspect", "Use auto, off, heads or bodies."
    for name in _SWITCHES:
        if getattr(settings, name) not in ("on", "off"):
            yield name, "Use on or off."
    if settings.console not in ("auto", "on", "off"):
        yield "console", "Use auto, on or off."
    if settings.console_idle_seconds < SHORTEST_IDLE:
        yield "console_idle_seconds", f"Use {SHORTEST_IDLE} or more."
    yield from _profile_faults(settings)
    if settings.fault_rules and not settings.rehearses:
        yield "fault_rules", "Set faults to on, too."
    if settings.rehearses and settings.workers > 1:
        yield "workers", "Use 1 with faults, whose rules and counts are those of one process."
    if settings.interface_extensions == "off" and settings.profile == "standard":
        yield "interface_extensions", "Set profile to business-central, too."
    yield from _address_faults(settings)


def _profile_faults(settings: Settings) -> Iterator[tuple[str, str]]:
    """Those of the settings that select a profile."""
    if settings.profile not in PROFILES:
        known = " or ".join(PROFILES)
        yield "profile", suggestion(settings.profile, PROFILES) or f"Use {known}."
    if settings.bc_version not in VERSIONS:
        yield "bc_version", f"Use a number from {VERSIONS[0]} to {VERSIONS[-1]}."


def _type_faults(settings: Settings) -> Iterator[tuple[str, str]]:
    """Those with a text or a number that no setting of the kind accepts."""
    for name in HELP:
        value = getattr(settings, name)
        if isinstance(value, str):
            if _UNPRINTABLE.search(value):
                yield name, "Use text in UTF-8, without control characters."
        elif name in _MAY_BE_0:
            if value < 0:
                yield name, "Use 0 or a greater number."
        elif not (value > 0 and math.isfinite(value)):
            yield name, "Use a number greater than 0."


def _address_faults(settings: Settings) -> Iterator[tuple[str, str]]:
    """Those of the settings of the service's address."""
    for name in ("port", "admin_port"):
        if not 0 <= getattr(settings, name) <= 65_535:
            yield name, "Use a number from 0 to 65535."
    if settings.admin_port and settings.admin_port == settings.port:
        yield "admin_port", "Choose another number than that of port."
    if _BASE_PATH.fullmatch(settings.base_path) is None:
        yield (
            "base_path",
            "Use segments of letters, digits, - . _ and ~, each after a slash, such as /api.",
        )
    if not settings.tenants or not all(map(_TENANT.fullmatch, settings.tenants)):
        yield "oauth_tenants", "Use names of lower-case letters, digits, - and ., such as comptoir."
    elif settings.base_path.split("/", 2)[1] in settings.tenants:
        yield "base_path", "Choose another first segment than the names of oauth_tenants."
    elif CONSOLE[1:] in settings.tenants:
        yield "oauth_tenants", f"Choose other names than {CONSOLE[1:]}."
    if f"{settings.base_path}/".startswith(f"{CONSOLE}/"):
        yield "base_path", f"Choose another first segment than {CONSOLE[1:]}."
    yield from _name_faults(settings)
    try:
        _ = settings.networks
    except ValueError:
        yield "outgoing_allow", "Use networks such as 10.0.0.0/8 or fd00::/8, separated by commas."
    if settings.public_url and _WEB_ADDRESS.fullmatch(settings.public_url) is None:
        yield "public_url", "Start it with http:// or https://, a host and its port, if any."
    if settings.tls_certificate and not settings.tls_key:
        yield "tls_key", "Name the file of the certificate's private key."
    if settings.tls_key and not settings.tls_certificate:
        yield "tls_certificate", "Name the file of the key's certificate."


def _name_faults(settings: Settings) -> Iterator[tuple[str, str]]:
    """Those of the names in the addresses of a profile."""
    if not _items(settings.environments) or not all(
        map(_SEGMENT.fullmatch, _items(settings.environments))
    ):
        yield "environments", "Use names of letters, digits, - . _ and ~, such as Production."
    for name in ("instance", "api_publisher", "api_group", "api_version"):
        if _SEGMENT.fullmatch(getattr(settings, name)) is None:
            yield name, "Use letters, digits, - . _ and ~."
    first = {path.split("/")[1] for path in settings.behaviour.routes.environments}
    taken = {settings.instance.lower() if each == "{instance}" else each for each in first}
    if settings.base_path.split("/", 2)[1].lower() in taken:
        yield "base_path", f"Choose another first segment than {' or '.join(sorted(taken))}."
    if not taken.isdisjoint(settings.tenants):
        yield "oauth_tenants", f"Choose other names than {' and '.join(sorted(taken))}."
