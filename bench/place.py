"""A database of many records with its service, and what is measured of them."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, closing
from http.client import HTTPConnection
from itertools import islice
from random import Random
from secrets import token_hex
from time import monotonic, process_time, time_ns
from urllib.parse import quote, urlsplit

import msgspec
from calls import Page, body_of, walk
from company import database_file, load, write_rows
from filling import LANGUAGES, TEXT_LENGTH, TRANSLATIONS, VARIANTS, filled
from processes import Server, program_beside, running
from scenarios import PAGE, paged
from workbench import CONNECTIONS, Workbench, serving
from wrk import LoadError, Scenario, scenario

from comptoir.app import open_store
from comptoir.plan.pages import Delta, SkipToken, encode_delta, encode_skip
from comptoir.store.sqlite.connection import connect

ALTERNATE_KEY = ("itemNo", "languageCode", "variantCode")
START, MIDDLE, END = "start", "middle", "end"
CHANGES = 100
"""The changes of a delta page."""

_PAGES = 20
"""The most pages at the start, in the middle and at the end."""

_EXPORTED = 100
"""The pages of an export from the start, and of one from the middle."""

_LOADED = 5_000
_COUNTED = 50
_REQUESTS = 20_000
"""The most requests of a run that differ: more than any cache of the service has entries."""

_WARM_UP_SECONDS = 4
_READ_BYTES = 1 << 24
_PATIENCE_SECONDS = 120


class Place:
    """A database with its service. Its methods return requests, or what an operation costs."""

    def __init__(self, bench: Workbench, size: int) -> None:
        self._bench = bench
        self._filled = asyncio.run(filled(bench.folder, size))
        self._path = self._filled.path
        self._random = Random(size)
        self._loads = 0
        self.server = bench.serve(f"the service of {size:,} records", self._filled.settings)

    def read_file(self) -> None:
        """Read the file, so that the operating system has it in memory if there is room."""
        with database_file(self._filled.settings).open("rb") as file:
            while file.read(_READ_BYTES):
                pass

    def by_id(self) -> Scenario:
        """Reads of records by id."""
        return self._asked("by-id", [self._record() for _ in range(_REQUESTS)])

    def by_alternate_key(self) -> Scenario:
        """Reads of records by their alternate keys."""

        def key() -> str:
            values = zip(ALTERNATE_KEY, self._any_alternate_key(), strict=True)
            return ",".join(f"{name}='{value}'" for name, value in values)

        return self._asked("alternate", [f"{self._path}({key()})" for _ in range(_REQUESTS)])

    def filters(self) -> Scenario:
        """Filters by an item and a language."""

        def condition() -> str:
            item, language, _ = self._any_alternate_key()
            return quote(f"itemNo eq '{item}' and languageCode eq '{language}'")

        return self._asked(
            "filter", [f"{self._path}?$filter={condition()}" for _ in range(_REQUESTS)]
        )

    def searches(self) -> Scenario:
        """Searches for words that few records have."""
        words = [self._filled.word(self._any()) for _ in range(_REQUESTS)]
        return self._asked("search", [f"{self._path}?$search={each}" for each in words])

    def updates(self) -> Scenario:
        """Updates of records."""
        # the text keeps its length, so that no record moves; half of it is the number of a request
        text = f"{token_hex(TEXT_LENGTH // 4)}%0{TEXT_LENGTH // 2}d"
        paths = [self._record() for _ in range(_REQUESTS)]
        return self._writes("update", paths, {"description2": text})

    def creates(self) -> Scenario:
        """Creates of records of items that come among the others."""
        values = "IT-%d", LANGUAGES[0], token_hex(4).upper()
        content = dict(zip(ALTERNATE_KEY, values, strict=True))
        return self._writes("create", [self._path], content, "POST")

    def deltas(self) -> Scenario:
        """Pages of changes, since each of the latest ones."""
        file = database_file(self._filled.settings)
        with closing(connect(file, writes=False, lock_seconds=5)) as connection:
            last = connection.execute("SELECT change_number FROM companies").get

        def token(since: int) -> str:
            query, delta = ("delta", *self._query("")), Delta(since, None, time_ns())
            return encode_delta(query, self._filled.company, delta)

        latest = range(last - 5 * CHANGES, last - CHANGES)
        paths = [f"{self._path}?$deltatoken={token(each)}" for each in latest]
        return self._asked("delta", paths, paged(CHANGES))

    def pages(self, orderby: str, where: str) -> Scenario:
        """Consecutive pages of an order."""
        size = self._filled.count
        pages = min(_PAGES, size // PAGE // 3)
        first = {START: 0, MIDDLE: size // 2, END: size - (pages + 1) * PAGE}[where]
        paths = [self._page(orderby, first + each * PAGE) for each in range(pages)]
        asked = self._asked(f"page-{where}-{orderby.replace(' ', '-')}", paths, paged(PAGE))
        page = msgspec.json.decode(body_of(self.server, asked), type=Page)
        if len(page.value) != PAGE or page.next_link is None:
            raise LoadError(f"{asked.name} from {self.server.name}: the page is not a whole one.")
        return asked

    def warm_up(self, asked: Scenario) -> float:
        """Send requests for longer, until the process has mapped most pages that it reads.

        The first read of a mapped page costs a fault, which later reads do not pay.
        """
        return self._bench.wrk.run(self.server, asked, CONNECTIONS, _WARM_UP_SECONDS).cpu

    def under_load(self, asked: Scenario) -> float:
        """The CPU of a request in µs, with many connections."""
        return self._bench.run(self.server, asked).cpu

    def after_writes(self, query: str) -> float:
        """The CPU of a request in µs, for a path after that of the records; a write precedes it.

        The first one is not measured, as it may have more to catch up with.
        """
        headers = self._bench.headers
        writing = {**headers, "Content-Type": "application/json", "If-Match": "*"}
        used, host = 0.0, urlsplit(self.server.url).netloc
        with closing(HTTPConnection(host, timeout=_PATIENCE_SECONDS)) as connection:
            for number in range(_COUNTED + 1):
                body = f'{{"description2":"{token_hex(TEXT_LENGTH // 2)}"}}'
                _send(connection, "PATCH", self._record(), writing, body)
                before = self.server.cpu_seconds
                _send(connection, "GET", self._path + query, headers)
                if number:
                    used += self.server.cpu_seconds - before
        return used / _COUNTED * 1e6

    def export(self, orderby: str) -> float:
        """The CPU of a record in µs, on pages from the start and from the middle on."""
        before, records = self.server.cpu_seconds, 0
        for first in (0, self._filled.count // 2):
            asked = self._asked("export", [self._page(orderby, first)], paged(PAGE))
            records += sum(len(page.value) for page in islice(walk(self.server, asked), _EXPORTED))
        return (self.server.cpu_seconds - before) / records * 1e6

    def load(self, *, scattered: bool) -> float:
        """The CPU of a record in µs, in a load of a file: of new items, or among the others."""
        self._loads += 1

        def alternate_key(number: int) -> Sequence[str]:
            if scattered:
                return *self._any_alternate_key()[:2], f"L{self._loads}-{number}"
            group, variant = divmod(number, VARIANTS)
            item, language = divmod(group, len(LANGUAGES))
            return f"JT-{self._loads:03d}{item:04d}", LANGUAGES[language], f"V{variant}"

        rows = [(*alternate_key(each), "-" * TEXT_LENGTH) for each in range(_LOADED)]
        file = self._bench.folder / "further.csv"
        write_rows(file, (*ALTERNATE_KEY, "description"), rows)

        async def seconds() -> float:
            store = open_store(self._filled.settings, writes_many=True)
            before = process_time()
            report = await load(store, self._filled.company, TRANSLATIONS.name, file)
            await store.close()
            if report.inserted != _LOADED:
                raise LoadError(f"{file.name} was not loaded: {report.errors[:1]}")
            return process_time() - before

        return asyncio.run(seconds()) / _LOADED * 1e6

    def index(self) -> None:
        """Bring the text index up to date."""

        async def indexed() -> None:
            store = open_store(self._filled.settings)
            await store.index(self._filled.company.id, TRANSLATIONS, sys.maxsize)
            await store.close()

        asyncio.run(indexed())

    def start(self) -> float:
        """The seconds until another service is ready."""
        began = monotonic()
        with self._another_service():
            return monotonic() - began

    def first_count(self) -> float:
        """The CPU of the first count of another service in µs."""
        record = self._asked("record", [self._record()])
        count = self._asked("count", [f"{self._path}/$count"])
        with self._another_service() as server:
            body_of(server, record)
            before = server.cpu_seconds
            body_of(server, count)
            return (server.cpu_seconds - before) * 1e6

    def memory(self) -> float:
        """The own memory of the service in MiB."""
        return self.server.memory.anonymous

    def _another_service(self) -> AbstractContextManager[Server]:
        command = [program_beside("comptoir"), *serving(self._filled.settings)]
        return running("another service", command, self._bench.cores.server)

    def _page(self, orderby: str, position: int) -> str:
        """The path of a page, after the record at about this position in the order."""
        filled = self._filled
        names = [each.split()[0] for each in orderby.split(",") if each]
        place = filled.count - 1 - position if " desc" in orderby else position
        number = filled.number(place) if names else position
        values = dict(zip(ALTERNATE_KEY, filled.alternate_key(place), strict=True))
        keyset = (*[values[each] for each in names], filled.key(number))
        token = encode_skip(self._query(orderby), SkipToken(0, keyset))
        order = f"$orderby={quote(orderby)}&" if orderby else ""
        return f"{self._path}?{order}$skiptoken={token}"

    def _query(self, orderby: str) -> Sequence[str]:
        """The query that a token belongs to."""
        return TRANSLATIONS.name, self._filled.company.id, "", orderby, ""

    def _any(self) -> int:
        return self._random.randrange(self._filled.count)

    def _any_alternate_key(self) -> tuple[str, str, str]:
        return self._filled.alternate_key(self._any())

    def _record(self) -> str:
        return f"{self._path}({self._filled.key(self._any())})"

    def _asked(
        self, name: str, paths: Sequence[str], headers: Mapping[str, str] | None = None
    ) -> Scenario:
        return scenario(
            self._bench.folder / f"{self._filled.count}-{name}",
            paths,
            {**self._bench.headers, **(headers or {})},
        )

    def _writes(
        self, name: str, paths: Sequence[str], content: Mapping[str, str], method: str = "PATCH"
    ) -> Scenario:
        headers = {**self._bench.headers, "Content-Type": "application/json"}
        if method == "PATCH":
            headers["If-Match"] = "*"
        body = msgspec.json.encode(content).decode()
        return scenario(
            self._bench.folder / f"{self._filled.count}-{name}", paths, headers, body, method
        )


def _send(
    connection: HTTPConnection,
    method: str,
    path: str,
    headers: Mapping[str, str],
    body: str | None = None,
) -> None:
    connection.request(method, path, body, dict(headers))
    with connection.getresponse() as answer:
        answer.read()
    if answer.status not in (200, 204):
        raise LoadError(f"{path}: the answer was {answer.status}.")
