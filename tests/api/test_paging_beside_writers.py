"""Pages in any order have every record once, whatever is written between two of them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat
from operator import itemgetter

from hypothesis import given, settings
from hypothesis import strategies as st

from support.client import Record, page, record
from support.companies import Company
from support.effort import examples
from support.service import Service

Contacts = dict[str, Record]
"""Contacts by their ids."""

Keyset = tuple[tuple[bool, str | float], ...]
"""Sort values, each after whether it is not null; the last one is the record's id."""

Order = Sequence[tuple[str, bool]]
"""The keys, and whether each descends."""

Write = tuple[str, str, Mapping[str, object]]
"""A method, the id of a contact, and its values."""

PARENT = "company/"
KEYS = (
    *("number", "city", "website", "privacyBlocked", "lastInteractionDate", "length(city)"),
    *(f"{PARENT}number", f"{PARENT}city", f"{PARENT}privacyBlocked"),
)
ORDERS = st.lists(
    st.tuples(st.sampled_from(KEYS), st.booleans()),
    min_size=1,
    max_size=4,
    unique_by=lambda each: each[0],
)
NUMBERS = st.sampled_from(["", "1", "2", "3", "4"])
IDS = st.integers(0, 15).map("{:08x}-0000-4000-8000-000000000000".format)
CONTACTS = st.fixed_dictionaries(
    {
        "displayName": st.just("x"),
        "type": st.sampled_from(["Company", "Person"]),
        "number": NUMBERS,
        "companyNumber": NUMBERS,
        "city": st.sampled_from(["", "a", "A", "ab", "ä"]),
        "privacyBlocked": st.booleans(),
        "lastInteractionDate": st.sampled_from(["0001-01-01", "2024-02-29"]),
    }
)
WRITES = st.lists(
    st.tuples(st.sampled_from(["PATCH", "PATCH", "DELETE"]), IDS, CONTACTS), min_size=1, max_size=3
)


@settings(max_examples=examples(12), derandomize=True)
@given(
    order=ORDERS,
    first=st.dictionaries(IDS, CONTACTS, min_size=6),
    turns=st.lists(st.tuples(st.integers(1, 7), WRITES), min_size=2),
)
def test_pages_beside_writers_have_every_record_once_and_sorted(
    order: Order,
    first: Mapping[str, Mapping[str, object]],
    turns: Iterable[tuple[int, Sequence[Write]]],
    service: Service,
) -> None:
    """A page has the first records after the last one of the page before, as they are now."""
    company, contacts = service.new_company(), Contacts()
    for key, values in first.items():
        write(company, contacts, ("PATCH", key, values))
    query = {"$orderby": ",".join(f"{name} desc" if down else name for name, down in order)}
    stayed, shown = keysets(order, contacts), Counter[str]()
    link, last = "", Keyset()

    for size, writes in chain(turns, repeat((7, ()))):
        wishes = {"Prefer": f"odata.maxpagesize={size}"}
        read = page(
            company.follow(link, wishes) if link else company.get("contactsExt", query, wishes)
        )
        rest = after(last, keysets(order, contacts), order)
        assert [each["id"] for each in read.value] == [keyset[-1][1] for keyset in rest[:size]]
        shown.update(str(each["id"]) for each in read.value)
        if len(rest) <= size:
            break
        assert read.next_link is not None
        link, last = read.next_link, rest[size - 1]
        for each in writes:
            write(company, contacts, each)
            stayed &= keysets(order, contacts)

    assert read.next_link is None
    assert {shown[str(keyset[-1][1])] for keyset in stayed} <= {1}


def write(company: Company, contacts: Contacts, each: Write) -> None:
    """Create, change or delete a contact, unless another one has its number."""
    method, key, values = each
    exists = key in contacts
    if not exists:
        answer = company.post("contactsExt", {"id": key, **values})
    elif method == "DELETE":
        answer = company.delete(f"contactsExt({key})", "*")
    else:
        answer = company.patch(f"contactsExt({key})", values, "*")
    if answer.status_code == 204:
        del contacts[key]
    elif answer.status_code != 409:
        contacts[key] = record(answer, 200 if exists else 201)


def keysets(order: Order, contacts: Contacts) -> set[Keyset]:
    """The sort values of all contacts."""
    parents = {
        each["number"]: each
        for each in contacts.values()
        if each["type"] == "Company" and each["number"]
    }

    def value(name: str, contact: Record) -> tuple[bool, str | float]:
        if name == "length(city)":
            return True, len(str(contact["city"]))
        if not name.startswith(PARENT):
            return True, contact[name]
        parent = parents.get(contact["companyNumber"])
        return (False, "") if parent is None else (True, parent[name.removeprefix(PARENT)])

    return {
        (*(value(name, contact) for name, _ in order), (True, key))
        for key, contact in contacts.items()
    }


def after(last: Keyset, found: set[Keyset], order: Order) -> list[Keyset]:
    """The sort values after the last ones, in order; the ids have the direction of the last key."""
    ordered = list(found | {last}) if last else list(found)
    directions = [down for _, down in (*order, order[-1])]
    for at, down in reversed(list(enumerate(directions))):
        ordered.sort(key=itemgetter(at), reverse=down)
    return ordered[ordered.index(last) + 1 :] if last else ordered
