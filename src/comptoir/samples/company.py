"""The tables of a sample company, in an order in which each refers to earlier ones."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from comptoir.samples import (
    campaigns,
    contacts,
    customers,
    item_attributes,
    item_references,
    item_texts,
    item_translations,
    items,
    sales_prices,
    shipping_agents,
    units_of_measure,
)
from comptoir.samples.cells import Row
from comptoir.samples.size import SampleSize
from comptoir.samples.world import World, world

_TABLES: tuple[tuple[str, tuple[str, ...], Callable[[World], Iterator[Row]]], ...] = (
    ("unitsOfMeasureExt", units_of_measure.COLUMNS, units_of_measure.rows),
    ("shippingAgentsExt", shipping_agents.COLUMNS, shipping_agents.rows),
    ("campaignsExt", campaigns.COLUMNS, campaigns.rows),
    ("contactsExt", contacts.COLUMNS, contacts.rows),
    ("customersExt", customers.COLUMNS, customers.rows),
    ("itemAttributesExt", item_attributes.COLUMNS, item_attributes.rows),
    ("itemsExt", items.COLUMNS, items.rows),
    ("itemAttributeValuesExt", item_attributes.VALUE_COLUMNS, item_attributes.value_rows),
    ("itemReferencesExt", item_references.COLUMNS, item_references.rows),
    ("itemTranslationsExt", item_translations.COLUMNS, item_translations.rows),
    ("ItemProductTextLongContentsExt", item_texts.COLUMNS, item_texts.rows),
    ("salesPricesExt", sales_prices.COLUMNS, sales_prices.rows),
)


@dataclass(frozen=True, slots=True)
class SampleTable:
    """One kind's records: its entity set, its columns, and the rows, which are made as read.

    The rows can be read more than once, and are the same each time.
    """

    entity_set: str
    columns: tuple[str, ...]
    rows: Iterable[Row]


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a table, made anew at each reading."""

    make: Callable[[World], Iterator[Row]]
    world: World

    def __iter__(self) -> Iterator[Row]:
        return self.make(self.world)


def sample_company(size: SampleSize, seed: int = 1) -> Iterator[SampleTable]:
    """Every table of a sample company, in the text form of loading; references point backwards.

    Each table may be read, in part or not at all, whatever happens to the others.
    """
    made = world(size, seed)
    return (SampleTable(name, columns, _Rows(rows, made)) for name, columns, rows in _TABLES)
