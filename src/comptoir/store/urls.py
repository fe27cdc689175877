"""The URLs of databases: which database one names, and how it is shown without its secrets."""

import re

from comptoir.errors import OperatorError

SQLITE = "sqlite:///"
POSTGRES = ("postgresql://", "postgres://")

_SECRETS = re.compile(r"([?&](?:password|sslpassword)=)[^&#]*", re.IGNORECASE)


def is_postgres(url: str) -> bool:
    """Whether a URL names a PostgreSQL database, else one of SQLite.

    Raises `OperatorError` for any other URL.
    """
    if url.startswith(POSTGRES):
        return True
    if url.startswith(SQLITE) and url != SQLITE:
        return False
    raise OperatorError(
        f"the database must be {SQLITE}PATH or {POSTGRES[0]}USER@HOST/NAME, not {shown(url)!r}."
    )


def shown(url: str) -> str:
    """A URL as it may be printed: with `***` for passwords, whatever else is wrong with it."""
    if url.startswith(SQLITE):
        return url
    scheme, slashes, rest = url.partition("://") if "://" in url else ("", "", url)
    login, at, place = rest.rpartition("@")
    user, colon, _ = login.partition(":")
    secret = "***" if colon else ""
    return _SECRETS.sub(r"\1***", f"{scheme}{slashes}{user}{colon}{secret}{at}{place}")
