"""Fills the database of the peer with the records of the service."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from calls import walk
from processes import Server
from sqlalchemy import insert
from wrk import Scenario

from peer.app import engine_of
from peer.models import Base, Contact, Customer

_Record = dict[str, str | float | bool]

_CAPITAL = re.compile(r"[A-Z]")
ETAG = "@odata.etag"


def fill(
    path: Path, company_id: str, service: Server, contacts: Scenario, customers: Scenario
) -> None:
    """Write the records of a service, as it sends them, into a new database."""
    engine = engine_of(path)
    Base.metadata.create_all(engine)
    for model, scenario in ((Contact, contacts), (Customer, customers)):
        for page in walk(service, scenario):
            records = [msgspec.json.decode(each, type=_Record) for each in page.value]
            with engine.begin() as connection:
                connection.execute(insert(model), list(_rows(company_id, records)))
    engine.dispose()


def _rows(company_id: str, records: Sequence[_Record]) -> Iterator[Mapping[str, object]]:
    names = {name: _CAPITAL.sub(_lower, name) for name in records[0] if name != ETAG}
    for record in records:
        # an ETag ends in the version, as in W/"a3fa8c5e.22"
        version = int(str(record[ETAG]).rpartition(".")[2].rstrip('"'))
        columns = {column: record[name] for name, column in names.items()}
        yield {"company_id": company_id, "version": version, **columns}


def _lower(capital: re.Match[str]) -> str:
    return f"_{capital[0].lower()}"
