"""Health, readiness, metrics, the log, and bodies that are too large."""

import pytest

from support.companies import Company
from support.databases import ON_SQLITE
from support.log import line_of
from support.refusals import refusal
from support.server import Server
from support.sockets import ask, in_full, read_answer, send
from support.together import together
from support.waiting import until


@pytest.fixture(scope="module")
def company(server: Server) -> Company:
    return server.new_company()


@together(("path", "body"), [("healthz", "ok\n"), ("readyz", "ready\n")])
@together("method", ["GET", "HEAD"])
def test_health_and_readiness_need_no_token(
    method: str, path: str, body: str, server: Server
) -> None:
    answer = server.origin.request(method, path)

    assert answer.status_code == 200
    assert answer.text == (body if method == "GET" else "")
    assert answer.headers["x-request-id"]


def sum_of(server: Server, counter: str) -> float:
    """The sum of the counters with this name and labels, 0 if there are none."""
    name, lines = f"{counter} ", server.origin.get("metrics").text.splitlines()
    return sum(float(line.removeprefix(name)) for line in lines if line.startswith(name))


def test_metrics_count_requests_by_method_and_status(server: Server) -> None:
    def counted(method: str, status: int) -> float:
        return sum_of(server, f'comptoir_requests_total{{method="{method}",status="{status}"}}')

    before = counted("GET", 401), counted("other", 401)
    for _ in range(3):
        server.client.using("").get("companies")
        server.client.using("").request("PROPFIND", "companies")

    # a request is counted when its answer has been sent, which the client may notice before
    expected = (before[0] + 3, before[1] + 3)
    until(lambda: (counted("GET", 401), counted("other", 401)) == expected or None, "3 more")


def test_metrics_count_refusals_by_code(server: Server, company: Company) -> None:
    """Also those of the requests in a batch."""

    refused = 'comptoir_refused_total{code="BadRequest_ResourceNotFound"}'
    before = sum_of(server, refused)
    assert company.get("unknown").status_code == 404
    parts = [{"id": f"{n}", "method": "GET", "url": "unknown"} for n in range(2)]
    assert company.post("$batch", {"requests": parts}).status_code == 200

    metrics = server.origin.get("metrics")
    assert metrics.headers["content-type"].startswith("text/plain")
    assert "comptoir_request_seconds_bucket" in metrics.text
    assert company.token not in metrics.text
    until(lambda: sum_of(server, refused) == before + 3 or None, "3 more")


def test_every_request_has_a_line_in_the_log_with_its_id(server: Server, company: Company) -> None:
    answer = company.get("contactsExt", {"$filter": "email eq 'private@example.com'"})

    line = line_of(server, answer.headers["x-request-id"])
    assert (line.event, line.level, line.by) == ("request", "info", "tests")
    assert (line.method, line.path, line.status) == ("GET", answer.request.url.path, 200)
    assert line.bytes == len(answer.content)
    assert line.ms > 0


@ON_SQLITE
@together("path", ["healthz", "docs", "docs/openapi.json", "oauth2/jwks", "nowhere"])
def test_the_line_of_a_page_has_its_size(path: str, server: Server) -> None:
    sizes = {"GET": len(server.origin.get(path).content), "HEAD": 0}
    for method, size in sizes.items():
        answer = server.origin.request(method, path)
        assert line_of(server, answer.headers["x-request-id"]).bytes == size
    assert sizes["GET"] > 0


@ON_SQLITE
def test_a_head_request_sends_and_logs_no_bytes(server: Server, company: Company) -> None:
    """The page is read only as far as its headers depend on it."""
    company.load("shippingAgentsExt", *({"code": f"{n}", "name": "x" * 99} for n in range(500)))
    for path in ("shippingAgentsExt", "contactsExt"):
        answer = company.request("HEAD", path)

        line = line_of(server, answer.headers["x-request-id"])
        assert (line.method, line.status, line.bytes) == ("HEAD", 200, 0)


def test_the_log_contains_no_query_body_token_or_header(server: Server, company: Company) -> None:
    body = {"displayName": "Secret Name", "onlinePassword": "secret password"}
    headers = {"X-Private": "secret header"}
    asked = [
        company.get("contactsExt", {"$filter": "email eq 'secret@value'"}, headers),
        company.post("contactsExt", body, headers),
        company.get("contactsExt", {"$filter": "secret_property eq 1"}),
        company.post("contactsExt", b'{"displayName": "secret broken'),
        company.using("secret.token.here").get("contactsExt"),
    ]

    assert [answer.status_code for answer in asked] == [200, 201, 400, 400, 401]
    for answer in asked:
        line_of(server, answer.headers["x-request-id"])
    log = server.log.read_text().lower()
    assert "secret" not in log
    assert company.token not in log
    assert company.token.split(".")[2].lower() not in log


def post(company: Company, headers: dict[str, str]) -> bytes:
    """The head of a request to create a contact."""
    given = {"Content-Type": "application/json", **headers}
    return in_full(company.build("POST", "contactsExt", headers=given))


def test_a_declared_length_above_the_limit_is_refused_unread(
    server: Server, company: Company
) -> None:
    """The response comes before the client sends the body, and the connection ends."""
    with server.connect() as connection:
        answer = ask(connection, post(company, {"Content-Length": f"{10**15}"}))

        refusal(answer, "Request_BodyTooLarge")
        assert answer.headers["connection"] == "close"
        assert connection.recv(1) == b""


def test_a_chunked_body_above_the_limit_is_refused_before_its_end(
    server: Server, company: Company
) -> None:
    """The client sends 1 MiB and one byte, and not the last chunk."""
    size = (1 << 20) + 1
    with server.connect() as connection:
        send(connection, post(company, {"Transfer-Encoding": "chunked"}))
        send(connection, b"%x\r\n" % size + b'{"displayName": "'.ljust(size, b"x") + b"\r\n")
        answer = read_answer(connection)

    refusal(answer, "Request_BodyTooLarge")
    assert company.listed("contactsExt", {"$filter": "startswith(displayName,'xx')"}) == []


def test_a_disconnect_within_the_body_changes_nothing(server: Server, company: Company) -> None:
    before = company.changes()
    with server.connect() as connection:
        send(connection, post(company, {"Content-Length": "100"}) + b'{"displayName": "x"}')

    assert server.origin.get("readyz").status_code == 200
    assert company.changes() == before


@ON_SQLITE
def test_the_host_header_is_not_trusted(server: Server, company: Company) -> None:
    """Links contain the configured address."""
    forged = {
        "Host": "evil.example",
        "X-Forwarded-Host": "evil.example",
        "X-Forwarded-Proto": "https",
    }
    answer = company.get("contactsExt", headers=forged)
    created = company.post("contactsExt", {"displayName": "x"}, forged)
    redirected = server.origin.get("healthz/", headers=forged)

    assert "evil" not in answer.text + created.headers["location"] + str(redirected.headers)
    assert server.base_url in answer.text
