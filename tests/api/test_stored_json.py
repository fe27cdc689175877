"""The JSON that is stored with a record is sent as long as it has the record's current values."""

from collections.abc import Callable, Mapping, Sequence

import pytest

from comptoir.edm.record_json import LONGEST_JSON
from comptoir.store.store import JSON_SLICE
from support.batches import documents
from support.client import Record, encoded, page, pages, record, tag_of, values
from support.companies import Company
from support.contract import FIELDS, assert_follows, without_control
from support.databases import run_sql
from support.mirror import Mirror
from support.samples import PATHS, SAMPLES
from support.service import Service
from support.specimen import SPECIMEN
from support.statements import statements_of
from support.together import together

SPECIMENS = "specimensExt"
COUNT = JSON_SLICE + 3
LATER = 1_000_000
"""Added to a version by the writes of an earlier release."""

ODD_TEXTS = (
    *('"quoted"', "back\\slash", "Zoë 北京 😀", "tab\there", "o'clock", "", "</script>\u2028"),
    *("ends,", 'a","rank":1,'),
)
BARE = {"Accept": "application/json;odata.metadata=none"}
FULL = {"Accept": "application/json;odata.metadata=full"}

NAMES = list(SPECIMEN.by_name)

Places = Sequence[int]


def key(place: int) -> str:
    return f"{place:08x}-0000-4000-8000-000000000000"


def address(place: int) -> str:
    return f"{SPECIMENS}({key(place)})"


def specimen(place: int) -> Record:
    """A specimen that is the `place`th of its company in the order of the keys."""
    return {
        "id": key(place),
        "code": f"C{place * 7919 % 10_007:05}",
        "series": f"S{place % 5}",
        "rank": place + 1,
        "text": f"{place % 3}{ODD_TEXTS[place % len(ODD_TEXTS)]}",
        "mirrored": "",
        "amount": f"{place % 7 - 3}.{place % 4}",
        "rate": f"{place % 10}.00001",
        "active": place % 2 == 0,
        "reference": key(place % 11),
        "day": f"2024-02-{place % 29 + 1:02}",
        "moment": f"2024-02-29T12:{place % 60:02}:00.{place % 10:03}Z",
        "content": "SGVsbG8=" if place % 2 else "",
    }


def load(company: Company, places: Places) -> Company:
    rows = [specimen(place) for place in places]
    amounts = [{**row, "amount": float(row["amount"]), "rate": float(row["rate"])} for row in rows]
    company.load(SPECIMENS, *amounts)
    return company


def run(company: Company, statement: str, places: Places) -> None:
    """Run an update of specimens, `{set}` being its changes."""
    keys = ", ".join(f"'{key(place)}'" for place in places)
    run_sql(
        company.admin.settings.database,
        f'UPDATE "{SPECIMENS}" SET {statement} WHERE company_id = :company AND id IN ({keys})',
        company=company.id,
    )


def without(company: Company, places: Places) -> None:
    """As an earlier release inserts records."""
    run(
        company,
        "record_json = NULL, json_version = NULL, json_layout = NULL, mirrored = 'inserted'",
        places,
    )


def of_another_version(company: Company, places: Places) -> None:
    """As an earlier release updates records."""
    changes = (
        f"mirrored = 'updated', active = 1 - active, record_version = record_version + {LATER}"
    )
    run(company, changes, places)


def of_another_layout(company: Company, places: Places) -> None:
    """As a release with other properties writes records."""
    run(company, "mirrored = 'other', json_layout = json_layout + 1", places)


def too_long(company: Company, places: Places) -> None:
    """Records whose JSON exceeds the limit."""
    for place in places:
        changed = company.patch(address(place), {"content": "QUJD" * 1_000}, "*")
        assert len(changed.content) > LONGEST_JSON


Change = Callable[[Company, Places], None]
OUTDATED: Sequence[Change] = (without, of_another_version, of_another_layout)


def of_columns(company: Company, query: str = "") -> list[Record]:
    """The records of a query by their columns, from a format that is not stored."""
    whole = {**FULL, "Prefer": "odata.maxpagesize=20000"}
    return [plain(each) for each in values(company.get(SPECIMENS, query, whole))]


def plain(found: Record) -> Record:
    """The properties of a record and its ETag."""
    return {name: found[name] for name in found if "@" not in name or name == "@odata.etag"}


def turned(company: Company, query: str, size: int) -> list[Record]:
    """The records of a query by pages of a size, from the JSON that is stored."""
    return [plain(each) for some in pages(company, SPECIMENS, query, size) for each in some]


@pytest.fixture(scope="module")
def series(specimen_service: Service) -> Company:
    """Many specimens, which tests must not change."""
    company = load(specimen_service.new_company(), range(1_001))
    company.catch_up(SPECIMENS)
    return company


@together(
    "request_of",
    [
        address(3),
        f"{SPECIMENS}?$top=600",
        f"{SPECIMENS}?$orderby=rate desc&$count=true",
        f"{SPECIMENS}?$filter=active&$orderby=day&$skip=5",
        f"{SPECIMENS}?$select=id,code,rank,text,content",
    ],
)
@together("form", [{}, BARE])
def test_a_response_without_addresses_reads_only_the_json(
    form: Mapping[str, str], request_of: str, series: Company
) -> None:
    path, _, query = request_of.partition("?")

    answer, statements = statements_of(lambda: series.get(path, query, form))

    assert answer.status_code == 200, answer.text
    assert [each for each in statements if "record_json" in each]
    assert not [each for each in statements if "reference" in each]


@together("form", [{}, BARE])
@together("names", [NAMES[:5], NAMES[::-2], NAMES[-5:], NAMES[1:], NAMES[4:6], NAMES[:1], NAMES])
@together("long", [[], ["content"]])
def test_selected_properties_are_those_of_the_whole_record(
    long: Sequence[str], names: Sequence[str], form: Mapping[str, str], series: Company
) -> None:
    query = encoded({"$orderby": "amount,text", "$top": 60})
    select = f"$select={','.join([*names, *long])}"

    selected = page(series.get(SPECIMENS, f"{query}&{select}", form)).value

    kept = {"@odata.etag", *names, *long}
    whole = page(series.get(SPECIMENS, query, form)).value
    assert selected == [{name: each[name] for name in each if name in kept} for each in whole]
    assert [list(each) for each in selected] == [
        [name for name in each if name in kept] for each in whole
    ]


@together("size", [1, 25, 255, 256, 257, 511, 512, 513, 1_000, 1_001])
def test_pages_of_any_size_have_every_record_once(size: int, series: Company) -> None:
    expected = range(1_001) if size > 1 else range(1_001)[-30:]
    query = "" if size > 1 else encoded({"$filter": f"rank gt {1_001 - 30}"})

    found = turned(series, query, size)

    assert [each["id"] for each in found] == [key(place) for place in expected]
    assert found == of_columns(series, query)


@together("descending", ["", " desc"])
@together("name", [name for name in SPECIMEN.by_name if name != "content"])
def test_a_page_continues_after_a_value_of_any_type(
    name: str, descending: str, series: Company
) -> None:
    query = encoded({"$orderby": f"{name}{descending}", "$filter": "rank le 300"})

    found = turned(series, query, 97)

    assert found == of_columns(series, query)
    assert len(found) == 300


@pytest.mark.parametrize("change", [*OUTDATED, too_long])
def test_a_page_has_the_current_values_of_each_record(change: Change, specimens: Company) -> None:
    load(specimens, range(COUNT))
    for place in (0, 24, 25, JSON_SLICE - 1, JSON_SLICE, COUNT - 1):
        change(specimens, [place])

        expected = of_columns(specimens)
        assert [each["id"] for each in expected] == [key(each) for each in range(COUNT)]
        for size in (JSON_SLICE + 1, 1_000):
            assert turned(specimens, "", size) == expected
        # a write stores the JSON again, so that the next place is the only one
        specimens.patch(address(place), {"content": "", "rank": 2 * COUNT + place}, "*")


QUERIES: Sequence[Mapping[str, str | int]] = (
    {"$filter": "active"},
    {"$filter": "contains(mirrored, 'd')", "$orderby": "amount desc,text"},
    {"$orderby": "text desc"},
    {"$orderby": "mirrored,moment"},
    {"$skip": 255},
    {"$skip": 26, "$top": 3},
    {"$top": 30, "$count": "true"},
    {"$filter": "rank gt 30", "$top": 60},
    {"$search": "北京", "$top": 40},
    {"$search": "updated OR inserted OR other"},
)


@pytest.mark.parametrize("change", OUTDATED)
def test_any_query_returns_the_current_values(change: Change, specimens: Company) -> None:
    load(specimens, range(300))
    change(specimens, [*range(27, 300, 29)])
    # as a service does after many writes: PostgreSQL would expect one record, and search for each
    run_sql(specimens.admin.settings.database, f'ANALYZE "{SPECIMENS}"')
    for query in map(encoded, QUERIES):
        found = turned(specimens, query, 10)
        assert found == of_columns(specimens, query) == turned(specimens, query, 1_000)


@pytest.mark.parametrize("change", [*OUTDATED, too_long])
def test_a_read_by_key_has_the_current_values(change: Change, specimens: Company) -> None:
    load(specimens, range(3))
    before = tag_of(specimens.get(address(1)))
    change(specimens, [1])

    answer = specimens.get(address(1))

    read_by_columns = specimens.get(address(1), headers=FULL)
    assert plain(record(answer)) == plain(record(read_by_columns))
    tag = tag_of(answer)
    assert tag == tag_of(read_by_columns) == record(answer)["@odata.etag"]
    assert (tag == before) == (change in (without, of_another_layout))
    assert specimens.get(address(1), headers={"If-None-Match": tag}).status_code == 304
    if tag != before:
        assert specimens.get(address(1), headers={"If-None-Match": before}).status_code == 200
    head = specimens.request("HEAD", address(1))
    assert (tag_of(head), head.content) == (tag, b"")
    assert head.headers["content-length"] == str(len(answer.content))


@pytest.mark.parametrize("change", OUTDATED)
def test_a_batch_and_compressed_responses_have_the_current_values(
    change: Change, specimens: Company
) -> None:
    load(specimens, range(40))
    change(specimens, [30])
    alone = [specimens.get(address(30)), specimens.get(SPECIMENS)]

    batch = documents(
        specimens,
        {"id": "0", "method": "GET", "url": address(30)},
        {"id": "1", "method": "GET", "url": SPECIMENS},
    )

    assert [bytes(batch[each].body) for each in "01"] == [each.content for each in alone]
    compressed = specimens.get(SPECIMENS, headers={"Accept-Encoding": "gzip"})
    assert compressed.headers["content-encoding"] == "gzip"
    assert compressed.content == alone[1].content
    assert record(alone[0])["mirrored"] in ("inserted", "updated", "other")


@pytest.mark.parametrize("change", OUTDATED)
def test_a_write_stores_the_json_again(change: Change, specimens: Company) -> None:
    load(specimens, range(3))
    change(specimens, [1])

    changed = record(specimens.patch(address(1), {"text": 'new "\\ é'}, "*"))

    assert plain(record(specimens.get(address(1)))) == plain(changed)
    of_their_version = (
        f'SELECT count(record_json) FROM "{SPECIMENS}"'
        " WHERE company_id = :company AND json_version = record_version"
    )
    database = specimens.admin.settings.database
    assert run_sql(database, of_their_version, company=specimens.id) == [(3,)]


def test_a_client_that_tracks_changes_has_the_current_values(specimens: Company) -> None:
    load(specimens, range(60))
    without(specimens, [0, 30])
    mirror = Mirror(specimens, SPECIMENS)
    specimens.patch(address(30), {"text": "changed"}, "*")

    mirror.catch_up()

    held = {str(each["id"]): plain(each) for each in mirror.records.values()}
    assert held == {str(each["id"]): each for each in of_columns(specimens)}


@together("resource", PATHS)
def test_a_record_reads_as_it_was_loaded_in_every_format(resource: str, stocked: Company) -> None:
    """Every property has its value, order and type.

    The full format is encoded from the columns, and the others from the stored JSON.
    """
    for path in (PATHS[resource], f"{resource}?$top=1"):
        default, full, none = (one(stocked, path, headers) for headers in ({}, FULL, BARE))
        if resource in FIELDS:
            assert_follows(resource, default)
        assert without_control(default) == SAMPLES[resource]
        assert plain(full) == plain(default)
        assert list(none.items()) == [each for each in default.items() if "@" not in each[0]]


def one(company: Company, path: str, headers: Mapping[str, str]) -> Record:
    """A record, or the only one of a page."""
    address, _, query = path.partition("?")
    answer = company.get(address, query, headers)
    return page(answer).value[0] if query else record(answer)
