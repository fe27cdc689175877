"""Sends the requests of the corpus to a service."""

from decimal import Decimal
from pathlib import Path

import httpx
import msgspec

from support.client import Client
from support.companies import Cell, Company
from support.corpus import FOLDER, Case

_DECODER = msgspec.json.Decoder(float_hook=Decimal)


def load_data(company: Company, folder: Path = FOLDER) -> None:
    """Load the records of a folder of the corpus."""
    for path in sorted((folder / "data").glob("*.ndjson")):
        rows: list[dict[str, Cell]] = [
            _DECODER.decode(line) for line in path.read_text(encoding="utf-8").splitlines()
        ]
        company.load(path.stem, *rows)


def ask(case: Case, company: Company, root: Client) -> httpx.Response:
    """Send a request of the corpus, to the company's address or to the root."""
    client: Client = company
    path, query = case.address
    if path.startswith("/"):
        client, path = root, path.removeprefix("/")
    path = path.replace("{company}", company.id)
    query = query.replace("%7Bcompany%7D", company.id)
    body = None if case.body is None else case.body.replace("{company}", company.id).encode()
    return client.request(case.method, path, query, body, case.headers)
