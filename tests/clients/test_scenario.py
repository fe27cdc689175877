"""Independent clients work unchanged, by nothing but what `$metadata` says."""

import pytest

from clients.conftest import AGENTS, PEOPLE, Report
from comptoir.catalog import MODEL

# the first test of each client waits for a client to be generated
pytestmark = pytest.mark.timeout(600)


def test_metadata_gives_every_kind(report: Report) -> None:
    assert report.entity_sets == sorted(MODEL.by_name)


def test_companies_are_listed_at_the_base_address(report: Report) -> None:
    assert any(each.startswith("Test & Söhne ") for each in report.companies)


def test_a_company_is_expanded_with_its_records(report: Report) -> None:
    assert report.contained == AGENTS


def test_a_filter_finds_its_records_in_order(report: Report) -> None:
    assert report.filtered == ["C0001", "C0003", "C0005", "C0007", "C0009"]


def test_what_a_filter_finds_is_counted(report: Report) -> None:
    assert report.counted == PEOPLE // 2


def test_links_lead_over_every_page(report: Report) -> None:
    assert report.paged == PEOPLE


def test_a_window_is_asked_for_by_skip_and_top(report: Report) -> None:
    assert report.window == ["C2097", "C2096", "C2095"]


def test_a_record_is_read_with_what_it_is_related_to(report: Report) -> None:
    assert report.read == ["Person 1", "Person 0"]


def test_a_record_is_created(report: Report) -> None:
    assert report.created == "Made"


def test_an_update_with_the_current_tag_is_made(report: Report) -> None:
    assert report.updated == ["Changed", "CHANGED"]


def test_an_update_with_a_stale_tag_is_a_conflict(report: Report) -> None:
    assert report.conflict == "HTTP 412"
    assert report.kept == "Changed"


def test_a_record_is_deleted_by_its_current_tag_alone(report: Report) -> None:
    assert report.stale_delete == "HTTP 412"
    assert report.left == 0


def test_a_batch_reads_and_writes(report: Report) -> None:
    assert report.batch == [200, 201, 201, 200]


def test_of_a_changeset_that_fails_nothing_is_left(report: Report) -> None:
    assert 409 in report.failed_batch
    assert report.batched == 2
