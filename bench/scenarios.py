"""The requests for the company with real records, which several measurements share."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from urllib.parse import quote

import msgspec
from company import CONTACTS, CUSTOMERS, PRICES, Measured
from wrk import Scenario, scenario

PAGE = 1_000
BATCH = 100


@dataclass(frozen=True, slots=True)
class Scenarios:
    """The requests of the clients."""

    read: Scenario
    price: Scenario
    price_again: Scenario
    update: Scenario
    pages: Scenario
    create: Scenario
    read_batch: Scenario
    create_batch: Scenario


def scenarios(measured: Measured, folder: Path) -> Scenarios:
    """The scenarios of a company; writes their paths to files in `folder`."""
    headers = {"Authorization": f"Bearer {measured.token}"}
    paging = headers | paged(PAGE)

    def asked(name: str, found: Sequence[str], headers: Mapping[str, str] = headers) -> Scenario:
        return scenario(folder / name, [f"{measured.path}/{each}" for each in found], headers)

    def prices(items: Sequence[str]) -> list[str]:
        filters = [f"assetType eq 'Item' and assetNumber eq '{item}'" for item in items]
        return [f"{PRICES}?$filter={quote(each)}" for each in filters]

    keys = [f"{measured.path}/{CONTACTS}({key})" for key in measured.contacts]
    return Scenarios(
        asked("read-a-customer", [f"{CUSTOMERS}({key})" for key in measured.customers]),
        asked("filter-prices", prices(measured.priced)),
        asked("filter-prices-again", prices(measured.priced[:50])),
        updates(folder / "update-a-contact", keys, headers),
        asked("page-of-contacts", [CONTACTS], paging),
        *_batches(measured, folder, headers | {"Content-Type": "application/json"}),
    )


def paged(size: int) -> dict[str, str]:
    """The header for pages of a size."""
    return {"Prefer": f"odata.maxpagesize={size}"}


def updates(file: Path, paths: Sequence[str], headers: Mapping[str, str]) -> Scenario:
    """Updates of contacts, with a new value each time: one without a difference changes nothing."""
    writing = {**headers, "Content-Type": "application/json", "If-Match": "*"}
    return scenario(file, paths, writing, f'{{"addressLine2":"{token_hex(4)} %d"}}')


def _batches(measured: Measured, folder: Path, headers: Mapping[str, str]) -> Iterator[Scenario]:
    """A single create, a batch of reads and a batch of creates."""
    create = {"method": "POST", "url": CONTACTS, "body": {"displayName": "Batch"}}
    reads = [{"method": "GET", "url": f"{CUSTOMERS}({key})"} for key in measured.customers[:BATCH]]

    def posted(name: str, path: str, content: object) -> Scenario:
        return scenario(
            folder / name, [path], headers, msgspec.json.encode(content).decode(), "POST"
        )

    def batch(requests: Sequence[Mapping[str, object]]) -> Mapping[str, object]:
        return {"requests": [{"id": f"{at}", **each} for at, each in enumerate(requests)]}

    growing = measured.growing_path
    yield posted("create-a-contact", f"{growing}/{CONTACTS}", create["body"])
    yield posted("batch-of-reads", f"{measured.path}/$batch", batch(reads))
    yield posted("batch-of-creates", f"{growing}/$batch", batch([create] * BATCH))
