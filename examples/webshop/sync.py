"""Keep a webshop in step with the ERP: what has changed since the last run, in both directions.

The shop is a JSON file here: its copies of records, the delta links of the last run, and what
customers have changed in their contact data since then.
"""

import json
import os
from pathlib import Path
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3 import Retry

KEYS = {"itemsExt": "id", "salesPricesExt": "entryNo", "contactsExt": "id"}

Record = dict[str, Any]


def main() -> None:
    """Send the customers' changes first: reading would replace what they were based on."""
    address = f"{os.environ['BASE']}/companies({os.environ['COMPANY']})"
    file = Path(os.environ.get("SHOP", "shop.json"))
    shop = json.loads(file.read_text()) if file.exists() else {"edits": {}, "links": {}}
    with connect(os.environ["TOKEN"]) as erp:
        push(erp, f"{address}/contactsExt", shop)
        for kind in KEYS:
            pull(erp, f"{address}/{kind}", kind, shop)
    written = file.with_suffix(".new")
    written.write_text(json.dumps(shop, indent=1))
    written.replace(file)
    print(f"{file}: {', '.join(f'{len(shop[kind])} {kind}' for kind in KEYS)}")


def connect(token: str) -> requests.Session:
    """A session that sends again what was throttled (429) or refused for a while (503)."""
    patience = Retry(total=8, backoff_factor=0.5, status_forcelist=(429, 503), allowed_methods=None)
    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(max_retries=patience))
    session.headers["Authorization"] = f"Bearer {token}"
    return session


def push(erp: requests.Session, contacts: str, shop: Record) -> None:
    """Send each edit with the ETag that it is based on; where both sides changed, the ERP wins."""
    for key, edit in shop["edits"].items():
        known, wanted = shop["contactsExt"][key], edit
        while (response := update(erp, f"{contacts}({key})", known, wanted)).status_code == 412:
            now = erp.get(f"{contacts}({key})").json()
            lost = {name for name in wanted if now[name] not in (known[name], wanted[name])}
            if lost:
                print(f"contact {now['number']}: the ERP has changed {', '.join(sorted(lost))}")
            known, wanted = now, {name: edit[name] for name in wanted if name not in lost}
        if response.status_code != 404:  # the edit of a deleted contact has no use
            response.raise_for_status()
    shop["edits"] = {}


def update(erp: requests.Session, address: str, known: Record, edit: Record) -> requests.Response:
    """Update a record unless it has changed since it was read."""
    return erp.patch(address, json=edit, headers={"If-Match": known["@odata.etag"]})


def pull(erp: requests.Session, address: str, kind: str, shop: Record) -> None:
    """Read what has changed since the last run: all records the first time, and after 410."""
    link = shop["links"].get(kind, address)
    records = {} if link == address else shop[kind]
    while link:
        response = erp.get(link, headers={"Prefer": "odata.track-changes"})
        if response.status_code == 410:  # the delta link is too old
            link, records = address, {}
            continue
        response.raise_for_status()
        page = response.json()
        for record in page["value"]:
            if "reason" in record:  # deleted
                records.pop(record["id"].rpartition("(")[2].rstrip(")"), None)
            else:
                records[str(record[KEYS[kind]])] = record
        link = page.get("@odata.nextLink")
    shop[kind], shop["links"][kind] = records, page["@odata.deltaLink"]


if __name__ == "__main__":
    main()
