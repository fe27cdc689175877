"""The settings, each declared once: read from an option, the environment or the config file.

An option overrides the environment (`COMPTOIR_…`), which overrides the config file, which
overrides the default. `docs/reference/settings.md` is generated from the declarations below.
"""

import os
import re
import stat
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, ClassVar, Literal, NamedTuple, TypeVar, get_args
from urllib.parse import urljoin

import msgspec
from msgspec import Meta
from typing_extensions import override

from comptoir.errors import operator_rows as problems
from comptoir.errors.messages import quoted, suggestion
from comptoir.errors.refusal import OperatorError
from comptoir.profiles.record import STANDARD, Profile

SettingValue = str | int | float

RATE = re.compile(r"([1-9][0-9]{0,8})/([1-9][0-9]{0,5})s", re.ASCII)

LONGEST_REPEATABILITY = 366 * 86_400
"""The most seconds for which repeated writes can be recognized."""

LARGEST_FILE = 1 << 20
"""The most bytes of a file that is read whole, unless its reader allows fewer."""

ENVIRONMENT_PREFIX = "COMPTOIR_"

_RENAMED = {"seed_shapes": "interface_extensions", "turn_seconds": "queue_seconds"}
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#@*;\s]+", re.ASCII)
_LOGIN = re.compile(r"(?<=://).*(?=@)|(?<=password=)[^&]*", re.DOTALL | re.IGNORECASE)
_ALL_ADDRESSES = ("0.0.0.0", "::")
_MOST_WORKERS = min(64, 4 * (os.cpu_count() or 1))
_UNPRINTABLE = r"\x00-\x1f\x7f\ud800-\udfff"
"""Control characters, and the surrogates in place of bytes that are not UTF-8."""


def list_of(name: str) -> str:
    """The pattern of one or more names, separated by commas."""
    return rf"\A[ ,]*{name}(?: *,[ ,]*{name})*[ ,]*\Z"


# Each kind of value ends with the remedy for an invalid one, to which a setting adds its help.
Text = Annotated[
    str, Meta(pattern=rf"\A[^{_UNPRINTABLE}]*\Z"), "Use text in UTF-8, without control characters."
]
Switch = Literal["on", "off"]
Count = Annotated[int, Meta(gt=0), "Use an integer greater than 0."]
CountOrZero = Annotated[int, Meta(ge=0), "Use 0 or a greater integer."]
Positive = Annotated[float, Meta(gt=0, le=1e300), "Use a number greater than 0."]
Port = Annotated[int, Meta(ge=0, le=65_535), "Use an integer from 0 to 65535."]
_Workers = Annotated[
    int,
    Meta(gt=0, le=_MOST_WORKERS),
    f"Use an integer from 1 to {_MOST_WORKERS}, which is four for each core and 64 in all.",
]
_UpToAYear = Annotated[
    float,
    Meta(gt=0, le=LONGEST_REPEATABILITY),
    f"Use a number greater than 0 and at most {LONGEST_REPEATABILITY}, which is a year.",
]
_Days = Annotated[int, Meta(ge=0, le=36_500), "Use an integer from 0 to 36500, a hundred years."]
_BasePath = Annotated[
    str,
    Meta(pattern=r"\A(?:/[A-Za-z0-9_.~-]+)+\Z"),
    "Use segments of letters, digits, - . _ and ~, each after a slash, such as /api.",
]
_Tenants = Annotated[
    str,
    # client libraries convert the addresses of tenants to lower case
    Meta(pattern=list_of("[a-z0-9][a-z0-9.-]*")),
    "Use names of lower-case letters, digits, - and ., such as comptoir.",
]
_HOST = rf"\[[0-9A-Fa-f:.]+\]|[^/?#\[\]:\s{_UNPRINTABLE}]+"
_PublicUrl = Annotated[
    str,
    Meta(pattern=rf"\A(?:https?://(?:{_HOST})(?::[0-9]{{1,5}})?(?:[/?#][^{_UNPRINTABLE}]*)?)?\Z"),
    "Start it with http:// or https://, a host and its port, if any.",
]
_Rate = Annotated[
    str, Meta(pattern=rf"\A(?:{RATE.pattern})?\Z"), "Write requests and seconds, such as 6000/300s."
]


class SettingsPart(msgspec.Struct, frozen=True, kw_only=True):
    """Settings that belong together. Sizes are in bytes, times in seconds.

    `options` are those that `comptoir serve` has as options, `flags` those of them that are
    flags, with the help of the flag.
    """

    options: ClassVar[tuple[str, ...]] = ()
    flags: ClassVar[Mapping[str, str]] = {}

    def conflicts(self, settings: "Settings") -> Iterator[tuple[str, str]]:
        """The settings that others do not allow, each with a remedy."""
        yield from ()


P = TypeVar("P", bound=SettingsPart)


class Settings(SettingsPart, frozen=True, kw_only=True):
    """The settings of the service itself; `parts` are those of optional parts of it.

    `is_quickstart`: they are those of `serve --quickstart`.
    """

    parts: tuple[SettingsPart, ...] = ()
    is_quickstart: bool = False
    # fmt: off
    options = ("database", "read_database", "catalog", "keys", "host", "port", "profile",
        "base_path", "public_url", "trusted_proxies", "workers", "log_level")

    database: Annotated[Text,
        "The database: `sqlite:///PATH` or `postgresql://USER@HOST/NAME`."
    ] = "sqlite:///./data/comptoir.db"
    read_database: Annotated[Text,
        "A standby of the PostgreSQL database, for requests with `Data-Access-Intent: ReadOnly` "
        "or a `Consistency-Token`."] = ""
    catalog: Annotated[Text,
        "A file that declares the entity sets, or `business-central-v2`; by default, those that "
        "the database has, or else those of the interface."] = ""
    read_only: Annotated[Switch,
        "`on` refuses writes of records, and serves a read-only database too."] = "off"
    connect_seconds: Annotated[Positive,
        "The longest time to connect to PostgreSQL, for all hosts of the URL together."] = 10.0
    database_connections: Annotated[Count,
        "The most connections of a process to PostgreSQL, and as many to a standby."] = 20
    statement_cache: Annotated[CountOrZero,
        "Prepared statements kept for each connection to PostgreSQL; 0 for PgBouncer in "
        "transaction mode."] = 500
    keys: Annotated[Text, "The folder of the keys that sign and verify tokens."] = "./data/keys"
    host: Annotated[Text, "The address to listen on."] = "127.0.0.1"
    port: Annotated[Port, "The port to listen on; 0 selects a free one."] = 8080
    admin_host: Annotated[Text,
        "The address on which `admin_port` is, if that is not 0. With `0.0.0.0`, the console only "
        "responds to browsers that use `127.0.0.1` or `localhost`."] = "127.0.0.1"
    admin_port: Annotated[Port,
        "The only port with `/metrics`, `/readyz`, `/docs` and the console; 0 to have them beside "
        "the API."] = 0
    profile: Annotated[Text,
        "How the service behaves where the interface leaves it open: `standard`, or a profile "
        "that imitates another product."] = "standard"
    base_path: Annotated[_BasePath, "The path of the service root."] = "/api"
    public_url: Annotated[_PublicUrl,
        "The complete base URL as clients see it, if there is a proxy; by default, it consists of "
        "host, port and base path."] = ""
    trusted_proxies: Annotated[Text,
        "The addresses, separated by commas, whose X-Forwarded headers are trusted."] = ""
    tls_certificate: Annotated[Text,
        "The PEM file of the certificate for HTTPS and its chain; without it, plain HTTP."] = ""
    tls_key: Annotated[Text, "The PEM file of the certificate's unencrypted private key."] = ""
    cors_origins: Annotated[Text,
        "The sites, such as `https://app.example.com`, separated by commas, whose scripts may use "
        "the API in a browser; `*` for all."] = ""
    workers: Annotated[_Workers, "Processes that serve: up to four for each core, and 64."] = 1
    log_level: Annotated[Literal["debug", "info", "warning", "off"],
        "`info` logs every request, `warning` only failures, `off` nothing; `debug` adds queries "
        "without secrets, the checks that refused requests, and orders without an index."] = "info"
    server_timing: Annotated[Switch,
        "`on` adds the header `Server-Timing` to responses, with the milliseconds of the stages of "
        "their requests."] = "off"
    token_issuer: Annotated[Text, "The `iss` claim of issued and accepted tokens."] = "comptoir"
    token_audience: Annotated[Text, "The `aud` claim of issued and accepted tokens."] = "comptoir"
    token_algorithms: Annotated[Text,
        "The accepted signature algorithms, separated by commas."] = "ES256"
    oauth_tenants: Annotated[_Tenants,
        "The first segments of the token endpoint's path, separated by commas; a client of "
        "Microsoft's libraries calls it the tenant."] = "comptoir"
    oauth_resources: Annotated[Text,
        "The resources, separated by commas, of scopes such as `api://comptoir/.default`."
    ] = "api://comptoir, https://api.businesscentral.dynamics.com"
    issuer_stale_seconds: Annotated[Positive,
        "How long the last keys of an outside issuer that is away are believed after they should "
        "have been fetched again; then 503."] = 86_400.0
    outgoing_allow: Annotated[Text,
        "The networks, such as `10.0.0.0/8`, separated by commas, that the service may reach, "
        "besides public addresses, such as for the keys of outside issuers."] = ""
    body_bytes: Annotated[Count, "The largest body of a request."] = 1 << 20
    batch_bytes: Annotated[Count,
        "The largest body of a batch, all its requests together."] = 8 << 20
    batch_requests: Annotated[Count, "The most requests of a batch."] = 100
    url_bytes: Annotated[Count, "The longest URL."] = 16 << 10
    query_bytes: Annotated[CountOrZero,
        "The longest query of a URL, percent-encoded; 0 for that of `url_bytes`."] = 0
    header_bytes: Annotated[Count,
        "The largest head of a request; also of its trailers and chunk extensions."] = 64 << 10
    request_seconds: Annotated[Positive,
        "The longest time in which a request must arrive, including its body; then 408."] = 60.0
    stall_seconds: Annotated[Positive,
        "Seconds in which a client reads nothing before its connection is closed."] = 60.0
    page_size: Annotated[Count,
        "Records on a page if the client does not specify a number."] = 1_000
    max_page_size: Annotated[Count,
        "The most records on a page with `Prefer: odata.maxpagesize`."] = 20_000
    client_requests: Annotated[Count,
        "The most requests of one client at once; then 429. Each worker allows its share."] = 100
    running_requests: Annotated[CountOrZero,
        "How many of them run; others queue. 0 for all. Each worker allows its share."] = 0
    queue_seconds: Annotated[Positive, "Seconds a request may queue before 503."] = 480.0
    client_rate: Annotated[_Rate,
        "The rate of a client without its own, such as `6000/300s`; empty for no limit."] = ""
    queued_writes: Annotated[Count, "The most waiting writes; further ones get 429."] = 1_000
    queued_scans: Annotated[Count,
        "The most long reads that wait or run, half of it for one client; then 503."] = 100
    scan_threads: Annotated[Count, "Threads for reads without a suitable key or index."] = 2
    scan_seconds: Annotated[Positive,
        "The longest time for such a read before it is refused."] = 30.0
    delta_seconds: Annotated[Positive,
        "How long a delta link is valid; after that it gets 410."] = 30 * 86_400.0
    history_days: Annotated[_Days,
        "Days for which the change log keeps the values before and after an update, and those of a "
        "deleted record; 0 to store none."] = 90
    log_days: Annotated[_Days,
        "Days for which the change log and the audit log keep their entries, those of changes at "
        "least for `delta_seconds`; 0 to keep all."] = 0
    repeatability_seconds: Annotated[_UpToAYear,
        "How long a write with a repeated `Repeatability-Request-ID` is recognized."] = 86_400.0
    lock_seconds: Annotated[Positive,
        "How long a write waits for the lock of another process before 503."] = 5.0
    expression_nodes: Annotated[Count, "The most nodes of a filter expression."] = 2_500
    expression_depth: Annotated[Count,
        "How deep parentheses and calls may nest in an expression."] = 100
    expression_list: Annotated[Count, "The most values of an `in` list."] = 1_000
    expand_items: Annotated[Count, "The most items of `$expand`, nested ones included."] = 100
    expand_depth: Annotated[Count, "How deep `$expand` may nest."] = 5
    stop_seconds: Annotated[Positive,
        "How long a stop waits for the responses to accepted requests."] = 8.0
    # fmt: on

    @property
    def origins(self) -> frozenset[str]:
        """The sites of `cors_origins`."""
        return frozenset(each.lower().removesuffix("/") for each in items(self.cors_origins))

    def of(self, part: type[P]) -> P:
        """The settings of a part."""
        return next((each for each in (self, *self.parts) if isinstance(each, part)), part())

    def value(self, name: str) -> SettingValue:
        """The value of a setting by its name."""
        value: SettingValue = getattr(self.of(SETTINGS[name].part), name)
        return value

    @override
    def conflicts(self, settings: "Settings") -> Iterator[tuple[str, str]]:
        if self.admin_port and self.admin_port == self.port:
            yield "admin_port", "Choose another number than that of port."
        if self.tls_certificate and not self.tls_key:
            yield "tls_key", "Name the file of the certificate's private key."
        if self.tls_key and not self.tls_certificate:
            yield "tls_certificate", "Name the file of the key's certificate."
        if self.first_segment in self.tenants:
            yield "base_path", "Choose another first segment than the names of oauth_tenants."

    @property
    def first_segment(self) -> str:
        """The first segment of the base path."""
        return self.base_path.split("/", 2)[1]

    @property
    def behaviour(self) -> Profile:
        """The profile that `profile` names."""
        return PROFILES[self.profile](self)

    @property
    def refuses_writes(self) -> bool:
        """Whether the service only reads records."""
        return self.read_only == "on"

    @property
    def tenants(self) -> tuple[str, ...]:
        """The names of `oauth_tenants`."""
        return items(self.oauth_tenants)

    @property
    def resources(self) -> tuple[str, ...]:
        """The resources of `oauth_resources`."""
        return items(self.oauth_resources)

    @property
    def networks(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """The networks of `outgoing_allow`; raises `ValueError` for one that is not valid."""
        return tuple(map(ip_network, items(self.outgoing_allow)))

    @property
    def base_url(self) -> str:
        """The URL that paths are appended to, without a trailing slash."""
        return self.public_url.rstrip("/") or self.listening_url

    @property
    def docs_url(self) -> str:
        """The address of the documentation of the API."""
        return self.beside_api("/docs")

    @property
    def listening_url(self) -> str:
        """The base URL by the address that the service listens on."""
        return f"{self._origin(self.host, self.port)}{self.base_path}"

    def beside_api(self, path: str) -> str:
        """The address of a page outside the base path, on `admin_port` if there is one.

        If that is on all addresses, as in a container, the page is for browsers on this machine.
        """
        if not self.admin_port:
            return urljoin(self.base_url, path)
        host = "127.0.0.1" if self.admin_host in _ALL_ADDRESSES else self.admin_host
        return f"{self._origin(host, self.admin_port)}{path}"

    def _origin(self, host: str, port: int) -> str:
        scheme = "https" if self.tls_certificate else "http"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def items(text: str) -> tuple[str, ...]:
    """The items of a list that commas separate."""
    return tuple(each.strip() for each in text.split(",") if each.strip())


PROFILES: dict[str, Callable[[Settings], Profile]] = {"standard": lambda _: STANDARD}
"""What makes each profile, by the names that the setting `profile` accepts.

Optional parts of the service add theirs.
"""


class Setting(NamedTuple):
    """A declared setting: `choices`, or the remedy for an invalid value."""

    part: type[SettingsPart]
    default: SettingValue
    choices: tuple[str, ...]
    remedy: str
    help: str


SETTINGS: dict[str, Setting] = {}
"""All settings, by their names."""


def declare(part: type[SettingsPart]) -> None:
    """Add the settings of a part to those that can be given."""
    for field in msgspec.structs.fields(part):
        if not hasattr(field.type, "__metadata__"):
            continue
        *kind, text = field.type.__metadata__
        choices = get_args(field.type.__origin__)
        SETTINGS[field.name] = Setting(part, field.default, choices, "".join(kind[1:]), text)


declare(Settings)


def environment_name(setting: str) -> str:
    """The environment variable of a setting: `COMPTOIR_PAGE_SIZE` for `page_size`."""
    return ENVIRONMENT_PREFIX + setting.upper()


def given_settings(
    options: Mapping[str, SettingValue | None], environment: Mapping[str, str] = os.environ
) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The texts of the given settings, and the option, variable or line that each comes from."""
    given: dict[str, str] = {}
    sources: dict[str, str] = {}
    config = options.get("config") or environment.get(environment_name("config"))
    if config:
        given = _config_file(Path(str(config)))
        sources = {name: f"setting {name} in {config}:" for name in given}
    for former, name in _RENAMED.items():
        if (variable := environment_name(former)) in environment:
            raise problems.RENAMED_VARIABLE(former=variable, name=environment_name(name))
    for name in SETTINGS:
        variable = environment_name(name)
        if variable in environment:
            given[name], sources[name] = environment[variable], variable
        option = options.get(name)
        if option is not None:
            given[name], sources[name] = str(option), f"--{name.replace('_', '-')}"
    return given, sources


def load_settings(
    options: Mapping[str, SettingValue | None], environment: Mapping[str, str] = os.environ
) -> Settings:
    """Combine the settings of the command line, the environment and the config file.

    In `options`, None means that an option is missing. The option or variable `config`
    (`COMPTOIR_CONFIG`) names the config file, TOML with one line for each setting. Raises
    `OperatorError` for an unknown or renamed setting, or an invalid value.
    """
    given, sources = given_settings(options, environment)

    def invalid(name: str, value: str, remedy: str) -> OperatorError:
        source = sources.get(name, f"setting {name}")
        return problems.INVALID_VALUE(
            source=source, value=quoted(_LOGIN.sub("***", value)), remedy=remedy
        )

    try:
        settings = read(given)
    except msgspec.ValidationError as error:
        # the message ends with the place: at `$.page_size`
        name = str(error).rpartition("$.")[2].rstrip("`")
        declared, text = SETTINGS[name], given[name]
        raise invalid(name, text, declared.remedy or _one_of(declared.choices, text)) from None
    if settings.profile not in PROFILES:
        raise invalid("profile", settings.profile, _one_of(tuple(PROFILES), settings.profile))
    for name, value, remedy in _contradictions(settings):
        raise invalid(name, str(value), remedy)
    return with_defaults(settings, given)


def read(given: Mapping[str, SettingValue]) -> Settings:
    """The settings with these values; raises `msgspec.ValidationError` for an invalid one."""
    values: dict[type[SettingsPart], dict[str, SettingValue]] = {
        each.part: {} for each in SETTINGS.values()
    }
    for name, value in given.items():
        values[SETTINGS[name].part][name] = value
    settings = msgspec.convert(values.pop(Settings), Settings, strict=False)
    parts = [msgspec.convert(of_part, part, strict=False) for part, of_part in values.items()]
    return msgspec.structs.replace(settings, parts=tuple(parts))


def with_defaults(settings: Settings, given: Collection[str]) -> Settings:
    """The settings with the profile's defaults for those that are not given."""
    defaults = settings.behaviour.settings
    missing = {name: value for name, value in defaults.items() if name not in given}
    return msgspec.structs.replace(settings, **missing)


def _one_of(choices: Sequence[str], value: str) -> str:
    """The remedy for a value that is not one of several."""
    listed = filter(None, (", ".join(choices[:-1]), choices[-1]))
    return suggestion(value, choices) or f"Use {' or '.join(listed)}."


def _config_file(path: Path) -> dict[str, str]:
    try:
        content = tomllib.loads(read_whole(path, problems.ANOTHER_CONFIG).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise problems.INVALID_CONFIG(path=path, reason=error) from error
    for name, value in content.items():
        if name not in SETTINGS:
            renamed = f"Use {_RENAMED[name]}." if name in _RENAMED else suggestion(name, SETTINGS)
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
    for part in (settings, *settings.parts):
        for name, remedy in part.conflicts(settings):
            yield name, settings.value(name), remedy


def read_whole(path: Path, remedy: str, most: int = LARGEST_FILE) -> bytes:
    """The content of a regular file of up to `most` bytes.

    Raises `OperatorError` with the remedy, also for a device or a pipe, which may have no end.
    """
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise problems.NOT_REGULAR(path=path, remedy=remedy)
            content = file.read(most + 1)
    except OSError as error:
        raise problems.UNREADABLE(path=path, reason=error.strerror, remedy=remedy) from error
    if len(content) > most:
        raise problems.LARGE_FILE(path=path, kib=most >> 10, remedy=remedy)
    return content


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe would wait for its writer."""
    return os.open(path, flags | os.O_NONBLOCK)
