"""Lists of the console and their CSV, beside the pages of the API with the same records."""

import subprocess
from collections.abc import Mapping, Sequence
from contextlib import closing
from http.client import HTTPConnection
from time import perf_counter
from urllib.parse import urlencode, urlsplit

from calls import cpu_in_turns, walk
from company import CONTACTS
from figures import Comparison, Figure, Single
from processes import Server, SetupError, program_beside
from scenarios import paged
from workbench import Workbench
from wrk import Scenario, scenario

from comptoir.config import Settings

LONGEST_PAGE = 20_000
SHOWN = 50
_COLUMNS = "number,displayName,type,companyName,city,phoneNumber,email,id"
_WARM_UP_SECONDS = 0.5


class Listing:
    """Measures the first page of the list of 100,000 contacts, and a file with all of them."""

    notes: Sequence[str] = ()

    def __init__(self, bench: Workbench) -> None:
        self._service, self._seconds = bench.partners_service, bench.seconds
        company, folder = bench.partners.company.id, bench.folder
        path = f"{bench.partners.path}/{CONTACTS}?$orderby=number"
        shown = f"/console/records/{CONTACTS}?company={company}"
        session = _logged_in(self._service, bench.partners.settings, shown)
        self._list = scenario(folder / "list", [shown], session)
        counted = {**bench.headers, **paged(SHOWN)}
        self._page = scenario(folder / "counted page", [f"{path}&$count=true"], counted)
        self._file = scenario(
            folder / "csv", [f"/console/records/{CONTACTS}/csv?company={company}"], session
        )
        every = {**bench.headers, **paged(LONGEST_PAGE)}
        self._export = scenario(folder / "export", [f"{path}&$select={_COLUMNS}"], every)
        self._of_list = Comparison("list of 50 of 100,000 with count", "µs", "the API", at_most=2.5)
        self._first = Single("first byte of this list", "ms", limit=60)
        self._of_file = Comparison("CSV of 100,000 contacts", "s", "the API", at_most=1.3)
        self._memory = Single("memory for a second CSV", "MiB", limit=16)

    @property
    def figures(self) -> Sequence[Figure]:
        """All figures, in the order of the table."""
        return [self._of_list, self._first, self._of_file, self._memory]

    def warm_up(self) -> None:
        """Send each request for a moment."""
        for each in (self._list, self._page, self._file, self._export):
            cpu_in_turns([(self._service, each)], _WARM_UP_SECONDS)

    def measure(self) -> None:
        """Measure everything once."""
        asked = [(self._service, each) for each in (self._list, self._page)]
        self._of_list.add(*cpu_in_turns(asked, self._seconds))
        self._first.add(_first_byte(self._service, self._list) * 1_000)
        before = self._service.total_seconds
        for _ in walk(self._service, self._export):
            pass
        between, memory = self._service.total_seconds, self._service.memory.anonymous
        _first_byte(self._service, self._file)
        self._of_file.add(self._service.total_seconds - between, between - before)
        self._memory.add(self._service.memory.anonymous - memory)


def _first_byte(server: Server, asked: Scenario) -> float:
    """The seconds until the response to a request begins, all of which is read."""
    path = asked.paths.read_text(encoding="ascii").strip()
    with closing(HTTPConnection(urlsplit(server.url).netloc)) as connection:
        began = perf_counter()
        connection.request("GET", path, headers=dict(asked.headers))
        response = connection.getresponse()
        seconds = perf_counter() - began
        while response.read(1 << 16):
            pass
    return seconds


def _logged_in(server: Server, settings: Settings, path: str) -> Mapping[str, str]:
    """The headers of a browser that has logged in to the console and then shown a page."""
    command = [program_beside("comptoir"), "console", "--database", settings.database]
    command += ["--port", str(urlsplit(server.url).port)]
    link = subprocess.run(command, capture_output=True, check=True, encoding="utf-8").stdout
    with closing(HTTPConnection(urlsplit(server.url).netloc)) as connection:
        fields = urlencode({"code": link.strip().rpartition("#")[2]})
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Sec-Fetch-Site": "same-origin",
        }
        connection.request("POST", "/console/login", fields, headers)
        session = _cookie(connection)
        if not session:
            raise SetupError("the console accepts no code")
        connection.request("GET", path, headers={"Cookie": session})
        # that of the company, which the console remembers
        return {"Cookie": f"{session}; {_cookie(connection)}"}


def _cookie(connection: HTTPConnection) -> str:
    """The cookie that the next response sets, blank without one."""
    with connection.getresponse() as answer:
        answer.read()
        return answer.getheader("Set-Cookie", "").partition(";")[0]
