"""The profiles as data: each difference has a row, and each row a test."""

from pathlib import Path
from string import Formatter

import pytest
from profile_differences import differences, rows

from comptoir.config import load_settings
from comptoir.errors.table import ERROR_TABLE
from comptoir.features.business_central import CURRENT
from comptoir.features.business_central.profile import business_central
from comptoir.profiles.record import STANDARD, Profile
from support.profiles import cases, elsewhere

ROOT = Path(__file__).parents[2]
BUSINESS_CENTRAL = business_central(CURRENT)
PROFILES = {"standard": STANDARD, "business-central": BUSINESS_CENTRAL}


def test_each_difference_belongs_to_one_row() -> None:
    differing = [each.leaf for each in differences(STANDARD, BUSINESS_CENTRAL)]
    assert sorted(part for row in rows().values() for part in row.parts) == sorted(differing)


def test_a_profile_does_not_differ_from_itself() -> None:
    assert list(differences(BUSINESS_CENTRAL, BUSINESS_CENTRAL)) == []


def test_each_row_has_a_test_and_each_case_a_row() -> None:
    tested = [*(case.rows for case in cases()), *(each.rows for each in elsewhere())]
    assert {row for each in tested for row in each} == rows().keys()


def test_each_test_elsewhere_exists() -> None:
    for each in elsewhere():
        file, _, name = each.test.partition("::")
        line = f"\n## {name} | " if file.endswith(".txt") else f"def {name}("
        assert line in (ROOT / file).read_text(), each.test


def test_the_ids_of_cases_are_unique() -> None:
    ids = [each.id for each in cases()]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_messages_by_code_need_no_facts(profile: Profile) -> None:
    """A refusal without a condition has none."""
    for override in profile.codes.values():
        assert [name for _, name, _, _ in Formatter().parse(override.message) if name] == []
    assert profile.codes.keys() <= {each.code for each in ERROR_TABLE}


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_the_defaults_of_a_profile_are_valid(profile: Profile) -> None:
    """A profile's settings exist, and the check of what an operator sets accepts them."""
    given = {name: str(value) for name, value in profile.settings.items()}
    settings = load_settings(given, environment={})
    assert {name: getattr(settings, name) for name in given} == dict(profile.settings)


def test_a_value_of_the_operator_wins_over_the_default_of_the_profile() -> None:
    given = {"COMPTOIR_PROFILE": "business-central", "COMPTOIR_CLIENT_RATE": "1/10s"}
    settings = load_settings({"query_bytes": 500}, given)
    assert (settings.client_rate, settings.query_bytes, settings.running_requests) == (
        "1/10s",
        500,
        5,
    )
