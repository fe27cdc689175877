"""The syncs of the webshop: they miss no change, and lose no edit, whatever their requests meet."""

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from examples.conftest import EXAMPLES, Stage
from support.client import Record
from support.databases import ON_SQLITE
from support.programs import finished, node
from support.waiting import until

WEBSHOP = EXAMPLES / "webshop"

pytestmark = ON_SQLITE  # the database makes no difference to a client

Records = dict[str, Record]


class State(msgspec.Struct, forbid_unknown_fields=True):
    """What the shop has: links, edits by contact, and copies of records by key."""

    edits: dict[str, dict[str, str]]
    links: dict[str, str]
    items: Records = msgspec.field(name="itemsExt")
    prices: Records = msgspec.field(name="salesPricesExt")
    contacts: Records = msgspec.field(name="contactsExt")


def in_python(variables: dict[str, str]) -> str:
    return finished([sys.executable, str(WEBSHOP / "sync.py")], variables)


def in_javascript(variables: dict[str, str]) -> str:
    return node().run(WEBSHOP / "sync.mjs", **variables)


class Shop:
    """A webshop whose file is in a folder of the test."""

    def __init__(self, run: Callable[[dict[str, str]], str], stage: Stage, folder: Path) -> None:
        self._run = run
        self._stage = stage
        self._file = folder / "shop.json"

    def sync(self) -> str:
        """Run the sync, and return what it prints."""
        return self._run({**self._stage.variables, "SHOP": str(self._file)})

    @property
    def state(self) -> State:
        return msgspec.json.decode(self._file.read_bytes(), type=State)

    def edit(self, number: str, **edit: str) -> str:
        """Let a customer edit a contact, and return its id."""
        state = self.state
        (key,) = (key for key, each in state.contacts.items() if each["number"] == number)
        state.edits[key] = edit
        self._file.write_bytes(msgspec.json.encode(state))
        return key


@pytest.fixture(params=[in_python, in_javascript], ids=["python", "javascript"])
def shop(request: pytest.FixtureRequest, stage: Stage, tmp_path: Path) -> Shop:
    return Shop(request.param, stage, tmp_path)


def test_a_sync_has_all_records_and_then_their_changes(stage: Stage, shop: Shop) -> None:
    stage.faults.set(
        {"id": "busy", "fault": "throttle; retry-after=0", "match": {"nth": 2}, "times": 1},
        {"id": "away", "fault": "away; retry-after=0", "match": {"nth": 4}, "times": 1},
        {"id": "cut", "fault": "reset; phase=before", "match": {"nth": 6}, "times": 1},
    )
    printed = shop.sync()
    first = shop.state
    assert [len(each) for each in (first.items, first.prices, first.contacts)] == [6, 3, 5]
    assert printed.endswith("shop.json: 6 itemsExt, 3 salesPricesExt, 5 contactsExt\n")
    assert {each.rule for each in stage.faults.firings()} >= {"busy", "away", "cut"}

    stage.faults.set()
    changed, deleted, *_ = first.items
    stage.company.patch(f"itemsExt({changed})", {"displayName": "Stool"}, "*")
    stage.company.delete(f"itemsExt({deleted})", "*")
    shop.sync()
    second = shop.state
    assert second.items[changed]["displayName"] == "Stool"
    assert second.items.keys() == first.items.keys() - {deleted}
    assert (second.prices, second.contacts) == (first.prices, first.contacts)


def test_an_expired_delta_link_reads_all_records_again(stage: Stage, shop: Shop) -> None:
    shop.sync()
    before = shop.state.items
    gone, *_ = before
    stage.company.delete(f"itemsExt({gone})", "*")
    stage.company.admin.renew(stage.company.stored)
    link = shop.state.links["itemsExt"]
    # the service notices it when it reads the company again
    until(lambda: stage.company.follow(link).status_code == 410 or None, "the end of the link")
    shop.sync()
    assert shop.state.items.keys() == before.keys() - {gone}


def test_an_edit_is_merged_with_the_changes_of_others(stage: Stage, shop: Shop) -> None:
    """What both have changed remains as the ERP has it, and is reported."""
    shop.sync()
    other, same, gone = (
        shop.edit("C1", phoneNumber="1", city="Turin"),
        shop.edit("C2", phoneNumber="2", city="Turin"),
        shop.edit("C3", city="Turin"),
    )
    company = stage.company
    company.patch(f"contactsExt({other})", {"city": "Bern"}, "*")
    company.patch(f"contactsExt({same})", {"email": "a@b.example"}, "*")
    company.delete(f"contactsExt({gone})", "*")
    stage.faults.set(
        {"id": "lost", "fault": "reset; phase=after", "match": {"method": "PATCH"}, "times": 1}
    )
    assert shop.sync().splitlines()[:-1] == ["contact C1: the ERP has changed city"]
    state = shop.state
    assert state.edits == {}
    contacts = state.contacts
    assert [contacts[other][name] for name in ("phoneNumber", "city")] == ["1", "Bern"]
    assert [contacts[same][name] for name in ("phoneNumber", "city", "email")] == [
        "2",
        "Turin",
        "a@b.example",
    ]
    assert gone not in contacts
