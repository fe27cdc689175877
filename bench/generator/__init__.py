"""A realistic company, generated from a seed: equal sizes and seeds give equal records.

That holds for one version of mimesis, whose word lists supply names, streets and cities. The rows
are in text form, as in the files that `comptoir load` reads. They are streamed: a record refers to
another by its position, from which the other can be computed again, so memory does not grow with
the size.

No record describes a real person or business: names are random combinations, and e-mail and web
addresses are in the domains that are reserved for examples (RFC 2606).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from generator.blueprint import COUNTS, Blueprint, Counts, SampleSize, blueprint
from generator.contacts import CONTACTS
from generator.customers import CUSTOMERS
from generator.item_texts import LONG_TEXTS, TRANSLATIONS
from generator.items import ATTRIBUTE_VALUES, ATTRIBUTES, ITEMS, REFERENCES
from generator.sales_prices import SALES_PRICES
from generator.setup_tables import CAMPAIGNS, SHIPPING_AGENTS, UNITS_OF_MEASURE
from generator.values import Row

__all__ = ["COUNTS", "Counts", "SampleSize", "SampleTable", "sample_company"]

# each table refers only to earlier ones
_TABLES = (
    UNITS_OF_MEASURE,
    SHIPPING_AGENTS,
    CAMPAIGNS,
    CONTACTS,
    CUSTOMERS,
    ATTRIBUTES,
    ITEMS,
    ATTRIBUTE_VALUES,
    REFERENCES,
    TRANSLATIONS,
    LONG_TEXTS,
    SALES_PRICES,
)


@dataclass(frozen=True, slots=True)
class SampleTable:
    """The records of an entity set; `rows` are generated at each iteration, with equal results."""

    entity_set: str
    columns: tuple[str, ...]
    rows: Iterable[Row]


@dataclass(frozen=True, slots=True)
class _Rows:
    generate: Callable[[Blueprint], Iterator[Row]]
    source: Blueprint

    def __iter__(self) -> Iterator[Row]:
        return self.generate(self.source)


def sample_company(size: SampleSize, seed: int = 1) -> Iterator[SampleTable]:
    """The tables of a sample company; they can be read independently of one another."""
    source = blueprint(size, seed)
    return (
        SampleTable(each.entity_set, each.columns, _Rows(each.rows, source)) for each in _TABLES
    )
