"""The eleven operations, by the tables and examples of the interface."""

from support.companies import Company
from support.contract import FIELDS, assert_follows, without_control
from support.samples import PATHS, SAMPLES
from support.together import together


@together("resource", [name for name in FIELDS if name != "filteredItemAttributesExt"])
def test_a_record_reads_as_it_was_loaded(resource: str, stocked: Company) -> None:
    """Every property has its value, order and type."""
    read = stocked.record(PATHS[resource])

    assert_follows(resource, read)
    assert without_control(read) == SAMPLES[resource]
    assert stocked.listed(resource) == [{k: v for k, v in read.items() if k != "@odata.context"}]
