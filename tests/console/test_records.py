"""Records in the console: browsed, filtered, searched, sorted and paged, of any entity set."""

import re
from html import escape, unescape
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import httpx
import msgspec
import pytest

from comptoir.auth.records import ConsoleRole
from comptoir.catalog import MODEL
from conftest import stock
from support.client import Record
from support.companies import Company
from support.console import Browser, forms_of, logged_in
from support.databases import ON_SQLITE
from support.samples import NO_GUID, SAMPLES
from support.service import Service, StartService
from support.specimen import WITH_SPECIMENS
from support.together import check_all, together
from support.waiting import until

SCRIPT = "<script>alert(1)</script>\"'&"
TO = "\N{EN DASH}"
SECRETS = ("onlinePassword",)
EMPTY = (NO_GUID, "0001-01-01", "0001-01-01T00:00:00.000Z", "0001-01-01T00:00:00Z")
PROFILES = ("standard", "business-central")


@pytest.fixture(scope="module", params=PROFILES)
def of_profile(
    request: pytest.FixtureRequest, share_service: StartService
) -> tuple[Company, Browser]:
    """A company with a record of every set, and a browser, in each profile."""
    service = share_service(profile=request.param)
    return stock(service.new_company()), logged_in(service, ConsoleRole.EDITOR)


def page(browser: Browser, company: Company, path: str, **query: str) -> httpx.Response:
    return browser.get(f"/console/records{path}?{urlencode({'company': company.id, **query})}")


def text_of(answer: httpx.Response) -> str:
    return unescape(answer.text)


def shown(answer: httpx.Response) -> list[str]:
    """The names of the records in the table of a page."""
    assert answer.status_code == 200, answer.text
    rows = answer.text.partition("<tbody")[2].partition("</tbody>")[0]
    names = re.findall('<th scope="row"[^>]*><a [^>]*><bdi>(.*?)</bdi></a>', rows)
    return [unescape(each) for each in names]


def in_ascii(markup: str) -> str:
    """Markup with references to all other characters, as rows of tables have them."""
    return markup.encode("ascii", "xmlcharrefreplace").decode()


def link(answer: httpx.Response, label: str) -> str:
    """The address to which a link that begins with this text leads."""
    text = re.escape(in_ascii(escape(label)))
    before = re.split(f">(?:<bdi>)?{text}(?=(?:</bdi>)?</a>| <span)", in_ascii(answer.text))[0]
    return unescape(before.rpartition('href="')[2].partition('"')[0])


def next_of(answer: httpx.Response) -> str:
    """The address of the next page."""
    return unescape(answer.text.split('" rel="next">')[0].rpartition('href="')[2])


def many(company: Company, count: int) -> None:
    rows: list[Record] = [
        {"code": f"C{number:03}", "rank": number, "text": f"text {number % 3}"}
        for number in range(count)
    ]
    company.load("specimensExt", *rows)


def test_every_entity_set_is_listed(browser: Browser, specimens: Company) -> None:
    answer = page(browser, specimens, "")

    assert answer.status_code == 200
    for each in WITH_SPECIMENS.sets:
        assert f"<code>{each.name}</code>" in answer.text
    assert ">Contacts</a>" in answer.text


def test_the_records_of_each_set_are_counted(browser: Browser, specimens: Company) -> None:
    many(specimens, 3)

    def count() -> str | None:
        after = page(browser, specimens, "").text.partition("specimensExt?")[2]
        return after.partition("<td")[2].partition(">")[2].partition("<")[0] or None

    # a count is left out if it takes long
    assert until(count, "counted") == "3"


@together("name", [each.name for each in MODEL.sets])
def test_records_of_every_set_are_shown(name: str, of_profile: tuple[Company, Browser]) -> None:
    company, browser = of_profile

    table = page(browser, company, f"/{name}")
    [first, *_] = shown(table)
    record = browser.get(link(table, first))

    assert record.status_code == 200
    assert first in text_of(record).partition("<h1>")[2].partition("</h1>")[0]
    document = msgspec.json.decode(page(browser, company, f"/{name}/json").content)
    sample = {key: value for key, value in SAMPLES.get(name, {}).items() if key not in SECRETS}
    for key, value in {**document["value"][0], **sample}.items():
        if isinstance(value, str) and "@" not in key and value not in EMPTY:
            assert value in text_of(record), key


def test_a_filter_a_search_and_an_order(browser: Browser, specimens: Company) -> None:
    many(specimens, 9)
    specimens.catch_up("specimensExt")

    def names(**query: str) -> list[str]:
        return shown(page(browser, specimens, "/specimensExt", **query))

    assert names(filter="rank ge 7") == ["C007", "C008"]
    assert names(search='"text 1"', orderby="rank desc") == ["C007", "C004", "C001"]
    assert names(filter="rank lt 3", orderby="text desc,code") == ["C002", "C001", "C000"]


def headings(answer: httpx.Response) -> list[str]:
    """The names of the columns of a table."""
    return re.findall(r'<th scope="col"[^>]* title="(\w+): ', answer.text)


def test_a_column_sorts(browser: Browser, specimens: Company) -> None:
    """From the first page on, also if a later one is shown."""
    many(specimens, 60)
    table = page(browser, specimens, "/specimensExt", column="rank", filter="rank lt 59")

    ascending = browser.get(link(browser.get(next_of(table)), "Rank"))
    assert 'aria-sort="ascending"' in ascending.text
    descending = browser.get(link(ascending, "Rank"))
    assert 'aria-sort="descending"' in descending.text

    assert shown(ascending)[:2] == ["C000", "C001"]
    assert shown(descending)[:2] == ["C058", "C057"]
    assert link(descending, "Rank") == link(table, "Rank")
    assert headings(descending) == ["code", "rank"]


def test_the_first_column_is_what_people_know_a_record_by(
    browser: Browser, specimens: Company
) -> None:
    specimens.load("contactsExt", {"number": "1", "displayName": "A", "city": "Graz"})
    specimens.load("salesPricesExt", {"entryNo": 1})
    assert headings(page(browser, specimens, "/contactsExt")) == ["number", "displayName", "city"]
    chosen = page(browser, specimens, "/contactsExt", column="city")
    assert headings(chosen) == ["number", "city"]
    assert headings(page(browser, specimens, "/salesPricesExt"))[0] == "entryNo"


def test_columns_are_chosen_on_a_page_of_their_own(browser: Browser, specimens: Company) -> None:
    """The query stays as it is, and the columns stay with it."""
    many(specimens, 9)
    table = page(browser, specimens, "/specimensExt", filter="rank ge 7", orderby="rank desc")

    def choose(answer: httpx.Response, *names: str) -> httpx.Response:
        form = forms_of(browser.get(link(answer, "Columns")))[-1]
        columns = {text for name, text in form.fields if name == "column"}
        # a column that is empty on the page is not shown
        assert columns >= set(headings(answer)[1:])
        fields = [each for each in form.fields if each[0] != "column"]
        fields += [("column", each) for each in names]
        return browser.get(f"{form.action}?{urlencode(fields)}")

    chosen = choose(choose(table, "rank", "text"), "text")

    assert (headings(chosen), shown(chosen)) == (["code", "text"], ["C008", "C007"])
    run = next(each for each in forms_of(chosen) if "orderby" in dict(each.fields))
    assert ("column", "text") in run.fields
    assert headings(choose(chosen)) == headings(table)


def test_a_column_is_shown_once(browser: Browser, specimens: Company) -> None:
    many(specimens, 3)
    once = page(browser, specimens, "/specimensExt", column="text")
    repeated = "&".join(["column=text", "column=nothing"] * 400)

    answer = browser.get(f"/console/records/specimensExt?company={specimens.id}&{repeated}")

    assert answer.text.partition("<main")[2] == once.text.partition("<main")[2]


def rows_of(answer: httpx.Response) -> list[list[str]]:
    """The texts of the cells of a table, row by row."""
    body = answer.text.partition("<tbody")[2].partition("</tbody>")[0]
    return [
        [unescape(re.sub("<[^>]*>", "", each)) for each in re.findall(r"<t[hd] .*?</t[hd]>", row)]
        for row in body.split("</tr>")[:-1]
    ]


def place_of(answer: httpx.Response) -> str:
    """The numbers of the records of a page among all of them."""
    found = re.search(r'aria-label="Pages">\s*<span>(.*?)</span>', text_of(answer))
    assert found is not None
    return found[1]


def counted(browser: Browser, address: str) -> httpx.Response:
    """The page at an address with the number of all records, which is left out if it takes long."""

    def look() -> httpx.Response | None:
        answer = browser.get(address)
        return answer if " of " in place_of(answer) else None

    return until(look, "counted")


def clicks(answer: httpx.Response) -> list[tuple[str, str]]:
    """The fields that a click on a value adds to the address."""
    found = re.findall(r'<button name="(is[.].*?)" value="(.*?)">', answer.text)
    return [(name, unescape(exact)) for name, exact in found]


def test_records_are_sorted_by_what_people_know_them_by(
    browser: Browser, specimens: Company
) -> None:
    many(specimens, 9)
    specimens.load("contactsExt", *({"number": f"{9 - number}"} for number in range(9)))
    specimens.load("salesPricesExt", *({"entryNo": 9 - number} for number in range(9)))

    for name, first in (("specimensExt", "code"), ("contactsExt", "number")):
        table = page(browser, specimens, f"/{name}")
        assert shown(table) == sorted(shown(table))
        heads = re.findall(r'title="(\w+): [^>]*aria-sort="ascending"', table.text)
        assert heads == [first]
    assert shown(page(browser, specimens, "/salesPricesExt")) == list("123456789")


def test_a_page_says_where_it_is_and_leads_on_and_back(
    browser: Browser, specimens: Company
) -> None:
    many(specimens, 120)
    address = f"/console/records/specimensExt?company={specimens.id}&filter=rank%20ge%2010"
    first = counted(browser, f"{address}&orderby=rank%20desc")
    second = counted(browser, next_of(first))
    third = browser.get(next_of(second))

    assert [place_of(each) for each in (first, second, third)] == [
        *(f"1{TO}50 of 110", f"51{TO}100 of 110", f"101{TO}110 of 110")
    ]
    assert shown(browser.get(link(third, "Previous"))) == shown(second)
    again = browser.get(link(browser.get(link(third, "Previous")), "Previous"))
    assert (shown(again), place_of(again)[:4]) == (shown(first), f"1{TO}50")
    assert ">Previous</a>" not in again.text
    assert ">Next</a>" not in third.text
    for hostile in ("-1", "x", "²", "9" * 400):
        answer = page(browser, specimens, "/specimensExt", skip=hostile)
        assert answer.status_code == 200


def test_another_company_has_the_same_query_from_its_first_record(
    browser: Browser, specimens: Company, specimen_service: Service
) -> None:
    other = specimen_service.new_company()
    many(specimens, 120)
    many(other, 60)
    first = page(browser, specimens, "/specimensExt", filter="rank ge 10", orderby="rank desc")
    chooser = forms_of(browser.get(next_of(first)))[0]

    fields = urlencode({**dict(chooser.fields), "company": other.id})
    answer = browser.get(f"/console/records/specimensExt?{fields}")

    assert shown(answer)[0] == "C059"
    assert place_of(answer) == f"1{TO}50 of 50"


def test_a_record_leads_back_to_the_page_of_the_list(browser: Browser, specimens: Company) -> None:
    many(specimens, 120)
    first = page(browser, specimens, "/specimensExt", filter="text ne 'a'", column="rank")
    second = browser.get(next_of(first))
    record = link(second, shown(second)[2])
    fields = dict(parse_qsl(urlsplit(record).query))

    back = {"company": specimens.id, "back": fields["back"], "key": fields["key"]}
    assert fields == back
    assert f'id="row-{fields["key"]}"' in second.text
    again, _, place = link(browser.get(record), "Specimens ext").partition("#")
    assert place == f"row-{fields['key']}"
    assert browser.get(again).text.partition("<main")[2] == second.text.partition("<main")[2]
    script = "filter=%22%3E%3Cscript%3E"
    for hostile in ("//example.com", "javascript:alert(1)", script, "a" * 9_999):
        answer = page(browser, specimens, "/specimensExt/record", key=fields["key"], back=hostile)
        assert answer.status_code == 200
        assert f'href="{hostile}' not in answer.text
        assert "<script>" not in answer.text.partition("<main")[2]


def test_a_click_on_a_value_adds_it_to_the_filter(browser: Browser, specimens: Company) -> None:
    texts = ("O'Hara", 'a "b" & <c>', "x or y", " blank ", "é😀", "(", "50 %+1")
    for number, text in enumerate(texts):
        values: Record = {"code": f"C{number}", "text": text, "amount": 1.5, "active": number == 0}
        times = {"day": "2026-01-02", "moment": "2026-01-02T03:04:05Z"}
        specimens.load("specimensExt", {**values, **times, "reference": GUID})
    columns = ("text", "amount", "active", "day", "moment", "reference", "series")
    query = urlencode([("company", specimens.id), *(("column", each) for each in columns)])
    address = f"/console/records/specimensExt?{query}"
    table = browser.get(address)

    def check(field: tuple[str, str]) -> None:
        narrowed = browser.get(f"{address}&{urlencode([('filter', 'true or false'), field])}")
        condition = f"(true or false) and {field[0].removeprefix('is.')} eq "
        assert f'value="{condition}' in text_of(narrowed)
        expected = [row[0] for row in rows_of(table) if field in own[row[0]]]
        assert shown(narrowed) == expected

    cells = table.text.partition("<tbody")[2].split("</tr>")[:-1]
    own = {
        row[0]: clicks(httpx.Response(200, text=cell))
        for row, cell in zip(rows_of(table), cells, strict=True)
    }
    assert {len(each) for each in own.values()} == {6}
    check_all(sorted({each for found in own.values() for each in found}), check)


def test_long_texts_and_lines_are_shown_and_not_filtered_by(
    browser: Browser, specimens: Company
) -> None:
    specimens.load("specimensExt", {"code": "A", "text": "x" * 4_000, "mirrored": "a\nb"})
    table = page(browser, specimens, "/specimensExt", column="text")
    assert rows_of(table) == [["A", "x" * 79 + "…"]]
    assert clicks(table) == []
    assert clicks(page(browser, specimens, "/specimensExt", column="mirrored")) == []


def test_examples_work_as_they_stand(browser: Browser, specimens: Company) -> None:
    for number in ("1", "2"):
        named: Record = {"number": number, "displayName": f"O'Hara {number}", "city": "Graz"}
        specimens.load("contactsExt", named)
    specimens.load("salesPricesExt", {"entryNo": 1, "unitPrice": 2.5, "assetNumber": "I'1"})
    many(specimens, 3)
    for name in ("contactsExt", "salesPricesExt", "specimensExt"):
        table = page(browser, specimens, f"/{name}")
        found = re.findall(r'<a href="([^"]*)"><code>(.*?)</code></a>', table.text)
        assert found
        for address, _ in found:
            assert shown(browser.get(unescape(address)))
    texts = [unescape(text) for _, text in found]
    assert texts[:2] == ["rank ge 0", "contains(text,'text')"]


def test_columns_that_are_empty_on_the_page_are_named_instead(
    browser: Browser, specimens: Company
) -> None:
    specimens.load("contactsExt", {"number": "1", "displayName": "A"})
    table = page(browser, specimens, "/contactsExt")
    assert headings(table) == ["number", "displayName"]
    left = "Empty on this page, so not shown: Type, Company name, City, Phone number, Email."
    assert left in text_of(table)
    assert "Empty on this page" not in page(browser, specimens, "/itemsExt").text


def test_pages_follow_each_other_in_each_profile(of_profile: tuple[Company, Browser]) -> None:
    company, browser = of_profile
    other = company.admin.add_company(company, "Pages")
    other.load("itemsExt", *({"number": f"I{number:03}"} for number in range(60)))

    first = page(browser, other, "/itemsExt", orderby="number")
    second = browser.get(next_of(first))

    assert shown(first) + shown(second) == [f"I{number:03}" for number in range(60)]


def test_a_wrong_filter_is_shown_again_with_a_caret(browser: Browser, specimens: Company) -> None:
    typed = {"filter": "rank eqq 1", "search": "<b>", "column": "rank"}
    answer = page(browser, specimens, "/specimensExt", **typed)

    assert answer.status_code == 400
    assert 'value="rank eqq 1"' in answer.text
    assert typed.items() <= dict(forms_of(answer)[-1].fields).items()
    assert 'value="&lt;b&gt;"' in answer.text
    assert 'rank <span class="at">e<span class="caret">^</span></span>qq 1' in answer.text
    assert "at column 6 of $filter" in text_of(answer)
    ended = page(browser, specimens, "/specimensExt", filter="rank eq")
    assert 'rank eq<span class="at"> <span class="caret">^</span></span>' in ended.text
    long = "rank eq 1 or " * 9
    inside = page(browser, specimens, "/specimensExt", filter=f"{long}rank eqq 1 or {long}")
    around = text_of(inside).partition("…")[2].partition("…")[0]
    assert len(re.sub("<[^>]*>", "", around)) == 60 + len("e^") + 60


@together(
    ("option", "text", "part"),
    [
        ("filter", "nothing eq 1", "specimen has no property 'nothing' at column 1 of $filter"),
        ("orderby", "rank down", "of $orderby"),
        ("search", '"open', "of $search"),
        ("skiptoken", "wrong", "$skiptoken"),
    ],
)
def test_each_error_of_a_query_is_explained(
    option: str, text: str, part: str, browser: Browser, specimens: Company
) -> None:
    answer = page(browser, specimens, "/specimensExt", **{option: text})

    assert answer.status_code == 400
    assert part in text_of(answer)
    assert 'aria-invalid="true"' in answer.text or option == "skiptoken"


def test_a_query_is_shown_as_curl_and_as_json(browser: Browser, specimens: Company) -> None:
    many(specimens, 3)
    answer = page(browser, specimens, "/specimensExt", filter="code eq 'C001'", column="rank")

    document = browser.get(link(answer, "As JSON"))
    assert document.headers["content-type"] == "application/json"
    [record] = msgspec.json.decode(document.content)["value"]
    del record["@odata.etag"], record["id"]
    assert record == {"code": "C001", "rank": 1}
    path = f"companies({specimens.id})/specimensExt?$filter=code%20eq%20%27C001%27"
    assert 'curl -sS -H "Authorization: Bearer $TOKEN"' in text_of(answer)
    assert f"/api/{path}&$orderby=code,series&$select=code,rank,id'" in text_of(answer)


def test_what_does_not_exist(browser: Browser, specimens: Company) -> None:
    unknown = page(browser, specimens, "/specimenExt")
    assert (unknown.status_code, "Did you mean specimensExt?" in unknown.text) == (404, True)
    gone = "deadbeef-dead-4eef-8ead-deadbeefdead"
    deleted = page(browser, specimens, "/specimensExt/record", key=gone)
    assert deleted.status_code == 404
    assert "If it was deleted, find its delete in the list of changes" in deleted.text
    assert page(browser, specimens, "/specimensExt/record", key="x").status_code == 400


def test_any_text_is_a_key(browser: Browser, specimens: Company) -> None:
    key = "a/b?c#d'e%20 é😀\"<"
    specimens.load("unitsOfMeasureExt", {"code": key, "displayName": "Odd"})

    table = page(browser, specimens, "/unitsOfMeasureExt")
    [name] = shown(table)
    address = f"/console/records/unitsOfMeasureExt/record?company={specimens.id}&key={quote(key)}"

    assert name == key
    assert "<bdi>Odd</bdi>" in browser.get(address).text


@ON_SQLITE
def test_records_cannot_inject_markup(browser: Browser, specimens: Company) -> None:
    for entity_set in WITH_SPECIMENS.stored:
        texts: dict[str, str | int | float | bool] = {
            each.name: SCRIPT
            for each in entity_set.type.properties
            if each.type.edm_name == "Edm.String" and each.type.facets
        }
        name, key = entity_set.name, entity_set.type.key
        if key not in texts:
            texts[key] = SAMPLES.get(name, {}).get(key) or GUID
        specimens.load(name, texts)
        table = page(browser, specimens, f"/{name}", filter="true")
        record = page(browser, specimens, f"/{name}/record", key=str(texts[key]))
        delete = page(browser, specimens, f"/{name}/record/delete", key=str(texts[key]))

        assert record.status_code == 200
        for answer in (table, record, delete):
            assert "<script>alert" not in answer.text
            assert 'alert(1)</script>"' not in answer.text


GUID = "5d115c9c-44e3-4a11-bb43-000d3a2feca1"


def test_secrets_are_on_no_page(browser: Browser, specimens: Company) -> None:
    canary = "canary-5f1e"
    specimens.load("contactsExt", {"id": GUID, "displayName": "A", "onlinePassword": canary})
    columns = {"column": "onlinePassword", "filter": "displayName eq 'A'"}

    pages = [
        page(browser, specimens, "/contactsExt", **columns),
        page(browser, specimens, "/contactsExt/json", **columns),
        page(browser, specimens, "/contactsExt/csv", **columns),
        page(browser, specimens, "/contactsExt/record", key=GUID),
        page(browser, specimens, "/contactsExt/record/delete", key=GUID),
    ]

    for answer in pages:
        assert answer.status_code == 200
        assert canary not in answer.text
    assert "•••" in pages[3].text
    assert page(browser, specimens, "/contactsExt", filter=f"onlinePassword eq '{canary}'").is_error
