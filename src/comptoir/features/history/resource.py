"""The resource `changes`: what has changed in a company, or in one record, and by whom."""

import asyncio
import re
from collections.abc import Collection, Iterator, Mapping
from urllib.parse import parse_qsl, quote, urlencode

import msgspec
from sqlalchemy import FromClause, Select, Table, false, literal, select

from comptoir.auth.roles import Right, require
from comptoir.auth.tokens import Scope as TokenScope
from comptoir.config import Settings
from comptoir.edm.model import Company, EntitySet, Model
from comptoir.edm.overlay import instant_type
from comptoir.edm.types import EdmError, Stored, Wire
from comptoir.errors import refusal_rows as rows
from comptoir.errors.table import INVALID_URL
from comptoir.features.history import errors
from comptoir.plan.read import RecordPlan
from comptoir.plan.target import check_readable
from comptoir.request.headers import Format, preferences
from comptoir.request.options import system_name, whole_number
from comptoir.request.path import READ_METHODS, company_id_of, parse_path
from comptoir.response.records import wire_form
from comptoir.response.response import ODATA_VERSION, Response
from comptoir.service import Request, Service
from comptoir.service.context import FORMAT_OPTIONS, allow_options
from comptoir.sql.prepared import constant
from comptoir.sql.tables import COMPANY_ID
from comptoir.store.ledger import UPDATE, Change, Values, decode_difference
from comptoir.store.store import SLICE, SLICE_CHARACTERS, Reads, Store

NAME = "changes"

_SET, _RECORD, _FROM, _TOP = "entitySet", "record", "from", "$top"
_OWN = (_SET, _RECORD, _FROM)
_OPTIONS = FORMAT_OPTIONS | {_TOP}

LAST = 2**62
"""A number that no change has reached."""


class Entry(Change, frozen=True):
    """An entry of the change log. `previous` and `difference` are those of its table."""

    previous: int | None
    difference: str | None


class Scope(msgspec.Struct, frozen=True):
    """The entries to read: those of some sets (None for all), or those of one record.

    `record` is the set and the key of the record, as the change log has them.
    """

    company: Company
    sets: Collection[str] | None = None
    record: tuple[EntitySet, Stored] | None = None


class ChangesResource:
    """Answers requests for the changes of a company, the latest first."""

    paths = re.compile(rf"/companies\([^/]*\)/{NAME}/?")

    def __init__(self, service: Service, store: Store, model: Model, settings: Settings) -> None:
        self._service = service
        self._store = store
        self._changes = store.statements.tables.changes
        self._model = model
        self._settings = settings
        self._instants = instant_type(settings.behaviour.forms)

    async def handle(self, request: Request) -> Response:
        """Answer a request; raises `Refusal` unless the request succeeds."""
        company_id = company_id_of(parse_path(request.path))
        if company_id is None:
            raise LookupError(f"{request.path} without a company")
        company = await self._service.company(request, company_id)
        if request.method not in READ_METHODS:
            raise rows.METHOD(method=request.method, resource=NAME, allowed="GET, HEAD")
        options = self._service.options.parse(request.query)
        form = self._service.format_of(request.headers, options.format)
        require(request.principal, TokenScope.RECORDS_READ)
        allow_options(options, _OPTIONS, NAME)
        given = _given(request.query)
        scope = self._scope(request, company, given)
        reads = request.reads or self._store
        if _FROM in given:
            start = whole_number(_FROM, given[_FROM], _FROM)
            if oldest := await reads.trimmed_after(company, max(start - 1, 0)):
                raise rows.TRIMMED(_FROM, number=start, oldest=oldest)
        else:
            start = await _last_change(reads, scope)
        settings, preferred = self._settings, preferences(request.headers)
        size = page_size = min(
            preferred.max_page_size or settings.page_size, settings.max_page_size
        )
        if options.top is not None:
            size = min(size, options.top)
        items, following = await self._page(reads, scope, start, size, form)
        if request.principal.account is not None:
            request.principal.account.spend(len(items))
        context = msgspec.json.encode(request.root.context(request.path))
        tail = b""
        if following is not None and len(items) != options.top:
            given[_FROM] = f"{following}"
            if options.top is not None:
                given[_TOP] = f"{options.top - len(items)}"
            link = request.root.link(request.path, urlencode(given, safe="$", quote_via=quote))
            tail = b',"@odata.nextLink":' + msgspec.json.encode(link)
        body = b'{"@odata.context":%b,"value":[%b]%b}' % (context, b",".join(items), tail)
        headers = [(b"content-type", form.media_type), ODATA_VERSION]
        if applied := preferred.applied(page_size=page_size):
            headers.append((b"preference-applied", applied))
        return Response(200, headers, body)

    def _scope(self, request: Request, company: Company, given: Mapping[str, str]) -> Scope:
        """The entries that a request asks for and may read; raises `Refusal` (400, 403)."""
        rights = request.principal.rights
        readable = None if rights is None else rights[Right.READ]
        if _SET not in given:
            if _RECORD in given:
                raise errors.RECORD_ALONE(_RECORD)
            return Scope(company, readable)
        name = given[_SET]
        entity_set = self._model.by_name.get(name)
        if entity_set is None or not entity_set.tracks_changes:
            known = [each.name for each in self._model.stored]
            raise errors.UNLOGGED_SET(_SET, name=name, known=known)
        check_readable(entity_set, readable, _SET)
        record = (entity_set, _key(entity_set, given[_RECORD])) if _RECORD in given else None
        return Scope(company, (entity_set.name,), record)

    async def _page(
        self, reads: Reads, scope: Scope, start: int, size: int, form: Format
    ) -> tuple[list[bytes], int | None]:
        """The items from the change with a number on, and the number of the next page, if any.

        A page of long values has fewer items. Raises `Refusal` (404) if the change is kept, but not
        one of the record.
        """
        items, characters = list[bytes](), 0
        following: int | None = start
        while following is not None and len(items) < size and characters < SLICE_CHARACTERS:
            # one more shows whether there is a next page
            limit = min(SLICE, size - len(items)) + 1
            query = self._store.statements.query(_entries(self._changes, scope, following, limit))
            # the statement selects the columns of an entry, whose types a row does not say
            found = [Entry(*row) for row in await reads.rows(query)]  # type: ignore[arg-type]
            is_kept = found or not await reads.trimmed_after(scope.company, max(start - 1, 0))
            if not found and is_kept and scope.record is not None:
                entity_set, key = scope.record
                raise errors.NOT_OF_RECORD(
                    _FROM, number=start, key=str(key), set=entity_set.name, resource=NAME
                )
            following = found.pop().number if len(found) == limit else None
            items += [msgspec.json.encode(self._item(each, form)) for each in found]
            characters += sum([len(each.difference or "") for each in found])
            # encoding many takes long
            await asyncio.sleep(0)
        return items, following

    def _item(self, entry: Entry, form: Format) -> dict[str, object]:
        item: dict[str, object] = {
            "number": entry.number,
            "at": self._instants.wire(entry.at),
            "by": entry.by,
            "verb": entry.verb,
            "entitySet": entry.entity_set,
            "record": entry.record,
        }
        if entry.previous is not None:
            item["previous"] = entry.previous
        if entry.difference is not None:
            entity_set = self._model.by_name.get(entry.entity_set)
            before, after = decode_difference(entry.difference)
            item["before"] = dict(_wire(entity_set, before, form))
            if entry.verb == UPDATE:
                item["after"] = dict(_wire(entity_set, after, form))
        return item


async def _last_change(reads: Reads, scope: Scope) -> int:
    """The number of the last change; raises `Refusal` (404) if a record does not exist."""
    if scope.record is None:
        return LAST
    entity_set, key = scope.record
    row = await reads.record(RecordPlan(entity_set, scope.company.id, key))
    if row is None:
        raise errors.NOT_THERE(_RECORD, set=entity_set.name, key=str(key), resource=NAME)
    return int(row[0])


def _wire(
    entity_set: EntitySet | None, values: Values, form: Format
) -> Iterator[tuple[str, Wire | None]]:
    """Values in wire form; those of properties that the model lacks stay as they are stored."""
    by_name = {} if entity_set is None else entity_set.type.by_name
    for name, value in values.items():
        declared = by_name.get(name)
        # it may have become secret after the change
        if value is None or (declared is not None and declared.secret):
            yield name, None
        else:
            to_wire = None if declared is None else wire_form(declared.type, form)
            yield name, value if to_wire is None else to_wire(value)


def _given(query: str) -> dict[str, str]:
    """The options of a query; raises `Refusal` (400) for unknown ones."""
    given: dict[str, str] = {}
    for raw_name, value in parse_qsl(query, keep_blank_values=True):
        name = system_name(quote(raw_name)) or raw_name
        if name in given:
            raise rows.GIVEN_TWICE(name, name=name)
        if not value:
            raise rows.EMPTY_OPTION(name, option=name)
        if name not in _OWN and name == raw_name and not name.startswith(("$", "@")):
            listed = ", ".join([*_OWN, *sorted(_OPTIONS)])
            raise errors.NO_SUCH_OPTION(
                name[:40], resource=NAME, name=name[:40], options=listed, known=_OWN
            )
        given[name] = value
    return given


def _key(entity_set: EntitySet, text: str) -> Stored:
    declared = entity_set.type.key_property
    try:
        return declared.type.from_key(text)
    except EdmError as error:
        raise error.refusal(_RECORD, _RECORD, error=INVALID_URL) from None


def _entries(
    changes: Table, scope: Scope, start: int, limit: int
) -> Select[*tuple[str | int, ...]]:
    """The statement that reads entries from the one with the number `start` downwards.

    Those of a record are read along `previous`, and there are none unless it has the first one.
    """
    number, entity_set = changes.c.number, changes.c.entity_set
    of_company = _columns(changes).where(changes.c[COMPANY_ID] == scope.company.id)
    if scope.record is None:
        chosen = of_company.where(number <= start)
        if scope.sets is not None:
            listed = [literal(name) for name in sorted(scope.sets)]
            chosen = chosen.where(entity_set.in_(listed) if listed else false())
        return chosen.order_by(number.desc()).limit(limit)
    name, key = scope.record[0].name, str(scope.record[1])
    is_first = number == start, entity_set == name, changes.c.record == key
    first = of_company.add_columns(constant(1).label("place")).where(*is_first)
    chain = first.cte("chain", recursive=True)
    earlier = of_company.add_columns(chain.c.place + constant(1))
    is_next = number == chain.c.previous, chain.c.place < limit
    chain = chain.union_all(earlier.where(*is_next))
    return _columns(chain).order_by(chain.c.place)


def _columns(entries: FromClause) -> Select[*tuple[str | int, ...]]:
    return select(*[entries.c[name] for name in Entry.__struct_fields__])
