"""A disconnect closes all generators of a response at once."""

from collections.abc import Mapping

import msgspec
import pytest

from support.companies import Company
from support.service import Service
from support.together import together

JSON = {"Content-Type": "application/json"}
PAGES = msgspec.json.encode(
    {"requests": [{"id": f"{n}", "method": "GET", "url": "contactsExt"} for n in range(20)]}
)
PART = (
    b"--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
    b"GET contactsExt HTTP/1.1\r\n\r\n\r\n"
)


@pytest.fixture(scope="module")
def company(service: Service) -> Company:
    company = service.new_company()
    numbers = map(str, range(1_000))
    rows = ({"number": n, "displayName": f"Desk {n}", "companyNumber": "1"} for n in numbers)
    company.load("contactsExt", *rows)
    company.catch_up("contactsExt")
    return company


@together(("coding", "pieces"), [("identity", 1), ("identity", 4), ("gzip", 1), ("gzip", 2)])
@together(
    ("address", "headers", "body"),
    [
        ("contactsExt", {}, None),
        ("contactsExt?$expand=company", {}, None),
        ("contactsExt?$search=desk", {}, None),
        ("contactsExt?$apply=filter(number ne '')", {}, None),
        ("contactsExt?$apply=groupby((id,number,displayName,companyNumber))", {}, None),
        ("contactsExt", {"Prefer": "odata.track-changes"}, None),
        ("$batch", JSON, PAGES),
        ("$batch", {"Content-Type": "multipart/mixed; boundary=b"}, PART * 20 + b"--b--\r\n"),
    ],
)
def test_a_disconnect_closes_the_generators_of_a_response(
    address: str,
    headers: Mapping[str, str],
    body: bytes | None,
    coding: str,
    pieces: int,
    service: Service,
    company: Company,
) -> None:
    path, _, query = address.partition("?")
    method = "GET" if body is None else "POST"
    sent = {**headers, "Accept-Encoding": coding}

    assert service.leave(company.build(method, path, query, body, sent), pieces) == []


def test_a_head_request_closes_the_generators_of_its_response(
    service: Service, company: Company
) -> None:
    assert service.leave(company.build("HEAD", "contactsExt"), pieces=1) == []
