"""pybc365: published web services of OData V4, with a web service access key by HTTP Basic."""

import os
from collections.abc import Callable

import httpx
from pybc365 import Client, F, ResponseError, Retry, desc

import clients.business_central_report as shared


def main() -> None:
    with (
        # its own transport heeds no variable that names a proxy
        httpx.HTTPTransport(proxy=os.environ["HTTPS_PROXY"]) as transport,
        Client(
            base_url=f"{shared.HOST}/v2.0/{shared.TENANT}/Production",
            company=shared.COMPANY_NAME,
            auth=httpx.BasicAuth(shared.CLIENT_ID, shared.CLIENT_SECRET),
            page_size=20,
            retry=Retry(max_attempts=3),
            transport=transport,
        ) as client,
    ):
        client.ping()
        shared.print_report({**reads(client), **writes(client)})


def reads(client: Client) -> dict[str, object]:
    contacts, agents = client.service("contactsExt"), client.service(shared.THROTTLED)
    in_lyon = contacts.filter(F.city == "Lyon")
    first = in_lyon.order_by(desc("number")).top(2)
    return {
        "list": len(contacts.all()),
        "filter": [str(each["number"]) for each in first.all()],
        "count": in_lyon.count(),
        "read": contacts.get(F.number == "C001")["displayName"],
        "throttling": [str(each["code"]) for each in agents.all()],
        "metadata": [
            [each.name for each in client.discover_keys("contactsExt")],
            client.discover_write_permissions("contactsExt").insertable,
            client.discover_write_permissions("customersExt").insertable,
        ],
        "fields": [
            [each.declared_editable, each.declared_editable_on_create]
            for name, each in client.discover_fields("unitsOfMeasureExt").items()
            if name in ("code", "symbol")
        ],
        "absent": failure(lambda: contacts.get(F.number == "C999")),
    }


def writes(client: Client) -> dict[str, object]:
    contacts = client.service("contactsExt")
    made = contacts.create({"number": "N1", "displayName": "Made"})
    key, tag = F.number == "N1", made["@odata.etag"]
    changed = contacts.update(key, {"displayName": "Changed"}, etag=tag)
    conflict = failure(lambda: contacts.update(key, {"displayName": "Lost"}, etag=tag))
    kept = contacts.get(key)["displayName"]
    stale_delete = failure(lambda: contacts.delete(key, etag=tag))
    contacts.delete(key, etag=changed["@odata.etag"])
    return {
        "create": made["displayName"],
        "update": changed["displayName"],
        "conflict": [conflict, kept],
        "delete": [stale_delete, failure(lambda: contacts.get(key))],
    }


def failure(request: Callable[[], object]) -> str:
    try:
        request()
    except ResponseError as error:
        return f"{type(error).__name__} {error.status} {error.code}"
    return "no error"


main()
