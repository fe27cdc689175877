"""The service's own addresses, and the issuers of the tokens that it gives to clients."""

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address
from urllib.parse import quote, urlsplit

from comptoir.config import Settings

CONSOLE = "/console"
"""The path of the pages for operators, which is outside the base path."""

_ENDPOINT = "/oauth2/v2.0/token"
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


def own_origins(settings: Settings) -> Sequence[str]:
    """The origins by which clients may know the service; the configured one is the first.

    A service on a loopback address without a public URL has several names.
    """
    parts = urlsplit(settings.base_url)
    is_local = not settings.public_url and is_loopback(parts.hostname or "")
    others = _LOOPBACK if is_local else ()
    return _origins(settings.base_url, parts.scheme, others, settings.port)


def console_origins(settings: Settings) -> Mapping[str, str]:
    """The origins at which browsers may use these pages, by the `Host` that they send.

    A foreign name would let a page of another site use them (DNS rebinding).
    """
    scheme = "https" if settings.tls_certificate else "http"
    port = settings.admin_port or settings.port
    origins = _origins(settings.beside_api(CONSOLE), scheme, _LOOPBACK, port)
    return {urlsplit(each).netloc: each for each in reversed(origins)}


def _origins(url: str, scheme: str, hosts: Iterable[str], port: int) -> Sequence[str]:
    """The origin of a URL, then those of hosts at a port; each once, without a default port."""
    parts = urlsplit(url)
    origins = [f"{parts.scheme}://{parts.netloc}", *(f"{scheme}://{each}:{port}" for each in hosts)]
    named = [each.lower().removesuffix(_DEFAULT_PORTS[urlsplit(each).scheme]) for each in origins]
    return list(dict.fromkeys(named))


def redirect_uri(origin: str, issuer: str) -> str:
    """The address at which a person comes back from the issuer with a name.

    Each issuer has its own, so none can pass on the answer of another (RFC 9700, 4.4).
    """
    return f"{origin}{CONSOLE}/login/{quote(issuer, safe='')}/back"


def redirect_uris(issuer: str, settings: Settings) -> Sequence[str]:
    """The addresses at which users come back, one for each origin."""
    origins = list(console_origins(settings).values())
    return [redirect_uri(each, issuer) for each in reversed(origins)]


def is_loopback(host: str) -> bool:
    """Whether a name or address is of the machine itself."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def origin_named(host: str, settings: Settings) -> str:
    """The own origin that a `Host` header names, else the configured one.

    A foreign name would make clients trust another service's address.
    """
    origins = own_origins(settings)
    for each in origins:
        if urlsplit(each).netloc == host.lower():
            return each
    return origins[0]


def issuer_at(origin: str, tenant: str) -> str:
    """The `iss` of tokens that clients get at an origin for a tenant."""
    return f"{origin}/{tenant}/v2.0"


def token_url(origin: str, tenant: str) -> str:
    """The token endpoint at an origin for a tenant."""
    return f"{origin}/{tenant}{_ENDPOINT}"


def issuer_paths(tenant: str, settings: Settings) -> Sequence[str]:
    """The paths of the issuers whose documents lead to a tenant; the first is that of its tokens.

    The issuer without a path is that of the first tenant.
    """
    return [f"/{tenant}/v2.0", f"/{tenant}", *_root(tenant, settings)]


def token_paths(tenant: str, settings: Settings) -> Sequence[str]:
    """The paths of the token endpoint of a tenant."""
    return [f"{each}{_ENDPOINT}" for each in (f"/{tenant}", *_root(tenant, settings))]


def needs_credentials(path: str, settings: Settings) -> bool:
    """Whether clients authenticate themselves at a path: the token endpoint, or one beside it."""
    folder, _, name = path.lower().rpartition("/")
    found = [each for tenant in settings.tenants for each in token_paths(tenant, settings)]
    return name in ("token", "revoke", "introspect") and f"{folder}/token" in found


def _root(tenant: str, settings: Settings) -> Sequence[str]:
    return [""] if tenant == settings.tenants[0] else []


def audiences_at(origin: str, tenant: str, settings: Settings) -> Sequence[str]:
    """The names of the service in assertions that are sent to a tenant at an origin.

    Clients use the address of the token endpoint or that of the issuer (RFC 7523, 3).
    """
    paths = (*token_paths(tenant, settings), *issuer_paths(tenant, settings))
    return [f"{origin}{each}" for each in paths]


def client_issuers(settings: Settings) -> frozenset[str]:
    """The `iss` of all tokens that the token endpoint may have given."""
    return frozenset(
        issuer_at(origin, tenant) for origin in own_origins(settings) for tenant in settings.tenants
    )
