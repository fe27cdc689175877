"""A token of one company: no read, link, batch or write of it reaches or shows another company.

Both companies have a record of every set with the same keys, numbers and relations. A statement
that lacked the company of one of its tables would find the record of the other company, whose text
differs, or both.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import httpx
import msgspec
import pytest

from comptoir.edm.model import EntitySet, NavigationProperty
from support.batches import HTTP, multipart, replies, send_documents
from support.client import Client, Record
from support.companies import Company
from support.reads import (
    CANARIES,
    CANARY_PROPERTY,
    MARKED,
    NAVIGATION,
    Read,
    nested_reads,
    own_reads,
    related_reads,
)
from support.refusals import error_in, refusal
from support.relating import RELATING
from support.samples import PATHS, UNKNOWN
from support.service import Service, StartService
from support.together import together

FOREIGN = "FOREIGN"
THEIRS: Mapping[str, Record] = {
    name: {**record, CANARY_PROPERTY[name]: f"{FOREIGN} {name}"} for name, record in MARKED.items()
}
SETS = RELATING.per_company
PEOPLE = 1_200
PER_BATCH = 10
"""Reads of which each batch has those of both companies."""
TRACK = {"Prefer": "odata.track-changes"}


class Pair(msgspec.Struct, frozen=True):
    """Two companies; the clients of both have a token of the first one."""

    own: Company
    foreign: Company
    operator: Company
    """A client of the foreign company that may do everything."""
    alone: Mapping[Read, bytes]
    """The responses of the first company before the other one had records."""

    @property
    def root(self) -> Client:
        return Client(self.own.carrier, self.own.root.partition("/companies(")[0], self.own.token)


def _reads(source: EntitySet) -> Iterator[Read]:
    yield from own_reads(source)
    for navigation in source.type.navigation:
        yield from related_reads(source, navigation)
        yield from nested_reads(source, navigation)
    if source.type.navigation:
        yield Read(source.name, "$expand=*($levels=2)", frozenset())


def _stock(company: Company, records: Mapping[str, Record]) -> None:
    company.admin.load_all(company.stored, {name: [each] for name, each in records.items()})


@pytest.fixture(scope="module")
def pair(share_service: StartService) -> Pair:
    service = share_service(RELATING)
    first, second = (service.new_company() for _ in range(2))
    token = service.tokens.issue(companies=[first.id])
    own = first.using(token)
    _stock(own, MARKED)
    alone = {read: own.get(read.path, read.query).content for each in SETS for read in _reads(each)}
    _stock(second, THEIRS)
    return Pair(own, second.using(token), second, alone)


def _url(company: Company, read: Read) -> str:
    path = f"companies({company.id})/{read.path}"
    return f"{path}?{read.query}" if read.query else path


def _check_absent(answer: httpx.Response, absent: httpx.Response, company: Company) -> None:
    """The response is the one for a company that does not exist."""
    refusal(answer, "Internal_CompanyNotFound")
    assert answer.text.replace(company.id, UNKNOWN) == absent.text
    assert answer.headers.keys() == absent.headers.keys()


@together("source", SETS)
def test_no_read_crosses_companies(source: EntitySet, pair: Pair) -> None:
    """By itself, and in batches beside the same read of the other company."""
    unknown = replace(pair.own, root=pair.own.root.replace(pair.own.id, UNKNOWN))
    absent = unknown.get(source.name)
    reads = list(_reads(source))
    for read in reads:
        # caches that forgot the company would respond with what the operator has read
        pair.operator.get(read.path, read.query)

        assert pair.own.get(read.path, read.query).content == pair.alone[read], read

        _check_absent(pair.foreign.get(read.path, read.query), absent, pair.foreign)
    for start in range(0, len(reads), PER_BATCH):
        some = reads[start : start + PER_BATCH]
        urls = [_url(company, read) for read in some for company in (pair.foreign, pair.own)]
        entries = [{"id": url, "method": "GET", "url": url} for url in urls]
        batch = send_documents(pair.root, entries)
        answers = replies(batch)
        for read, hidden, shown in zip(some, answers[::2], answers[1::2], strict=True):
            assert error_in(bytes(hidden.body)).code == "Internal_CompanyNotFound", read
            assert shown.status != 404 or "RecordNotFound" in pair.alone[read].decode(), read
        assert FOREIGN.encode() not in batch.content


@together(("source", "navigation"), NAVIGATION)
def test_the_companies_would_differ(
    source: EntitySet, navigation: NavigationProperty, pair: Pair
) -> None:
    """The operator finds a foreign record along each navigation property, and not ours."""
    found = pair.operator.get(source.name, f"$expand={navigation.name}")
    assert FOREIGN in found.text
    assert not [each for each in CANARIES.values() if each in found.text]


def test_an_item_has_the_attributes_of_its_company(pair: Pair) -> None:
    """Its value is another one after the test of changes."""
    value = f"{FOREIGN} itemAttributeValuesExt"
    for client, count in ((pair.own, 0), (pair.operator, 1)):
        found: list[object] = []
        for text in (value, f"{value} again"):
            condition = f"attributeName1 eq 'Colour' and attributeValue1 eq '{text}'"
            found += client.listed("filteredItemAttributesExt", {"$filter": condition})
        assert len(found) == count


def test_expanded_companies_are_those_of_the_token(pair: Pair) -> None:
    for path in ("companies", f"companies({pair.own.id})"):
        answer = pair.root.get(path, "$expand=*")
        assert answer.status_code == 200
        assert CANARIES["contactsExt"] in answer.text
        assert FOREIGN not in answer.text
        assert pair.foreign.id not in answer.text


@together("name", [each.name for each in SETS if each.tracks_changes and each.name in PATHS])
def test_a_delta_has_no_change_of_another_company(name: str, pair: Pair) -> None:
    link = pair.own.get(name, headers=TRACK).json()["@odata.deltaLink"]
    theirs = pair.operator.get(name, headers=TRACK).json()["@odata.deltaLink"]
    changed = {CANARY_PROPERTY[name]: f"{FOREIGN} {name} again"}
    if RELATING.by_name[name].read_only:
        pair.operator.load(name, {**THEIRS[name], **changed})
    else:
        assert pair.operator.patch(PATHS[name], changed, if_match="*").status_code == 200
    assert FOREIGN in pair.operator.follow(theirs).text

    assert pair.own.follow(link).json()["value"] == []
    refusal(pair.own.follow(theirs), "Internal_CompanyNotFound")
    spliced = pair.own.follow(theirs.replace(pair.foreign.id, pair.own.id))
    assert spliced.status_code in (400, 410)
    assert FOREIGN not in spliced.text


@pytest.fixture(scope="module")
def crowds(service: Service) -> Pair:
    """Two companies with as many people of the same numbers, which lead to a contact each."""
    first, second = (service.new_company() for _ in range(2))
    for company, mark in ((first, "OWN"), (second, FOREIGN)):
        company.load(
            "contactsExt",
            {"number": "F", "type": "Company", "companyNumber": "", "displayName": mark},
            *(
                {"number": f"{number}", "type": "Person", "companyNumber": "F", "displayName": mark}
                for number in range(PEOPLE)
            ),
        )
    token = service.tokens.issue(companies=[first.id])
    return Pair(first.using(token), second.using(token), second, {})


@together("query", ["", "$expand=company", "$orderby=number desc&$expand=people"])
def test_a_streamed_page_has_the_records_of_one_company(query: str, crowds: Pair) -> None:
    whole = {"Prefer": "odata.maxpagesize=5000"}
    found = crowds.own.get("contactsExt", query, whole).json()["value"]
    assert len(found) == PEOPLE + 1
    records = [
        record
        for each in found
        for record in (each, *each.get("people", ()), *filter(None, [each.get("company")]))
    ]
    assert {each["displayName"] for each in records} == {"OWN"}
    assert (len(records) > len(found)) == bool(query)


def test_a_link_to_the_next_page_of_another_company_leads_nowhere(crowds: Pair) -> None:
    some = {"Prefer": "odata.maxpagesize=100"}
    link = crowds.operator.get("contactsExt", headers=some).json()["@odata.nextLink"]
    assert FOREIGN in crowds.operator.follow(link).text
    refusal(crowds.own.follow(link), "Internal_CompanyNotFound")


def _written(name: str) -> Iterator[tuple[str, str]]:
    yield "POST", name
    yield from ((verb, PATHS[name]) for verb in ("PATCH", "PUT", "DELETE"))


@together("name", [each.name for each in SETS if not each.read_only])
def test_no_write_reaches_another_company(name: str, pair: Pair) -> None:
    """Alone, in a batch, and in a change set after a write of our own, which is undone."""
    changes = [len(company.changes()) for company in (pair.own, pair.operator)]
    body = {**MARKED[name], CANARY_PROPERTY[name]: "intruded"}
    for verb, path in _written(name):
        sent = None if verb == "DELETE" else body
        refused = pair.foreign.request(verb, path, body=sent, headers={"If-Match": "*"})
        refusal(refused, "Internal_CompanyNotFound")
        entry = {
            "id": "1",
            "method": verb,
            "url": f"companies({pair.foreign.id})/{path}",
            "headers": {"If-Match": "*"},
        } | ({} if sent is None else {"body": sent})
        (reply,) = replies(send_documents(pair.root, [entry]))
        assert reply.status == 404
        ours = {**entry, "id": "0", "url": f"companies({pair.own.id})/{path}"}
        grouped = [{**each, "atomicityGroup": "g"} for each in (ours, entry)]
        assert 404 in {each.status for each in replies(send_documents(pair.root, grouped))}
        (part,) = multipart(
            pair.root,
            "--batch_1\nContent-Type: multipart/mixed; boundary=cs\n\n"
            f"--cs\n{HTTP}Content-ID: 1\n\nDELETE companies({pair.own.id})/{PATHS[name]} HTTP/1.1\n"
            "If-Match: *\n\n\n"
            f"--cs\n{HTTP}Content-ID: 2\n\nDELETE companies({pair.foreign.id})/{PATHS[name]} "
            "HTTP/1.1\nIf-Match: *\n\n\n--cs--\n--batch_1--\n",
        )
        assert (part.parts or (part,))[0].status == 404
    assert [len(company.changes()) for company in (pair.own, pair.operator)] == changes
