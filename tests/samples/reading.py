"""A sample company, read whole."""

from comptoir.samples import SampleSize, sample_company

Company = dict[str, list[dict[str, str]]]
"""The records of each entity set, by property."""


def small_company(seed: int = 1) -> Company:
    return {
        table.entity_set: [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        for table in sample_company(SampleSize.SMALL, seed)
    }
