"""The records of a company, through the service that clients use, and the URLs of their pages."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import cast
from urllib.parse import quote, urlencode

import msgspec

from comptoir.auth.origins import CONSOLE
from comptoir.edm.model import EntitySet
from comptoir.errors.refusal import Refusal
from comptoir.errors.table import RECORD_NOT_FOUND
from comptoir.features.console import errors
from comptoir.features.console.record_query import RecordQuery, query_of, with_key
from comptoir.features.console.record_table import row_id
from comptoir.features.console.values import TablePage, Values, decoded, encoded, text_columns
from comptoir.features.console.visit import Visit, extended, fields_text, form_data
from comptoir.jsonvalue import Json
from comptoir.request.headers import Headers, entity_tag
from comptoir.response.records import decoded_opaque, key_in_path
from comptoir.response.response import Response, whole_body
from comptoir.service import Table

PAGE_SIZE = 50
"""The records of a page."""

PREFER = f"odata.maxpagesize={PAGE_SIZE}"
"""The value of `Prefer` by which a page has `PAGE_SIZE` records."""

COUNT_SECONDS = 0.05
"""Seconds after which a page does without the number of all records."""

SOME = 10_000
"""The number beyond which records are not counted if that takes longer."""

LONGEST_BACK = 2_000
"""Characters of the query of a list to which the page of a record leads back."""

NO_HEADERS: Headers = MappingProxyType({})

_PAGE: Headers = {b"prefer": PREFER.encode()}

_BARE: Headers = {**_PAGE, b"accept": b"application/json;odata.metadata=none"}


class Version(msgspec.Struct, frozen=True):
    """A version of a record: its ETag, and its values without the secret ones."""

    tag: str
    values: Values


class ChangeLine(msgspec.Struct, frozen=True):
    """An entry of the change log, with the values that it changed, as far as they are kept."""

    number: int
    at: str
    by: str
    verb: str
    entity_set: str
    record: str
    before: Values
    after: Values


class CompanyRecords:
    """The records of the company that a visit has chosen, with the rights of its user.

    The methods raise `Refusal` as the service does.
    """

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._settings = visit.backend.settings

    def path(self, entity_set: EntitySet, key: str | None = None) -> str:
        """The path of a set after the service root, or of its record with this key."""
        path = f"{self._company(entity_set)}/{entity_set.name}"
        if key is None:
            return path
        declared = entity_set.type.key_property
        text = key if declared.type.quoted else quote(key, safe="")
        part = key_in_path(text, is_quoted=declared.type.quoted)
        if entity_set.key_narrows:
            # a key without its name would restrict the collection
            part = f"({declared.name}={part[1:]}"
        return path + part

    async def document(self, entity_set: EntitySet, query: str) -> bytes:
        """A page of a collection as JSON, as clients receive it."""
        return await self._sent("GET", self.path(entity_set), query, headers=_PAGE)

    async def rows(self, entity_set: EntitySet, query: str, names: tuple[str, ...]) -> Table:
        """The longest page of a collection as rows with these properties."""
        size = self._settings.max_page_size
        with _answered():
            async with asyncio.timeout(self._settings.request_seconds):
                return await self._rows(entity_set, query, names, size)

    async def table(
        self, entity_set: EntitySet, query: RecordQuery, names: tuple[str, ...]
    ) -> tuple[TablePage, str]:
        """A page with these columns, and `count` of its query.

        A set's own number comes with the page, since it is known without reading the records.
        """
        options, names = query.options(entity_set.type), with_key(entity_set.type, names)
        if not query.is_limited:
            with suppress(TimeoutError):
                counted = f"{options}&$count=true"
                page = await self._table(entity_set, counted, names, COUNT_SECONDS)
                return page, f"{page.count:,}"
        with _answered():
            seconds = self._settings.request_seconds
            page = await self._table(entity_set, options, names, seconds)
        is_last = not page.next_link
        number = f"{query.skip + page.size:,}" if is_last else ""
        return page, number or await self.count(entity_set, query)

    async def _table(
        self, entity_set: EntitySet, options: str, names: tuple[str, ...], seconds: float
    ) -> TablePage:
        """A page in these seconds; raises `TimeoutError` after them."""
        async with asyncio.timeout(seconds):
            table = await self._rows(entity_set, options, names, PAGE_SIZE)
            rows = [row async for some in table.rows() for row in some]
        columns = text_columns(entity_set.type, names, rows)
        return TablePage(columns, len(rows), table.next_link, table.count)

    async def _rows(
        self, entity_set: EntitySet, query: str, names: tuple[str, ...], page_size: int
    ) -> Table:
        visit, path = self._visit, self.path(entity_set)
        return await visit.backend.table(visit.principal, path, query, names, page_size)

    async def count(self, entity_set: EntitySet, query: RecordQuery) -> str:
        """The number of all records of a query, in words; blank if that takes long."""
        path = self.path(entity_set)
        with suppress(TimeoutError, Refusal):
            async with asyncio.timeout(COUNT_SECONDS):
                counted = await self._sent("GET", f"{path}/$count", query.count_options)
                return f"{int(counted.decode('utf-8-sig')):,}"
        with suppress(TimeoutError, Refusal):
            async with asyncio.timeout(COUNT_SECONDS):
                document = await self._sent("GET", path, query.some_options(SOME + 1))
                [found] = cast("list[Values]", decoded(document)["value"])
                number = found["records"]
                return f"more than {SOME:,}" if number == SOME + 1 else f"{number:,}"
        return ""

    async def read(self, entity_set: EntitySet, key: str) -> Version:
        """A record without its secrets."""
        return _version(decoded(await self.record_document(entity_set, key)))

    async def record_document(self, entity_set: EntitySet, key: str) -> bytes:
        """A record without its secrets as JSON, as clients receive it."""
        return await self._sent("GET", self.path(entity_set, key), _without_secrets(entity_set))

    async def matching(
        self, entity_set: EntitySet, condition: str, most: int = PAGE_SIZE
    ) -> list[Values]:
        """The first records that meet a condition, without secrets; `PAGE_SIZE` at most."""
        query = f"$filter={quote(condition)}&$top={most}&{_without_secrets(entity_set)}"
        records, _ = await self._page(self.path(entity_set), query)
        return records

    async def create(self, entity_set: EntitySet, values: Values) -> Version:
        """Create a record, if none has its key."""
        path, query = self.path(entity_set), _without_secrets(entity_set)
        headers = {b"if-none-match": b"*"} if entity_set.create_guarded else NO_HEADERS
        return _version(decoded(await self._sent("POST", path, query, values, headers)))

    async def update(self, entity_set: EntitySet, key: str, tag: str, changes: Values) -> Version:
        """Change values of the version of a record that has the ETag."""
        path, query = self.path(entity_set, key), _without_secrets(entity_set)
        return _version(decoded(await self._sent("PATCH", path, query, changes, _if_match(tag))))

    async def delete(self, entity_set: EntitySet, key: str, tag: str) -> None:
        """Delete a record, if it has the ETag."""
        await self._sent("DELETE", self.path(entity_set, key), headers=_if_match(tag))

    async def changes(self, **options: str) -> tuple[list[ChangeLine], str]:
        """A page of the company's change log, the latest first, and the link to earlier ones.

        It has options such as `entitySet` and `from`. The link is blank on the last page.
        """
        path, query = f"{self._company_path()}/changes", urlencode(options)
        entries, link = await self._page(path, query)
        return list(map(_line, entries)), link

    async def change(self, entity_set: EntitySet, key: str, number: int) -> ChangeLine:
        """The change of a record that has a number."""
        options = {"entitySet": entity_set.name, "record": key, "from": str(number), "$top": "1"}
        return (await self.changes(**options))[0][0]

    async def known_change(
        self, entity_set: EntitySet, key: str, number: int | None
    ) -> ChangeLine | None:
        """The change of a record that has a number; None if the change log does not have it."""
        with suppress(Refusal):
            return None if number is None else await self.change(entity_set, key, number)
        return None

    def _company(self, entity_set: EntitySet) -> str:
        """The path of the company whose records a set has; blank for the set of companies."""
        return self._company_path() if entity_set.per_company else ""

    def _company_path(self) -> str:
        company_id = company_of(self._visit)
        if not company_id:
            raise errors.NO_COMPANY()
        return f"/companies({company_id})"

    async def _page(self, path: str, query: str) -> tuple[list[Values], str]:
        """The values of a page of records, and the service's link to the next one, or blank."""
        document = decoded(await self._sent("GET", path, query, headers=_BARE))
        return cast("list[Values]", document["value"]), str(document.get("@odata.nextLink", ""))

    async def _sent(
        self,
        method: str,
        path: str,
        query: str = "",
        values: Values | None = None,
        headers: Headers = NO_HEADERS,
    ) -> bytes:
        """Send a request to the service, and return the body of its response."""
        body = b""
        if values is not None:
            headers, body = {**headers, b"content-type": b"application/json"}, encoded(values)
        return await whole_body(await self._answer(method, path, query, headers, body))

    async def _answer(
        self, method: str, path: str, query: str, headers: Headers, body: bytes = b""
    ) -> Response:
        visit = self._visit
        with _answered():
            return await visit.backend.answer(visit.principal, method, path, query, headers, body)


@contextmanager
def _answered() -> Iterator[None]:
    """Raise the refusals of the console in place of some of the service's."""
    try:
        yield
    except TimeoutError:
        raise errors.UNANSWERED() from None
    except Refusal as refusal:
        if refusal.error is RECORD_NOT_FOUND:
            raise errors.NO_RECORD() from None
        raise


def _line(item: Values) -> ChangeLine:
    number, texts = cast("int", item["number"]), ("at", "by", "verb", "entitySet", "record")
    at, by, verb, entity_set, record = (str(item[each]) for each in texts)
    before, after = (cast("Values", item.get(each, {})) for each in ("before", "after"))
    return ChangeLine(number, at, by, verb, entity_set, record, before, after)


def company_of(visit: Visit) -> str:
    """The id of the company that a page is about; blank without any."""
    return "" if visit.company is None else visit.company.id


def key_of(entity_set: EntitySet, values: Values) -> str:
    """The key of a record, as in `CompanyRecords.path`."""
    return str(values[entity_set.type.key])


def change_number(entity_set: EntitySet, tag: str) -> int | None:
    """The number of the change that made the version with this ETag; None for a malformed tag."""
    parsed = entity_tag(tag)
    if parsed is None:
        return None
    [opaque] = (decoded_opaque(parsed) if entity_set.encodes_tags else parsed).opaque
    number = opaque.rpartition(".")[2]
    return int(number) if is_number(number) else None


def is_number(text: str) -> bool:
    """Whether a text may be the number of a change, which a 64-bit integer holds."""
    return text.isascii() and text.isdigit() and len(text) <= 18


def _if_match(tag: str) -> Headers:
    return {b"if-match": tag.encode("latin-1", "replace")}


def _without_secrets(entity_set: EntitySet) -> str:
    """The query by which a response has no secrets; empty for a set without any."""
    entity_type = entity_set.type
    return f"$select={','.join(entity_type.queried)}" if entity_type.unqueried else ""


def _version(record: dict[str, Json]) -> Version:
    values = {name: value for name, value in record.items() if "@" not in name}
    return Version(str(record.get("@odata.etag", "")), values)


SET = "{set}"
"""The part of a path that names an entity set."""


def set_of(visit: Visit) -> EntitySet:
    """The entity set that the path names; raises `Refusal` (404) for an unknown one."""
    name: str = visit.request.path_params["set"]
    found = next((each for each in visit.backend.model.sets if each.name == name), None)
    if found is None:
        known = [each.name for each in visit.backend.model.sets]
        raise errors.NO_SET(known=known, name=name)
    return found


BACK = "back"
"""The field of the pages of a record with the query of the list that led there."""


def page_url(
    visit: Visit, entity_set: EntitySet, rest: str = "", query: str = "", **fields: str
) -> str:
    """The URL of a page about a set and a query, or about its record with the `key` of `fields`.

    The pages of a record pass on what leads back to the list.
    """
    back = visit.query.text(BACK) if rest.startswith("/record") else ""
    pairs = [("company", company_of(visit)), (BACK, back), *fields.items()]
    address = extended(f"{CONSOLE}/records/{entity_set.name}{rest}", fields_text(pairs))
    return extended(address, query)


def list_url(visit: Visit, entity_set: EntitySet, **fields: str) -> str:
    """The URL of the list from which a page of a record was reached, at the row of that record.

    The field of the address is read as a query of the set: it cannot lead elsewhere.
    """
    query = query_of(entity_set.type, form_data(visit.query.text(BACK))).address()
    key = visit.query.text("key")
    place = f"#{row_id(key)}" if key else ""
    return page_url(visit, entity_set, query=query, **fields) + place
