"""Paths as people like to read them in lists and lines."""

import re

_COMPANY = "/companies("
_ID = re.compile(r"(?<=[(=])([0-9a-f]{4})[0-9a-f]{4}-[0-9a-f-]{27}(?=[,)])", re.IGNORECASE)


def short_path(path: str) -> str:
    """A path without what precedes the resource, and with the beginnings of ids alone."""
    # not by a pattern, whose search would take hours for a path with many companies
    resource = path.rpartition(_COMPANY)[2].partition(")/")[2] if _COMPANY in path else ""
    return _ID.sub(r"\1…", resource or path)
