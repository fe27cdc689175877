"""No secret reaches what is kept of requests, however a client sends it."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import gettempdir
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from comptoir.catalog import MODEL
from comptoir.edm.model import EntitySet, EntityType, Model, Property, UniqueRule
from comptoir.edm.numbers import DECIMAL
from comptoir.edm.times import DATE
from comptoir.edm.types import CODE, GUID
from comptoir.features.inspector.segments import FOLDER, private_folder
from conftest import stock
from support.client import Client
from support.clients import GRANT, TOKEN_PATH, ask
from support.companies import Company
from support.console import logged_in
from support.databases import ON_SQLITE, FreshDatabase
from support.effort import examples
from support.samples import CONTACT, UNKNOWN
from support.service import Service

CANARY = "Canary-7391"
NAME = "onlinePassword"
SET = "contactsExt"


SEALED = EntityType(
    name="sealed",
    description="A type of this test, with secrets of several types.",
    properties=(
        Property("id", GUID),
        Property("code", CODE, secret=True),
        Property("day", DATE, secret=True),
        Property("amount", DECIMAL, secret=True),
    ),
    unique=(UniqueRule(("code",)),),
)
WITH_SEALED = Model((*MODEL.sets, EntitySet("sealedExt", SEALED)), tables=MODEL.tables)


class Kept:
    """A service that keeps whole requests, a company, and the folder of what it keeps."""

    def __init__(self, service: Service, company: Company, folder: Path) -> None:
        self.service = service
        self.company = company
        self.folder = folder
        self._browser = logged_in(service)

    def content(self) -> bytes:
        """All that is kept of the requests so far."""
        assert self._browser.get("/console/requests/rows").status_code == 200
        return b"".join(path.read_bytes() for path in self.folder.glob("*.segment"))


@pytest.fixture(scope="module", params=["standard", "business-central"])
def kept(
    request: pytest.FixtureRequest,
    fresh_database: FreshDatabase,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Kept]:
    folder, given = tmp_path_factory.mktemp("kept"), {"inspect": "bodies", "profile": request.param}
    with pytest.MonkeyPatch.context() as patch, private_folder() as records:
        patch.setenv(FOLDER, str(records))
        with Service(fresh_database, folder, WITH_SEALED, **given) as service:
            yield Kept(service, stock(service.new_company()), records)


def escaped(text: str, positions: Sequence[int]) -> str:
    """A text with some characters as JSON escapes."""
    return "".join(
        f"\\u{ord(each):04x}" if index in positions else each for index, each in enumerate(text)
    )


def encoded(text: str, times: int) -> str:
    """A text, percent-encoded as a whole some times."""
    for _ in range(times):
        text = "".join(f"%{byte:02X}" for byte in text.encode())
    return text


names = st.builds(escaped, st.just(NAME), st.lists(st.integers(0, len(NAME) - 1), max_size=3))
values = st.sampled_from([CANARY, f"{CANARY}'", f'"{CANARY}', f"é{CANARY}\n", CANARY * 40])


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """A body with a secret: right or wrong, nested, twice, or no JSON at all."""
    name, value = draw(names), msgspec.json.encode(draw(values)).decode()
    member = f'"{name}": {value}'
    if draw(st.booleans()):
        member = member.replace(value, f"[{value}, {{{member}}}]")
    members = ['"displayName": "x"', '"number": 5', f'"{NAME}": null', '"nothing": {}']
    others = draw(st.lists(st.sampled_from(members), max_size=2))
    inner = ", ".join(draw(st.permutations([member, *others])))
    text = draw(st.sampled_from(["{%s}", "[{%s}]", '{"a": {%s}}', "{%s", "%s", "'{%s}'"])) % inner
    return text.encode()


queries = st.sampled_from(
    [
        "$filter={name} eq '{value}'",
        "$filter={name} eq @p&@p='{value}'",
        "$filter=contains({name},'{value}') and",
        "$compute={name} as x&$filter=x eq '{value}'",
        '$filter=city eq @p&@p={{"{name}":"{value}"}}',
        "$orderby={name}&$search={value}",
        "$expand=customers($filter={name} eq '{value}')",
        "$apply=filter({name} eq '{value}')",
        "$select={name}&access_token={value}",
        "client_secret={value}",
        "{name}={value}",
    ]
)


@st.composite
def exchanges(draw: st.DrawFn) -> tuple[str, str, str, bytes, dict[str, str]]:
    """A request with the canary in some place."""
    kind = draw(st.sampled_from(["body", "query", "path", "header"]))
    method, path, query, body = "PATCH", f"{SET}({CONTACT})", "", b'{"displayName": "y"}'
    headers = {"If-Match": draw(st.sampled_from(["*", '"x"', "x"]))}
    if kind == "body":
        body = draw(bodies())
        method = draw(st.sampled_from(["PATCH", "PUT", "POST"]))
        path = draw(st.sampled_from([path, SET, f"{SET}({UNKNOWN})", "nothingExt", "$batch"]))
    elif kind == "query":
        template = draw(queries)
        name = draw(st.sampled_from([NAME, NAME.upper(), encoded("online", 1) + "Password"]))
        query = template.format(name=name, value=CANARY)
        if draw(st.booleans()):
            query = quote(query, safe="=&%")
        method, path = draw(st.sampled_from([("GET", SET), ("GET", path), ("POST", SET)]))
    elif kind == "path":
        value = draw(st.sampled_from([CANARY, quote(CANARY), encoded(CANARY, 1)]))
        template = draw(st.sampled_from([f"{SET}({NAME}='%s')", f"{SET}(1,{NAME}='%s')/{NAME}"]))
        method, path = "GET", template % value
    else:
        name = draw(st.sampled_from(["Cookie", "X-Api-Key", "Proxy-Authorization", "X-Auth-Token"]))
        headers[name] = CANARY
    return method, path, query, body, headers


@ON_SQLITE  # what is kept does not depend on the database
@given(exchange=exchanges(), in_batch=st.booleans())
@settings(max_examples=examples(50), suppress_health_check=list(HealthCheck))
def test_a_canary_is_never_kept(
    kept: Kept, exchange: tuple[str, str, str, bytes, dict[str, str]], in_batch: bool
) -> None:
    method, path, query, body, headers = exchange
    client = kept.company
    if in_batch and path != "$batch":
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        url = f"{path}?{query}" if query else path
        sent = (
            f"--b\r\nContent-Type: application/http\r\n\r\n{method} {url} HTTP/1.1\r\n{lines}"
            "Content-Type: application/json\r\n\r\n"
        ).encode()
        sent += (b"" if method == "GET" else body) + b"\r\n--b--\r\n"
        client.post("$batch", sent, {"Content-Type": "multipart/mixed; boundary=b"})
    else:
        client.request(method, path, query, None if method == "GET" else body, headers)

    assert CANARY.encode() not in kept.content()


@ON_SQLITE
def test_tokens_and_the_secrets_of_clients_are_never_kept(kept: Kept) -> None:
    service, company = kept.service, kept.company
    company.get(SET)
    signature = company.token.rpartition(".")[2]
    for form in (
        {**GRANT, "client_id": "x", "client_secret": CANARY},
        {"client_assertion": CANARY, "client_assertion_type": "urn:ietf"},
    ):
        ask(service, form)
    service.origin.get(TOKEN_PATH, f"client_secret={CANARY}")
    basic = {"Authorization": f"Basic {CANARY}"}
    bearer = {"Authorization": f"Bearer {CANARY}"}
    for headers in (basic, bearer):
        Client(service, company.root, "").get(SET, headers=headers)
    service.client.post("subscriptions", {"clientState": CANARY, "resource": SET})
    foreign = {"id": "1", "method": "GET", "url": SET, "headers": bearer}
    assert company.post("$batch", {"requests": [foreign]}).status_code == 400

    content = kept.content()
    assert TOKEN_PATH.encode() in content
    assert signature.encode() not in content
    assert CANARY.encode() not in content


@ON_SQLITE
def test_the_password_of_a_record_is_never_kept(kept: Kept) -> None:
    company = kept.company
    address = f"{SET}({CONTACT})"
    company.patch(address, {NAME: CANARY}, if_match="*")
    for path in (address, f"{address}/{NAME}", f"{address}/{NAME}/$value", SET):
        for query in ("", f"$select=id,{NAME}"):
            company.get(path, query)
    batch = {"requests": [{"id": "1", "method": "GET", "url": address}]}
    company.post("$batch", batch)

    assert CANARY.encode() not in kept.content()
    assert "•••".encode() in kept.content()


def test_a_killed_service_leaves_nothing(tmp_path: Path) -> None:
    """The next service removes the folder of one whose process has ended."""
    left = Path(gettempdir()) / "comptoir-inspector-of-a-test"
    left.mkdir(mode=0o700)
    (left / "lock").touch(0o600)
    (left / "1-0.segment").write_text("{}\n")

    with private_folder() as folder:
        assert not left.exists()
        assert folder.stat().st_mode & 0o777 == 0o700
        with private_folder() as other:
            assert folder.exists()
            assert other != folder
    assert not folder.exists()
    assert re.fullmatch("comptoir-inspector-.*", folder.name)


def test_an_error_that_quotes_a_secret_is_not_kept(kept: Kept) -> None:
    company = kept.service.new_company()
    bodies = (
        *({"code": CANARY * 20}, {"code": CANARY}, {"code": CANARY}, {"day": CANARY}),
        *({"amount": CANARY}, {"amount": 73.917391739173917391}),
    )
    answers = [company.post("sealedExt", body) for body in bodies]
    answers.append(company.get(f"sealedExt(code='{CANARY}')"))
    content = kept.content().upper()

    assert any(CANARY.upper() in each.text.upper() for each in answers if each.is_error)
    assert CANARY.upper().encode() not in content
    assert b"73.9173" not in content
