"""URLs of databases: whether they name PostgreSQL or SQLite, and their text without passwords."""

import re

from comptoir.errors import operator_rows as problems
from comptoir.errors.messages import quoted

SQLITE = "sqlite:///"
POSTGRES = ("postgresql://", "postgres://")

_SECRETS = re.compile(r"([?&](?:password|sslpassword)=)[^&#]*", re.IGNORECASE)


def is_postgres(url: str) -> bool:
    """Whether a URL names a PostgreSQL database, and not an SQLite file.

    Raises `OperatorError` for any other URL.
    """
    if url.startswith(POSTGRES):
        return True
    if url.startswith(SQLITE) and url != SQLITE:
        return False
    raise problems.INVALID_DATABASE(url=quoted(redacted(url)), sqlite=SQLITE, postgres=POSTGRES[0])


def redacted(url: str) -> str:
    """A URL, even a malformed one, with `***` for its passwords."""
    if url.startswith(SQLITE):
        return url
    scheme, slashes, rest = url.partition("://") if "://" in url else ("", "", url)
    login, at, place = rest.rpartition("@")
    user, colon, _ = login.partition(":")
    secret = "***" if colon else ""
    return _SECRETS.sub(r"\1***", f"{scheme}{slashes}{user}{colon}{secret}{at}{place}")
