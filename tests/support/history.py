"""The changes of a company as the API shows them, and the records from before them."""

from collections.abc import Mapping

import httpx
import msgspec

from support.client import Client, Query

Values = Mapping[str, object]


class Change(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A change as the API shows it."""

    number: int
    at: str
    by: str
    verb: str
    entity_set: str
    record: str
    previous: int | None = None
    before: Values | None = None
    after: Values | None = None


class Changes(msgspec.Struct):
    """A page of changes."""

    value: list[Change]
    next_link: str | None = msgspec.field(default=None, name="@odata.nextLink")


def page_of(response: httpx.Response) -> Changes:
    """The page in a response with status 200."""
    assert response.status_code == 200, response.text
    return msgspec.json.decode(response.content, type=Changes)


def changes(company: Client, query: Query = "", size: int = 1_000) -> list[Change]:
    """All changes that a query asks for, in pages of a size."""
    wishes = {"Prefer": f"odata.maxpagesize={size}"}
    read = page_of(company.get("changes", query, wishes))
    found = read.value
    while read.next_link is not None:
        assert len(read.value) == size
        read = page_of(company.follow(read.next_link, wishes))
        found += read.value
    return found


def of_record(entity_set: str, key: object, start: int | None = None) -> Mapping[str, str]:
    """The query for the changes of a record, from one of them on."""
    begin = {} if start is None else {"from": f"{start}"}
    return {"entitySet": entity_set, "record": f"{key}", **begin}


def undone(record: Values | None, change: Change) -> Values | None:
    """A record before its last change, None if it did not exist; secrets are null from then on.

    The change must have the values that it replaces.
    """
    if change.verb == "create":
        assert record is not None
        assert (change.previous, change.before, change.after) == (None, None, None)
        return None
    assert change.before is not None
    if change.verb == "delete":
        assert (record, change.after) == (None, None)
        return change.before
    assert change.after is not None
    assert record is not None
    assert change.before.keys() == change.after.keys() <= record.keys()
    for name, value in change.after.items():
        assert record[name] == value or value is None or record[name] is None
    return {**record, **change.before}
