"""The length of URLs, of requests by themselves and within a batch."""

import re

from comptoir.errors import URI_TOO_LONG, Refusal

_TOKEN = re.compile(r"(?:^|&)(?:\$|%24)?(?:skip|delta)token=", re.IGNORECASE)


def check_url(path: str, query: str, limit: int) -> None:
    """Raise `Refusal` (414) for a path below the base path and a query longer than the limit."""
    if len(path) + len(query) <= limit:
        return
    # a link of ours may be longer: it holds the values of the record at which a page ended
    token = _TOKEN.search(query)
    asked = query if token is None else query[: token.start()]
    if len(path) + len(asked) > limit:
        raise Refusal(
            URI_TOO_LONG,
            f"The URL is longer than {limit} bytes. Shorten the filter, or split it over several "
            "requests.",
        )
