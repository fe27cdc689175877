"""`$filter`: values that cannot be computed, templates, and patterns in linear time."""

import pytest

from support.companies import Company, Row
from support.corpus import FOLDER
from support.replay import load_data
from support.service import Service
from support.together import together

ALL = "zero minus plus"


@pytest.fixture(scope="module")
def drawer(specimen_service: Service) -> Company:
    """Three specimens: zero, minus and plus."""
    company = specimen_service.new_company()
    load_data(company, FOLDER / "computing")
    return company


def test_a_fault_does_not_affect_the_next_request(drawer: Company) -> None:
    assert drawer.get("specimensExt", {"$filter": "10 div rank eq 1"}).status_code == 400

    assert len(drawer.listed("specimensExt", {"$filter": "rank add 1 gt -100"})) == 3


@together("text", ["code eq '{}'", "concat(code,'') eq '{}'", "code in ('{}','x')"])
def test_filters_of_one_template_have_their_own_texts(text: str, drawer: Company) -> None:
    for code in ("plus", "zero", "minus", "''", "plus"):
        read = drawer.listed("specimensExt", {"$filter": text.format(code)})
        assert [each["code"] for each in read] == [code] * (code in ALL.split())


def test_patterns_and_durations_are_not_in_templates(drawer: Company) -> None:
    """They are texts in quotes, but their content decides how a filter is bound."""
    for pattern, found in (("^p", 1), ("s$", 2), ("(", None), ("^p", 1), ("o$", 1)):
        answer = drawer.get("specimensExt", {"$filter": f"matchesPattern(code,'{pattern}')"})
        assert answer.status_code == (400 if found is None else 200)
        assert found is None or len(answer.json()["value"]) == found
    for hours, found in (("PT1H", 0), ("P1D", 1), ("x", None), ("P1D", 1)):
        text = f"day sub 2024-02-28 eq duration'{hours}'"
        answer = drawer.get("specimensExt", {"$filter": text})
        assert answer.status_code == (400 if found is None else 200)
        assert found is None or len(answer.json()["value"]) == found


@together("pattern", ["(a*)*b", "(a+)+$", "(a|a)*c", "(.*){1,50}x", "a{50}a{50}b"])
def test_every_pattern_matches_in_linear_time(pattern: str, specimen_service: Service) -> None:
    company = specimen_service.new_company()
    texts: list[Row] = [{"code": f"{n}", "rank": n, "text": "a" * 4_000} for n in range(50)]
    company.load("specimensExt", *texts)

    read = company.listed("specimensExt", {"$filter": f"matchesPattern(text,'{pattern}')"})

    assert len(read) == (50 if pattern == "(a+)+$" else 0)
