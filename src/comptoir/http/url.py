"""The length of URLs, of requests by themselves and within a batch."""

import re

from comptoir.errors import URI_TOO_LONG, Refusal

_TOKEN = re.compile(r"(?:^|&)(?:\$|%24)?(?:skip|delta)token=", re.IGNORECASE)


def check_url(path_length: int, query: str, limit: int) -> None:
    """Raise `Refusal` (414) for a path of some length and a query that exceed the limit."""
    if path_length + len(query) <= limit:
        return
    # a link of ours may be longer: it holds the values of the record at which a page ended
    token = _TOKEN.search(query)
    asked = query if token is None else query[: token.start()]
    if path_length + len(asked) > limit:
        raise Refusal(
            URI_TOO_LONG,
            f"The URL is longer than {limit} bytes. Shorten the filter, or split it over several "
            "requests.",
        )
