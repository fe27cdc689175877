"""The catalog of a database grows while services with several processes are used and replaced."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event

from comptoir.config import Settings
from comptoir.store.migration import migrate
from support.catalogs import model_of
from support.client import record
from support.companies import Company
from support.databases import FreshDatabase
from support.server import Server
from support.waiting import until

ADDITIONS = 2
WRITERS = 2
AGENTS = "shippingAgentsExt"
CATALOG = f'comptoir = 1\nbase = "built-in"\n[sets.{AGENTS}.properties]\n'
TRACKED = {"Prefer": "odata.track-changes"}


@dataclass
class Fleet:
    """The company at the service that clients use now, and what each of them has used last."""

    company: Company
    used: dict[int, Company] = field(default_factory=dict)

    def move(self, company: Company) -> None:
        """Let clients use another service; returns when nobody uses the former one."""
        self.company = company
        until(lambda: all(each is company for each in self.used.values()) or None, "the move")

    def client(self, number: int) -> Company:
        """The company for the next request of a client, whose former request has ended."""
        company = self.used[number] = self.company
        return company


@contextmanager
def clients(fleet: Fleet) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Create and change records until the block ends, and follow the changes.

    The list then has the codes of all records, and the dictionary the names that the client of
    the delta links knows.
    """
    over, followed = Event(), Event()
    codes: list[str] = []
    known: dict[str, str] = {}

    def write(number: int) -> None:
        count = 0
        while not over.is_set():
            count += 1
            company, code = fleet.client(number), f"{number}-{count}"
            made = record(company.post(AGENTS, {"code": code, "name": "new"}), 201)
            changed = company.patch(f"{AGENTS}({made['id']})", {"name": code}, if_match="*")
            assert changed.status_code == 200, changed.text
            codes.append(code)

    def follow(number: int) -> None:
        page, is_last = fleet.client(number).get(AGENTS, headers=TRACKED).json(), False
        while True:
            known.update({each["code"]: each["name"] for each in page["value"]})
            link = page.get("@odata.nextLink")
            if link is None:
                if is_last:
                    return
                # the changes after this link include those of all writers that have ended
                link, is_last = page["@odata.deltaLink"], followed.is_set()
            company, query = fleet.client(number), link.partition("?")[2]
            page = company.follow(f"{company.root}/{AGENTS}?{query}").json()

    with ThreadPoolExecutor(WRITERS + 1) as pool:
        writers = [pool.submit(write, each) for each in range(WRITERS)]
        follower = pool.submit(follow, WRITERS)
        try:
            yield codes, known
        finally:
            over.set()
            for each in writers:
                each.result()
            followed.set()
            follower.result()


def test_no_request_fails_and_no_change_is_lost(
    fresh_database: FreshDatabase, tmp_path: Path
) -> None:
    former = model_of(tmp_path, CATALOG)
    settings = Settings(database=fresh_database(tmp_path, former), keys=str(tmp_path / "keys"))
    with ExitStack() as servers:
        server = servers.enter_context(Server(settings, tmp_path, workers=2, model=former))
        fleet = Fleet(server.new_company())
        with clients(fleet) as (codes, known):
            text = CATALOG
            for number in range(ADDITIONS):
                text += f'added{number} = {{ type = "String(20)", default = "{number}" }}\n'
                migrate(settings, model_of(tmp_path, text))
                # each client creates at least one record with the former catalog
                fleet.move(replace(fleet.company))
                another = servers.enter_context(Server(settings, tmp_path, workers=2))
                root = f"{another.client.root}/companies({fleet.company.id})"
                fleet.move(replace(fleet.company, carrier=another, root=root))
                server.ask_to_stop()
                assert server.wait() == 0
                server = another
            made = fleet.company.record(f"{AGENTS}(code='{codes[-1]}')")
            assert made[f"added{ADDITIONS - 1}"] == f"{ADDITIONS - 1}"
        assert sorted(known) == sorted(codes)
        assert all(code == name for code, name in known.items())
        assert fleet.company.get(f"{AGENTS}/$count").text == f"{len(codes)}"
