"""Records of the console as CSV: what a list shows, on all of its pages."""

import csv
from io import StringIO
from urllib.parse import urlencode

import httpx
import pytest

from comptoir.auth.records import ConsoleRole
from support.client import Record
from support.companies import Company
from support.console import Browser, console_of, logged_in, new_code
from support.server import ShareServer
from support.service import Service

FORMULAS = (
    *("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "\u00a0 @x", "\ufeff=1"),
    *("\uff1d1", "\uff0b1", "\uff0d1", "\uff20x", "\u22121"),
)


def download(browser: Browser, company: Company, path: str, **query: str) -> httpx.Response:
    fields = {"company": company.id, **query}
    return browser.get(f"/console/records/{path}/csv?{urlencode(fields)}")


def rows_of(answer: httpx.Response) -> list[list[str]]:
    assert answer.status_code == 200, answer.text
    text = answer.content.decode("utf-8-sig")
    assert answer.content.startswith(b"\xef\xbb\xbf")
    assert text.endswith("\r\n")
    return list(csv.reader(StringIO(text, newline="")))


def test_a_file_has_the_columns_and_all_pages_of_the_list(
    browser: Browser, specimens: Company
) -> None:
    records: list[Record] = [{"code": f"C{n:04}", "rank": n, "text": "t"} for n in range(1_100)]
    specimens.load("specimensExt", *records)
    query = {"filter": "rank ge 100", "orderby": "rank desc", "skip": "50", "column": "rank"}

    answer = download(browser, specimens, "specimensExt", **query)

    head, *rows = rows_of(answer)
    assert head == ["Code", "Rank"]
    assert rows == [[f"C{number:04}", str(number)] for number in range(1_099, 99, -1)]
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="specimensExt.csv"'
    assert answer.headers["cache-control"] == "no-store"


def test_each_type_has_its_exact_value(browser: Browser, specimens: Company) -> None:
    given: Record = {"code": "A", "amount": -12.5, "active": True, "day": "2026-01-02"}
    specimens.load("specimensExt", {**given, "moment": "2026-01-02T03:04:05Z"})
    specimens.load("specimensExt", {"code": "B"})
    names = ("amount", "active", "day", "moment", "reference")
    columns = urlencode([("company", specimens.id), *(("column", each) for each in names)])

    answer = browser.get(f"/console/records/specimensExt/csv?{columns}")

    assert rows_of(answer)[1:] == [
        ["A", "-12.5", "true", "", "2026-01-02", "2026-01-02T03:04:05.000Z"],
        ["B", "0", "false", "", "", ""],
    ]


def test_no_text_is_calculated(browser: Browser, specimens: Company) -> None:
    texts = (*FORMULAS, 'a "b"; c,d\r\ne', "'=1", "é😀\u202e", "x" * 4_000)
    records: list[Record] = [{"code": f"C{n:02}", "text": text} for n, text in enumerate(texts)]
    specimens.load("specimensExt", *records)

    rows = rows_of(download(browser, specimens, "specimensExt", column="text"))[1:]

    defused = [f"'{each}" if each in FORMULAS else each for each in texts]
    assert [text for _, text in rows] == defused


def test_a_wrong_query_gets_a_page_and_no_file(browser: Browser, specimens: Company) -> None:
    answer = download(browser, specimens, "specimensExt", filter="rank eqq 1")
    assert answer.status_code == 400
    assert "at column 6 of $filter" in answer.text
    assert answer.headers["content-type"].startswith("text/html")


def test_only_own_companies_are_in_a_file(specimen_service: Service, specimens: Company) -> None:
    other = specimen_service.new_company()
    limited = logged_in(specimen_service, ConsoleRole.VIEWER, frozenset({other.id}))
    assert download(limited, specimens, "contactsExt").status_code == 404
    assert rows_of(download(limited, other, "contactsExt"))[1:] == []


def test_a_reader_who_leaves_ends_the_file(
    specimen_service: Service, browser: Browser, specimens: Company
) -> None:
    records: list[Record] = [{"code": f"C{n:04}", "text": "t" * 400} for n in range(2_000)]
    specimens.load("specimensExt", *records)
    url = f"{browser.origin}/console/records/specimensExt/csv?company={specimens.id}"
    cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())

    assert specimen_service.leave(httpx.Request("GET", url, headers={"Cookie": cookies}), 2) == []


def test_a_part_of_the_records_does_not_look_like_all(share_server: ShareServer) -> None:
    server = share_server()
    company, browser = server.new_company(), console_of(server)
    browser.log_in(new_code(server.admin))
    records: list[Record] = [{"number": f"C{n:03}", "name2": str(n)} for n in range(100)]
    company.load("contactsExt", *records)
    # the division fails at the record with the name 70
    condition = "1 div (length(number) sub indexof(name2,'70') sub 4) lt 9"

    with pytest.raises(httpx.RemoteProtocolError):
        download(browser, company, "contactsExt", filter=condition)
