"""Every verb, set and navigation property with every role: what a role lacks is refused, unseen.

What a request needs is derived from the sets that it names, and not from the service. Another right
never takes one away, so the fewest rights that suffice are tried, and the most that do not. Each
record has a text that names its set, and this text is in no response to a client that may not read
the set. A client that may do everything sends each request first: a cache that forgot who asked
would show its result.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

import httpx
import msgspec
import pytest

from comptoir.edm.model import EntitySet, NavigationProperty
from support.batches import HTTP, parts, replies, send_documents, send_multipart
from support.client import Client, Record
from support.companies import Company
from support.databases import ON_SQLITE
from support.reads import (
    CANARIES,
    MARKED,
    NAVIGATION,
    VIEWS,
    Read,
    nested_reads,
    own_reads,
    related_reads,
)
from support.refusals import error_in
from support.relating import OF_ITEMS, RELATING
from support.roles import tokens_of_roles
from support.samples import PATHS
from support.service import StartService
from support.together import together

pytestmark = ON_SQLITE  # nothing of this is up to the database

SETS = tuple(each.name for each in RELATING.per_company)
READING = ("R", "IMD")
"""The letter that a read needs, and all others."""
PASSED = [("R", "RM"), ("IMD", "RIMD"), ("RIMD", "RID"), ("RIMD", "IMD")]
"""The letters for a set in the middle of a path and for the one at its end: only the first do."""
NEEDED: Mapping[str, str] = {"POST": "I", "UPSERT": "I", "PATCH": "M", "PUT": "M", "DELETE": "D"}
"""The letter that each verb needs; a read needs R on every set that it names."""


def writing(letter: str) -> tuple[str, str, str]:
    """The letter that a write needs: without and with the right to read; and all others."""
    return letter, f"R{letter}", "RIMD".replace(letter, "")


LETTERS = {*READING, *chain.from_iterable(map(writing, "IMD"))}


def _readable(sets: frozenset[str]) -> Iterator[frozenset[str]]:
    """All of the sets, and all but one."""
    yield sets
    yield from (sets - {name} for name in sorted(sets))


def _readers() -> Iterator[frozenset[str]]:
    """Each set of sets that a client of this module may read."""
    yield from (frozenset({name}) for name in SETS)
    for source, navigation in NAVIGATION:
        for read in (*related_reads(source, navigation), *nested_reads(source, navigation)):
            yield from _readable(read.sets)


def reader(sets: Iterable[str]) -> str:
    return " ".join(["reads", *sorted(sets)]).replace(" ", "-")


def worker(name: str, letters: str) -> str:
    return f"{name}-{letters}"


def passing(source: str, own: str, letters: str) -> str:
    return f"{source}-{own}-item-{letters}"


ROLES: Mapping[str, Mapping[str, str]] = {
    "everything": {"*": "RIMD"},
    **{worker(name, letters): {name: letters} for name in SETS for letters in LETTERS},
    **{reader(sets): dict.fromkeys(sets, "R") for sets in _readers()},
    **{
        passing(source, own, letters): {source: own, "itemsExt": letters}
        for source in OF_ITEMS
        for own, letters in PASSED
    },
}


class Matrix(msgspec.Struct, frozen=True):
    """A company with a marked record of every set, and a token of every role."""

    company: Company
    tokens: Mapping[str, str]

    def client(self, role: str) -> Company:
        return self.company.using(self.tokens[role])


@pytest.fixture(scope="module")
def matrix(share_service: StartService) -> Matrix:
    service = share_service(RELATING)
    company = service.new_company()
    company.admin.load_all(company.stored, {name: [each] for name, each in MARKED.items()})
    return Matrix(company, tokens_of_roles(service, ROLES))


def _unseen(readable: Iterable[str]) -> list[bytes]:
    """The canaries of the sets that are not readable, neither directly nor by a view."""
    seen = set(readable)
    seen |= {each.view.base for name, each in VIEWS.items() if name in seen and each.view}
    return [canary.encode() for name, canary in CANARIES.items() if name not in seen]


def _check_denied(answer: httpx.Response) -> None:
    assert answer.status_code == 403, answer.text
    assert error_in(answer.content).code == "Authorization_RequestDenied"
    assert answer.headers["www-authenticate"] == 'Bearer error="insufficient_scope"'


def _check_unseen(answer: httpx.Response, readable: Iterable[str]) -> None:
    content = answer.content + str(answer.headers).encode()
    assert not [each for each in _unseen(readable) if each in content]


def _full(powerful: Client, read: Read) -> httpx.Response:
    """The response to a client that may do everything: only a related record may be missing."""
    answer = powerful.get(read.path, read.query)
    missing = answer.status_code == 404 and "RecordNotFound" in answer.text
    assert answer.is_success or missing, (read, answer.text)
    return answer


def _check_reads(matrix: Matrix, reads: Iterable[Read]) -> None:
    """Each read with all sets that it names and without each of them, also as a part of a batch."""
    powerful = matrix.client("everything")
    statuses: dict[frozenset[str], dict[str, int]] = {}
    for read in reads:
        full = _full(powerful, read)
        for readable in _readable(read.sets):
            answer = matrix.client(reader(readable)).get(read.path, read.query)
            if readable == read.sets:
                assert (answer.status_code, answer.content) == (full.status_code, full.content)
            else:
                _check_denied(answer)
            _check_unseen(answer, readable)
            url = f"{read.path}?{read.query}" if read.query else read.path
            statuses.setdefault(readable, {})[url] = answer.status_code
        assert _full(powerful, read).content == full.content
    for readable, by_url in statuses.items():
        entries = [{"id": url, "method": "GET", "url": url} for url in by_url]
        batch = send_documents(matrix.client(reader(readable)), entries)
        assert {each.id: each.status for each in replies(batch)} == by_url
        _check_unseen(batch, readable)


@together("name", SETS)
def test_each_way_to_read_a_set_needs_its_right(name: str, matrix: Matrix) -> None:
    entity_set = RELATING.by_name[name]
    for read in own_reads(entity_set):
        full = _full(matrix.client("everything"), read)
        for letters in READING:
            answer = matrix.client(worker(name, letters)).get(read.path, read.query)
            if "R" in letters:
                assert (answer.status_code, answer.content) == (full.status_code, full.content)
            else:
                _check_denied(answer)
            _check_unseen(answer, {name} if "R" in letters else ())


@together(("source", "navigation"), NAVIGATION)
def test_each_way_along_a_navigation_property_needs_the_rights_of_its_sets(
    source: EntitySet, navigation: NavigationProperty, matrix: Matrix
) -> None:
    _check_reads(matrix, related_reads(source, navigation))


@together(("source", "navigation"), NAVIGATION)
def test_each_way_along_two_navigation_properties_needs_the_rights_of_its_sets(
    source: EntitySet, navigation: NavigationProperty, matrix: Matrix
) -> None:
    _check_reads(matrix, nested_reads(source, navigation))


@together("role", ["everything", *[reader([each]) for each in SETS]])
def test_the_service_document_lists_what_a_client_may_read(role: str, matrix: Matrix) -> None:
    client = matrix.client(role)

    listed = [each["name"] for each in client.follow(f"{client.root}/").json()["value"]]

    assert listed == [name for name in SETS if role in ("everything", reader([name]))]


@together("name", SETS)
def test_expanding_everything_leaves_out_what_a_client_may_not_read(
    name: str, matrix: Matrix
) -> None:
    client, powerful = matrix.client(reader([name])), matrix.client("everything")
    related = RELATING.by_name[name].type.navigation
    readable = {each.name for each in related if each.target == name}
    for query in ("$expand=*", "$expand=*($levels=2)"):
        assert {each.name for each in related} <= powerful.get(name, query).json()["value"][
            0
        ].keys()

        answer = client.get(name, query)

        assert answer.status_code == 200
        _check_unseen(answer, {name})
        expanded = {each.name for each in related} & answer.json()["value"][0].keys()
        assert expanded == readable


@together("name", SETS)
def test_companies_show_only_the_sets_that_a_client_may_read(name: str, matrix: Matrix) -> None:
    company = matrix.company
    root = company.root.partition("/companies(")[0]
    powerful = Client(company.carrier, root, matrix.tokens["everything"])
    client = powerful.using(matrix.tokens[reader([name])])
    path, others = f"companies({company.id})", [each for each in SETS if each != name]
    assert SETS[-1] in powerful.get(path, "$expand=*").json()

    answer = client.get(path, "$expand=*")

    assert not set(others) & answer.json().keys()
    assert name in answer.json()
    _check_unseen(answer, {name})
    for other in others:
        for at in (path, "companies"):
            assert powerful.get(at, f"$expand={other}").is_success
            refused = client.get(at, f"$expand={other}")
            _check_denied(refused)
            _check_unseen(refused, {name})


@together("name", [each.name for each in RELATING.per_company if each.tracks_changes])
def test_a_delta_needs_the_right_to_read(name: str, matrix: Matrix) -> None:
    tracked = matrix.client("everything").get(name, headers={"Prefer": "odata.track-changes"})
    link = tracked.json()["@odata.deltaLink"]

    for letters in READING:
        answer = matrix.client(worker(name, letters)).follow(link)
        if "R" in letters:
            assert answer.status_code == 200
        else:
            _check_denied(answer)


WRITABLE = [each.name for each in RELATING.per_company if not each.read_only]


class Write(msgspec.Struct, frozen=True):
    """A write that succeeds if the record is absent (POST, UPSERT) or present."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Record | None = None


class Written(msgspec.Struct, frozen=True):
    """The response to a write."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def _write(verb: str, name: str) -> Write:
    path, record = PATHS[name], MARKED[name]
    match verb:
        case "POST":
            return Write("POST", name, {"If-None-Match": "*"}, record)
        case "UPSERT":
            return Write("PATCH", path, {"If-None-Match": "*"}, record)
        case "DELETE":
            return Write("DELETE", path, {"If-Match": "*"})
    return Write(verb, path, {"If-Match": "*"}, record)


def _alone(client: Client, write: Write) -> tuple[httpx.Response, Written]:
    answer = client.request(write.method, write.path, body=write.body, headers=write.headers)
    return answer, Written(answer.status_code, answer.headers, answer.content)


def _in_group(client: Client, write: Write) -> tuple[httpx.Response, Written]:
    """Send a write in an atomic group of a batch in JSON."""
    entry: dict[str, object] = {
        "id": "1",
        "atomicityGroup": "g",
        "method": write.method,
        "url": write.path,
        "headers": write.headers,
    }
    if write.body is not None:
        entry["body"] = write.body
    answer = send_documents(client, [entry])
    (reply,) = replies(answer)
    return answer, Written(reply.status, reply.headers, bytes(reply.body))


def _in_change_set(client: Client, write: Write) -> tuple[httpx.Response, Written]:
    """Send a write in a change set of a batch in multipart/mixed."""
    headers = {**write.headers, "Content-Type": "application/json"}
    fields = "".join(f"{name}: {value}\n" for name, value in headers.items())
    body = "" if write.body is None else msgspec.json.encode(write.body).decode()
    answer = send_multipart(
        client,
        "--batch_1\nContent-Type: multipart/mixed; boundary=cs\n\n"
        f"--cs\n{HTTP}Content-ID: 1\n\n{write.method} {write.path} HTTP/1.1\n{fields}\n{body}\n"
        "--cs--\n--batch_1--\n",
    )
    (part,) = parts(answer)
    (inner,) = part.parts or (part,)
    return answer, Written(inner.status, inner.headers, inner.body)


WAYS = (_alone, _in_group, _in_change_set)


@together("send", WAYS)
@together("verb", NEEDED)
@together("name", WRITABLE)
def test_each_write_needs_its_right_and_shows_the_record_to_readers_only(
    name: str,
    verb: str,
    send: Callable[[Client, Write], tuple[httpx.Response, Written]],
    matrix: Matrix,
) -> None:
    company, powerful = matrix.company, matrix.client("everything")
    creates = verb in ("POST", "UPSERT")
    prepared = _write("DELETE" if creates else "POST", name)
    _alone(powerful, prepared)
    number = company.changes()[-1].number
    for letters in writing(NEEDED[verb]):
        answer, written = send(matrix.client(worker(name, letters)), _write(verb, name))

        if NEEDED[verb] not in letters:
            assert written.status == 403
            assert error_in(written.body).code == "Authorization_RequestDenied"
            assert not company.changes(after=number)
        elif verb == "DELETE":
            assert (written.status, written.body) == (204, b"")
        elif "R" in letters:
            assert written.status == (201 if creates else 200)
            assert CANARIES[name].encode() in written.body
        else:
            assert (written.status, written.body) == (204, b"")
            names = {each.lower() for each in written.headers}
            assert "etag" in names
            assert ("location" in names) == creates
        _check_unseen(answer, {name} if "R" in letters else ())
        if NEEDED[verb] in letters:
            _alone(powerful, prepared)
            # an update to what the record has is not a change
            number += len(company.changes(after=number))
    _alone(powerful, _write("POST", name))


@together("source", OF_ITEMS)
def test_a_write_along_navigation_needs_to_read_what_it_passes(source: str, matrix: Matrix) -> None:
    """Its response shows whether the navigation property leads to a record."""
    path = f"{PATHS[source]}/item"
    powerful = matrix.client("everything")
    assert powerful.patch(path, {}, if_match="*").status_code == 200
    for own, letters in PASSED:
        client = matrix.client(passing(source, own, letters))
        for verb in ("PATCH", "PUT"):
            answer = client.request(verb, path, body=MARKED["itemsExt"], headers={"If-Match": "*"})
            if (own, letters) == PASSED[0]:
                assert answer.status_code == 200
            else:
                _check_denied(answer)
