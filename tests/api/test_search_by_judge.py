"""A random search over random records finds the same as plain Python, indexed or not."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.companies import Company
from support.effort import examples
from support.search_evaluator import SEARCHES, TEXTS, Search
from support.service import Service

# Records are loaded for each example, so one brings several searches.
many = settings(
    max_examples=examples(30),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
Records = dict[int, tuple[str, str]]
RECORDS = st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=12)
CHANGES = st.dictionaries(st.integers(0, 11), TEXTS, max_size=6)


def load(company: Company, records: Records) -> None:
    company.load("specimensExt", *(row(number, *each) for number, each in records.items()))


def row(number: int, text: str, series: str) -> dict[str, str | int]:
    return {"code": f"#{number}", "rank": number, "text": text, "series": series}


def check(company: Company, records: Records, searches: list[Search]) -> None:
    for search in searches:
        found = company.listed("specimensExt", {"$search": search.text})

        expected = {
            number
            for number, (text, series) in records.items()
            if search.finds([f"#{number}", text, text[::-1], series])
        }
        assert {each["rank"] for each in found} == expected, search.text
        assert len(found) == len(expected)


@many
@given(
    records=RECORDS,
    changes=CHANGES,
    added=RECORDS,
    deleted=st.sets(st.integers(0, 11), max_size=4),
    searches=st.lists(SEARCHES, min_size=3, max_size=8),
    indexes=st.tuples(st.booleans(), st.booleans()),
)
def test_a_search_finds_the_same_as_python(
    specimen_service: Service,
    records: list[tuple[str, str]],
    changes: dict[int, str],
    added: list[tuple[str, str]],
    deleted: set[int],
    searches: list[Search],
    indexes: tuple[bool, bool],
) -> None:
    """Before and after creates, updates and deletes, each time with an index or without."""
    company = specimen_service.new_company()
    held = dict(enumerate(records))
    load(company, held)
    if indexes[0]:
        company.catch_up("specimensExt")
    check(company, held, searches)

    keys = {each["rank"]: each["id"] for each in company.listed("specimensExt")}
    for number in deleted & held.keys():
        path = f"specimensExt({keys[number]})"
        assert company.delete(path, if_match="*").status_code == 204
        del held[number]
    held |= {number: (changes[number], held[number][1]) for number in held.keys() & changes.keys()}
    held |= dict(enumerate(added, len(records)))
    load(company, held)
    if indexes[1]:
        company.catch_up("specimensExt")
    check(company, held, searches)
