"""Sends the requests of the corpus to a service."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from email.utils import format_datetime
from pathlib import Path

import httpx
import msgspec

from support.client import Client
from support.companies import Company, Row
from support.corpus import FOLDER, Case, filled

_DECODER: msgspec.json.Decoder[Row] = msgspec.json.Decoder(float_hook=Decimal)


def load_data(company: Company, folder: Path = FOLDER) -> None:
    """Load the records of a folder of the corpus."""
    for path in sorted((folder / "data").glob("*.ndjson")):
        company.load(path.stem, *map(_DECODER.decode, path.read_bytes().splitlines()))


def known_values(company: Company, root: Client) -> dict[str, str]:
    """The values that every request of the corpus may name."""
    return {
        "company": company.id,
        "base": root.root,
        "origin": root.root.removesuffix("/api"),
        "now": format_datetime(datetime.now(UTC), usegmt=True),
    }


def in_json(values: Mapping[str, str]) -> dict[str, str]:
    """The same values as they are within a text in JSON."""
    return {name: msgspec.json.encode(value)[1:-1].decode() for name, value in values.items()}


def ask(
    case: Case, company: Company, root: Client, values: Mapping[str, str] | None = None
) -> httpx.Response:
    """Send a request of the corpus: to the company's address, to the root, or to a whole URL."""
    known = known_values(company, root) if values is None else values
    client: Client = company
    path, query = case.address(known)
    if path.startswith("/"):
        client, path = root, path.removeprefix("/")
    elif path.startswith("http"):
        client, path = replace(root, root=path), ""
    body = None if case.body is None else filled(case.body, in_json(known)).encode()
    headers = {name: filled(value, known) for name, value in case.headers.items()}
    if headers.get("Authorization") == "":
        client = client.using(headers.pop("Authorization"))
    return client.request(case.method, path, query, body, headers)
