"""Write items, prices and customers to Parquet files, for reports: one file for each entity set."""

import os
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import requests
from requests.adapters import HTTPAdapter
from urllib3 import Retry

Json = dict[str, Any]

SETS = ("itemsExt", "salesPricesExt", "customersExt")

TYPES: dict[str, tuple[pa.DataType, Callable[[Any], object]]] = {
    "Edm.String": (pa.string(), str),
    "Edm.Guid": (pa.string(), str),
    "Edm.Boolean": (pa.bool_(), bool),
    "Edm.Int32": (pa.int32(), int),
    "Edm.Decimal": (pa.decimal128(18, 5), Decimal),
    "Edm.Date": (pa.date32(), date.fromisoformat),
    "Edm.DateTimeOffset": (pa.timestamp("ms", "UTC"), datetime.fromisoformat),
}
"""The type of a column, and what makes its values of those in JSON."""


def main() -> None:
    """Export to a folder of this day; a file has its name once it is complete."""
    base_url = os.environ["BASE"]
    folder = Path("export", datetime.now(UTC).date().isoformat())
    folder.mkdir(parents=True, exist_ok=True)
    with connect(os.environ["TOKEN"]) as erp:
        metadata = get(erp, f"{base_url}/$metadata?$format=json")
        for name in SETS:
            types = properties(metadata, name)
            schema = pa.schema([(each, TYPES[types[each]][0]) for each in types])
            unfinished = folder / f"{name}.unfinished"
            with pq.ParquetWriter(unfinished, schema) as file:
                for records in pages(erp, f"{base_url}/companies({os.environ['COMPANY']})/{name}"):
                    file.write_batch(batch(records, types, schema))
            written = unfinished.replace(folder / f"{name}.parquet")
            print(f"{written}: {pq.read_metadata(written).num_rows} records")


def connect(token: str) -> requests.Session:
    """A session that sends again what was throttled (429) or refused for a while (503)."""
    patience = Retry(total=8, backoff_factor=0.5, status_forcelist=(429, 503))
    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(max_retries=patience))
    session.headers["Authorization"] = f"Bearer {token}"
    return session


def properties(metadata: Json, name: str) -> dict[str, str]:
    """The types of an entity set's properties; in CSDL JSON, text is the type without a name."""
    namespace, _, container = metadata["$EntityContainer"].rpartition(".")
    model = metadata[namespace]
    entity_type = model[model[container][name]["$Type"].removeprefix(f"{namespace}.")]
    return {
        name: declared.get("$Type", "Edm.String")
        for name, declared in entity_type.items()
        if isinstance(declared, dict) and "$Kind" not in declared
    }


def pages(erp: requests.Session, link: str | None) -> Iterator[list[Json]]:
    """The records of an entity set, page by page, so that a large one fits into memory."""
    while link:
        page = get(erp, link)
        yield page["value"]
        link = page.get("@odata.nextLink")


def batch(records: list[Json], types: dict[str, str], schema: pa.Schema) -> pa.RecordBatch:
    """A page of records as columns."""
    columns = []
    for name, edm in types.items():
        column_type, value = TYPES[edm]
        columns.append(pa.array([value(each[name]) for each in records], column_type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def get(erp: requests.Session, address: str) -> Json:
    """A document, with exact numbers."""
    response = erp.get(address)
    response.raise_for_status()
    document: Json = response.json(parse_float=Decimal)
    return document


if __name__ == "__main__":
    main()
