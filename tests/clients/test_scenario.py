"""Independent clients work unchanged, by nothing but what `$metadata` says."""

import msgspec
import pytest

from clients.conftest import AGENTS, PEOPLE, Report
from comptoir.catalog import MODEL
from support.databases import ON_SQLITE


@ON_SQLITE  # the database makes no difference to a client
@pytest.mark.timeout(600)  # a client may have to be generated
def test_a_client_does_everything(report: Report) -> None:
    """It lists, counts, reads, and writes with current and stale tags, also in batches."""
    assert any(each.startswith("Test & Söhne ") for each in report.companies)
    assert 409 in report.failed_batch
    assert msgspec.structs.asdict(report) == {
        "entity_sets": sorted(MODEL.by_name),
        "companies": report.companies,
        "contained": AGENTS,
        "filtered": ["C0001", "C0003", "C0005", "C0007", "C0009"],
        "counted": PEOPLE // 2,
        "paged": PEOPLE,
        "window": ["C0042", "C0041", "C0040"],
        "read": ["Person 1", "Person 0"],
        "created": "Made",
        "updated": ["Changed", "CHANGED"],
        "conflict": "HTTP 412",
        "stale_delete": "HTTP 412",
        "kept": "Changed",
        "left": 0,
        "batch": [200, 201, 201, 200],
        "failed_batch": report.failed_batch,
        "batched": 2,
    }
