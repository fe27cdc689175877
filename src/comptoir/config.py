"""The settings, each declared once: read from an option, the environment or the config file.

An option overrides the environment (`COMPTOIR_…`), which overrides the config file, which
overrides the default. `docs/reference/settings.md` is generated from the declarations below.
"""

import os
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Literal, get_args, get_type_hints
from urllib.parse import urljoin

import msgspec
from msgspec import Meta

from comptoir.errors import operator_rows as problems
from comptoir.errors.messages import (
    quoted,
    suggestion,
)
from comptoir.errors.refusal import OperatorError
from comptoir.files import read_whole
from comptoir.profiles import CURRENT, VERSIONS, profile_of
from comptoir.profiles.record import Profile

SettingValue = str | int | float

RATE = re.compile(r"([1-9][0-9]{0,8})/([1-9][0-9]{0,5})s", re.ASCII)

LONGEST_REPEATABILITY = 366 * 86_400
"""The most seconds for which repeated writes can be recognized."""

SHORTEST_IDLE = 120
"""The least seconds without a request that end a session, whose last use is noted by the minute."""

CONSOLE = "/console"
"""The path of the console, which is outside the base path."""

ENVIRONMENT_PREFIX = "COMPTOIR_"

_RENAMED = {"seed_shapes": "interface_extensions", "turn_seconds": "queue_seconds"}
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#@*;\s]+", re.ASCII)
_PATH_NAME = "[A-Za-z0-9][A-Za-z0-9_.~-]*"
_MOST_WORKERS = min(64, 4 * (os.cpu_count() or 1))
_UNPRINTABLE = r"\x00-\x1f\x7f\ud800-\udfff"
"""Control characters, and the surrogates in place of bytes that are not UTF-8."""


def _list_of(name: str) -> str:
    """The pattern of one or more names, separated by commas."""
    return rf"\A[ ,]*{name}(?: *,[ ,]*{name})*[ ,]*\Z"


# Each kind of value ends with the remedy for an invalid one, to which a setting adds its help.
Text = Annotated[
    str,
    Meta(pattern=rf"\A[^{_UNPRINTABLE}]*\Z"),
    "Use text in UTF-8, without control characters.",
]
Switch = Literal["on", "off"]
Count = Annotated[int, Meta(gt=0), "Use an integer greater than 0."]
CountOrZero = Annotated[int, Meta(ge=0), "Use 0 or a greater integer."]
Positive = Annotated[float, Meta(gt=0, le=1e300), "Use a number greater than 0."]
Port = Annotated[int, Meta(ge=0, le=65_535), "Use an integer from 0 to 65535."]
PathName = Annotated[str, Meta(pattern=rf"\A{_PATH_NAME}\Z"), "Use letters, digits, - . _ and ~."]
PathNames = Annotated[
    str,
    Meta(pattern=_list_of(_PATH_NAME)),
    "Use names of letters, digits, - . _ and ~, such as Production.",
]
_Workers = Annotated[
    int,
    Meta(gt=0, le=_MOST_WORKERS),
    f"Use an integer from 1 to {_MOST_WORKERS}, which is four for each core and 64 in all.",
]
_Idle = Annotated[float, Meta(ge=SHORTEST_IDLE, le=1e300), f"Use {SHORTEST_IDLE} or more."]
_UpToAYear = Annotated[
    float,
    Meta(gt=0, le=LONGEST_REPEATABILITY),
    f"Use a number greater than 0 and at most {LONGEST_REPEATABILITY}, which is a year.",
]
_Version = Annotated[
    int,
    Meta(ge=VERSIONS[0], le=VERSIONS[-1]),
    f"Use an integer from {VERSIONS[0]} to {VERSIONS[-1]}.",
]
_BasePath = Annotated[
    str,
    Meta(pattern=r"\A(?:/[A-Za-z0-9_.~-]+)+\Z"),
    "Use segments of letters, digits, - . _ and ~, each after a slash, such as /api.",
]
_Tenants = Annotated[
    str,
    # client libraries convert the addresses of tenants to lower case
    Meta(pattern=_list_of("[a-z0-9][a-z0-9.-]*")),
    "Use names of lower-case letters, digits, - and ., such as comptoir.",
]
_HOST = rf"\[[0-9A-Fa-f:.]+\]|[^/?#\[\]:\s{_UNPRINTABLE}]+"
_PublicUrl = Annotated[
    str,
    Meta(pattern=rf"\A(?:https?://(?:{_HOST})(?::[0-9]{{1,5}})?(?:[/?#][^{_UNPRINTABLE}]*)?)?\Z"),
    "Start it with http:// or https://, a host and its port, if any.",
]
_Rate = Annotated[
    str,
    Meta(pattern=rf"\A(?:{RATE.pattern})?\Z"),
    "Write requests and seconds, such as 6000/300s.",
]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings. Sizes are in bytes, times in seconds."""

    database: Annotated[
        Text, "The database: `sqlite:///PATH` or `postgresql://USER@HOST/NAME`."
    ] = "sqlite:///./data/comptoir.db"
    read_database: Annotated[
        Text,
        "A standby of the PostgreSQL database, for requests with `Data-Access-Intent: ReadOnly` "
        "or a `Consistency-Token`.",
    ] = ""
    read_only: Annotated[
        Switch, "`on` refuses writes of records, and serves a read-only database too."
    ] = "off"
    connect_seconds: Annotated[
        Positive, "The longest time to connect to PostgreSQL, for all hosts of the URL together."
    ] = 10.0
    database_connections: Annotated[
        Count, "The most connections of a process to PostgreSQL, and as many to a standby."
    ] = 20
    statement_cache: Annotated[
        CountOrZero,
        "Prepared statements kept for each connection to PostgreSQL; 0 for PgBouncer in "
        "transaction mode.",
    ] = 500
    keys: Annotated[Text, "The folder of the keys that sign and verify tokens."] = "./data/keys"
    host: Annotated[Text, "The address to listen on."] = "127.0.0.1"
    port: Annotated[Port, "The port to listen on; 0 selects a free one."] = 8080
    admin_host: Annotated[Text, "The address on which `admin_port` is, if that is not 0."] = (
        "127.0.0.1"
    )
    admin_port: Annotated[
        Port, "The only port with `/metrics`, `/readyz` and `/docs`; 0 to have them beside the API."
    ] = 0
    console: Annotated[
        Literal["auto", "on", "off"],
        "The web console at `/console`, on `admin_port` if there is one: `on`, `off`, or `auto` "
        "to serve it on a loopback address only, if `public_url` is empty.",
    ] = "auto"
    console_idle_seconds: Annotated[
        _Idle, "How long a session of the console lasts without a request."
    ] = 1_800.0
    console_session_seconds: Annotated[
        Positive, "The longest duration of a session of the console."
    ] = 28_800.0
    profile: Annotated[
        Literal["standard", "business-central"],
        "How the service behaves where the interface leaves it open: `standard`, or "
        "`business-central` to rehearse an integration with Business Central.",
    ] = "standard"
    relations: Annotated[
        Switch,
        "Whether the profile `business-central` refuses codes that name no record, such as those "
        "of items: `on`, or `off` for partial data.",
    ] = "on"
    interface_extensions: Annotated[
        Switch, "Whether `business-central` has the interface's additions: `on` or `off`."
    ] = "on"
    faults: Annotated[
        Switch, "`on` lets requests meet faults on demand, to rehearse a client; for tests only."
    ] = "off"
    fault_rules: Annotated[Text, "The JSON file of the rules of `faults` at the start."] = ""
    bc_version: Annotated[
        _Version,
        "The version of Business Central that `profile = business-central` imitates, from "
        f"{VERSIONS[0]} to {VERSIONS[-1]}.",
    ] = CURRENT
    base_path: Annotated[_BasePath, "The path of the service root."] = "/api"
    environments: Annotated[
        PathNames,
        "The names of environments, separated by commas, in addresses such as "
        "`/v2.0/Production/api/v2.0` of the profile `business-central`.",
    ] = "Production, Sandbox"
    instance: Annotated[
        PathName, "The server's name in addresses of `business-central` such as `/BC/ODataV4`."
    ] = "BC"
    api_publisher: Annotated[
        PathName, "The publisher in addresses of that profile such as `/BC/api/comptoir/ext/v1.0`."
    ] = "comptoir"
    api_group: Annotated[PathName, "The group in such addresses, after `api_publisher`."] = "ext"
    api_version: Annotated[PathName, "The version in such addresses, after `api_group`."] = "v1.0"
    public_url: Annotated[
        _PublicUrl,
        "The complete base URL as clients see it, if there is a proxy; by default, it consists of "
        "host, port and base path.",
    ] = ""
    trusted_proxies: Annotated[
        Text, "The addresses, separated by commas, whose X-Forwarded headers are trusted."
    ] = ""
    tls_certificate: Annotated[
        Text, "The PEM file of the certificate for HTTPS and its chain; without it, plain HTTP."
    ] = ""
    tls_key: Annotated[Text, "The PEM file of the certificate's unencrypted private key."] = ""
    cors_origins: Annotated[
        Text,
        "The sites, such as `https://app.example.com`, separated by commas, whose scripts may use "
        "the API in a browser; `*` for all.",
    ] = ""
    workers: Annotated[
        _Workers, "Processes that serve: up to four for each core, and 64; 1 with `faults`."
    ] = 1
    log_level: Annotated[
        Literal["debug", "info", "warning", "off"],
        "`info` logs every request, `warning` only failures, `off` nothing; `debug` adds queries "
        "without secrets, and the checks that refused requests.",
    ] = "info"
    server_timing: Annotated[
        Switch,
        "`on` adds the header `Server-Timing` to responses, with the milliseconds of the stages of "
        "their requests.",
    ] = "off"
    inspect: Annotated[
        Literal["auto", "off", "heads", "bodies"],
        "What is kept of requests for the console: `bodies`, `heads` without bodies, `off`, or "
        "`auto` for `bodies` with `--quickstart` and else `off`.",
    ] = "auto"
    inspect_requests: Annotated[
        Count, "How many of its last requests each worker keeps for `inspect`."
    ] = 1_000
    inspect_body_bytes: Annotated[Count, "How much of each body is kept for `inspect`."] = 64 << 10
    inspect_bytes: Annotated[
        Count, "The most bytes that are kept for `inspect`, in files that the stop removes."
    ] = 64 << 20
    token_issuer: Annotated[Text, "The `iss` claim of issued and accepted tokens."] = "comptoir"
    token_audience: Annotated[Text, "The `aud` claim of issued and accepted tokens."] = "comptoir"
    token_algorithms: Annotated[Text, "The accepted signature algorithms, separated by commas."] = (
        "ES256"
    )
    oauth_tenants: Annotated[
        _Tenants,
        "The first segments of the token endpoint's path, separated by commas; a client of "
        "Microsoft's libraries calls it the tenant.",
    ] = "comptoir"
    oauth_resources: Annotated[
        Text, "The resources, separated by commas, of scopes such as `api://comptoir/.default`."
    ] = "api://comptoir, https://api.businesscentral.dynamics.com"
    issuer_stale_seconds: Annotated[
        Positive,
        "How long the last keys of an outside issuer that is away are believed after they should "
        "have been fetched again; then 503.",
    ] = 86_400.0
    outgoing_allow: Annotated[
        Text,
        "The networks, such as `10.0.0.0/8`, separated by commas, that the service may reach for "
        "the keys of outside issuers and for notifications, besides public addresses.",
    ] = ""
    outgoing_http: Annotated[
        Switch, "`on` allows notification URLs of subscriptions with http://, to try them out."
    ] = "off"
    clock_factor: Annotated[
        Positive,
        "By how much the waits of the profile are shorter: those before notifications and before "
        "retries, and the lifetime of subscriptions.",
    ] = 1.0
    body_bytes: Annotated[Count, "The largest body of a request."] = 1 << 20
    batch_bytes: Annotated[Count, "The largest body of a batch, all its requests together."] = (
        8 << 20
    )
    batch_requests: Annotated[Count, "The most requests of a batch."] = 100
    url_bytes: Annotated[Count, "The longest URL."] = 16 << 10
    query_bytes: Annotated[
        CountOrZero, "The longest query of a URL, percent-encoded; 0 for that of `url_bytes`."
    ] = 0
    header_bytes: Annotated[
        Count, "The largest head of a request; also of its trailers and chunk extensions."
    ] = 64 << 10
    request_seconds: Annotated[
        Positive, "The longest time in which a request must arrive, including its body; then 408."
    ] = 60.0
    stall_seconds: Annotated[
        Positive, "Seconds in which a client reads nothing before its connection is closed."
    ] = 60.0
    page_size: Annotated[Count, "Records on a page if the client does not specify a number."] = (
        1_000
    )
    max_page_size: Annotated[
        Count, "The most records on a page with `Prefer: odata.maxpagesize`."
    ] = 20_000
    client_requests: Annotated[
        Count, "The most requests of one client at once; then 429. Each worker allows its share."
    ] = 100
    running_requests: Annotated[
        CountOrZero, "How many of them run; others queue. 0 for all. Each worker allows its share."
    ] = 0
    queue_seconds: Annotated[Positive, "Seconds a request may queue before 503."] = 480.0
    client_rate: Annotated[
        _Rate, "The rate of a client without its own, such as `6000/300s`; empty for no limit."
    ] = ""
    queued_writes: Annotated[Count, "The most waiting writes; further ones get 429."] = 1_000
    queued_scans: Annotated[
        Count, "The most long reads that wait or run, half of it for one client; then 503."
    ] = 100
    scan_threads: Annotated[Count, "Threads for reads without a suitable key or index."] = 2
    scan_seconds: Annotated[Positive, "The longest time for such a read before it is refused."] = (
        30.0
    )
    delta_seconds: Annotated[
        Positive, "How long a delta link is valid; after that it gets 410."
    ] = 30 * 86_400.0
    repeatability_seconds: Annotated[
        _UpToAYear, "How long a write with a repeated `Repeatability-Request-ID` is recognized."
    ] = 86_400.0
    lock_seconds: Annotated[
        Positive, "How long a write waits for the lock of another process before 503."
    ] = 5.0
    expression_nodes: Annotated[Count, "The most nodes of a filter expression."] = 2_500
    expression_depth: Annotated[
        Count, "How deep parentheses and calls may nest in an expression."
    ] = 100
    expression_list: Annotated[Count, "The most values of an `in` list."] = 1_000
    expand_items: Annotated[Count, "The most items of `$expand`, nested ones included."] = 100
    expand_depth: Annotated[Count, "How deep `$expand` may nest."] = 5
    stop_seconds: Annotated[
        Positive, "How long a stop waits for the responses to accepted requests."
    ] = 8.0

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
        return self.public_url.rstrip("/") or self.listening_url

    @property
    def docs_url(self) -> str:
        """The address of the documentation of the API."""
        return self._beside_api("/docs")

    @property
    def console_url(self) -> str:
        """The address of the console, if it is served."""
        return self._beside_api(CONSOLE)

    @property
    def listening_url(self) -> str:
        """The base URL by the address that the service listens on."""
        return f"{self._origin(self.host, self.port)}{self.base_path}"

    def _beside_api(self, path: str) -> str:
        if not self.admin_port:
            return urljoin(self.base_url, path)
        return f"{self._origin(self.admin_host, self.admin_port)}{path}"

    def _origin(self, host: str, port: int) -> str:
        scheme = "https" if self.tls_certificate else "http"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def _items(text: str) -> tuple[str, ...]:
    """The items of a list that commas separate."""
    return tuple(each.strip() for each in text.split(",") if each.strip())


_HINTS = get_type_hints(Settings, include_extras=True)

HELP: Mapping[str, str] = {name: hint.__metadata__[-1] for name, hint in _HINTS.items()}
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
    given: dict[str, str] = {}
    sources: dict[str, str] = {}
    config = options.get("config") or environment.get(environment_name("config"))
    if config:
        given = _config_file(Path(str(config)))
        sources = {name: f"setting {name} in {config}:" for name in given}
    for former, name in _RENAMED.items():
        if (variable := environment_name(former)) in environment:
            raise problems.RENAMED_VARIABLE(former=variable, name=environment_name(name))
    for name in HELP:
        variable = environment_name(name)
        if variable in environment:
            given[name], sources[name] = environment[variable], variable
        option = options.get(name)
        if option is not None:
            given[name], sources[name] = str(option), f"--{name.replace('_', '-')}"

    def invalid(name: str, value: str, remedy: str) -> OperatorError:
        source = sources.get(name, f"setting {name}")
        return problems.INVALID_VALUE(source=source, value=quoted(value), remedy=remedy)

    try:
        settings = msgspec.convert(given, Settings, strict=False)
    except msgspec.ValidationError as error:
        # the message ends with the place: at `$.page_size`
        name = str(error).rpartition("$.")[2].rstrip("`")
        raise invalid(name, given[name], _remedy(name, given[name])) from None
    for name, value, remedy in _contradictions(settings):
        raise invalid(name, str(value), remedy)
    return with_defaults(settings, given)


def with_defaults(settings: Settings, given: Collection[str]) -> Settings:
    """The settings with the profile's defaults for those that are not given."""
    defaults = settings.behaviour.settings
    missing = {name: value for name, value in defaults.items() if name not in given}
    return msgspec.structs.replace(settings, **missing)


def _remedy(name: str, value: str) -> str:
    """What to do about a value that a setting does not accept."""
    choices = get_args(get_type_hints(Settings)[name])
    if not choices:
        return str(_HINTS[name].__metadata__[-2])
    return suggestion(value, choices) or f"Use {', '.join(choices[:-1])} or {choices[-1]}."


def _config_file(path: Path) -> dict[str, str]:
    try:
        content = tomllib.loads(read_whole(path, problems.ANOTHER_CONFIG).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise problems.INVALID_CONFIG(path=path, reason=error) from error
    for name, value in content.items():
        if name not in HELP:
            renamed = f"Use {_RENAMED[name]}." if name in _RENAMED else suggestion(name, HELP)
            raise problems.UNKNOWN_SETTING(suggested=renamed, path=path, name=name)
        if isinstance(value, bool) or not isinstance(value, SettingValue):
            raise problems.INVALID_TYPE(path=path, name=name)
    return {name: str(value) for name, value in content.items()}


def _contradictions(settings: Settings) -> Iterator[tuple[str, SettingValue, str]]:
    """The settings that others do not allow, or with an invalid item; each with a remedy."""
    for origin in sorted(settings.origins - {"*"}):
        if _ORIGIN.fullmatch(origin) is None:
            remedy = "Use * or sites such as https://a.example without a path, separated by commas."
            yield "cors_origins", origin, remedy
    try:
        _ = settings.networks
    except ValueError:
        remedy = "Use networks such as 10.0.0.0/8 or fd00::/8, separated by commas."
        yield "outgoing_allow", settings.outgoing_allow, remedy
    for name, remedy in _conflicts(settings):
        yield name, getattr(settings, name), remedy


def _conflicts(settings: Settings) -> Iterator[tuple[str, str]]:
    if settings.fault_rules and not settings.rehearses:
        yield "fault_rules", "Set faults to on, too."
    if settings.rehearses and settings.workers > 1:
        yield "workers", "Use 1 with faults, whose rules and counts are those of one process."
    if settings.interface_extensions == "off" and settings.profile == "standard":
        yield "interface_extensions", "Set profile to business-central, too."
    if settings.admin_port and settings.admin_port == settings.port:
        yield "admin_port", "Choose another number than that of port."
    if settings.tls_certificate and not settings.tls_key:
        yield "tls_key", "Name the file of the certificate's private key."
    if settings.tls_key and not settings.tls_certificate:
        yield "tls_certificate", "Name the file of the key's certificate."
    first = settings.base_path.split("/", 2)[1]
    console = CONSOLE[1:]
    if first in settings.tenants:
        yield "base_path", "Choose another first segment than the names of oauth_tenants."
    if console in settings.tenants:
        yield "oauth_tenants", f"Choose other names than {console}."
    if first == console:
        yield "base_path", f"Choose another first segment than {console}."
    routes = {path.split("/")[1] for path in settings.behaviour.routes.environments}
    taken = {settings.instance.lower() if each == "{instance}" else each for each in routes}
    if first.lower() in taken:
        yield "base_path", f"Choose another first segment than {' or '.join(sorted(taken))}."
    if not taken.isdisjoint(settings.tenants):
        yield "oauth_tenants", f"Choose other names than {' and '.join(sorted(taken))}."
