"""The tables of a sample company, and that a seed repeats them."""

from comptoir.catalog import MODEL
from comptoir.samples import COUNTS, SampleSize, sample_company
from samples.reading import Company, small_company
from support.samples import OF_THE_INTERFACE


def test_every_stored_entity_set_of_the_interface_has_one_table() -> None:
    """An entity type that was added later needs no table."""
    names = [table.entity_set for table in sample_company(SampleSize.SMALL)]

    assert sorted(names) == sorted(OF_THE_INTERFACE)
    assert set(names) <= {each.name for each in MODEL.stored}


def test_the_columns_are_the_properties_in_the_order_of_the_interface() -> None:
    for table in sample_company(SampleSize.SMALL):
        declared = MODEL.by_name[table.entity_set].type.properties

        assert table.columns == tuple(each.name for each in declared)


def test_no_table_is_empty(small: Company) -> None:
    assert all(small.values())


def test_the_tables_have_the_numbers_of_records_of_their_size(small: Company) -> None:
    found = {name: len(records) for name, records in small.items()}
    counts = COUNTS[SampleSize.SMALL]

    assert found["contactsExt"] == counts.contacts
    assert found["customersExt"] == counts.customers
    assert found["itemsExt"] == counts.items
    assert found["campaignsExt"] == counts.campaigns
    assert found["shippingAgentsExt"] == counts.shipping_agents


def test_a_small_company_has_some_hundreds_of_records(small: Company) -> None:
    assert 100 < sum(map(len, small.values())) < 1_000


def test_the_same_seed_gives_the_same_company() -> None:
    assert small_company(seed=7) == small_company(seed=7)


def test_another_seed_gives_another_company(small: Company) -> None:
    other = small_company(seed=2)

    for name in ("contactsExt", "customersExt", "itemsExt", "salesPricesExt"):
        assert all(one != another for one, another in zip(small[name], other[name], strict=True))


def test_a_table_can_be_read_again() -> None:
    for table in sample_company(SampleSize.SMALL):
        assert list(table.rows) == list(table.rows)


def test_a_table_does_not_depend_on_what_was_read_of_the_others(small: Company) -> None:
    *_, alone = sample_company(SampleSize.SMALL)

    assert list(alone.rows) == [tuple(each.values()) for each in small[alone.entity_set]]
