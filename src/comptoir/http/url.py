"""The length of URLs, of requests by themselves and within a batch."""

import re

from comptoir.errors import URI_TOO_LONG, Refusal

_TOKEN = re.compile(r"(?:^|&)(?:\$|%24)?(?:skip|delta)token=[^&]*", re.IGNORECASE)


def check_url(path_bytes: int, query: str, limit: int) -> None:
    """Raise `Refusal` (414) for a path of so many bytes and a query longer than the limit."""
    if path_bytes + len(query) <= limit:
        return
    # a link of ours may be longer: it holds the values of the record at which a page ended
    tokens = sum(len(each[0]) for each in _TOKEN.finditer(query))
    if path_bytes + len(query) - tokens > limit:
        raise Refusal(
            URI_TOO_LONG,
            f"The URL is longer than {limit} bytes. Shorten the filter, or split it over several "
            "requests.",
        )
