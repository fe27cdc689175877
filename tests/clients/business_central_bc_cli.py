"""bc-cli: it knows the hosts of Microsoft alone, and gets its token there by MSAL."""

import asyncio
import json
import logging
from collections.abc import Awaitable

from bcli import AsyncBCClient, BCLIError, Query, ValidationError

import clients.business_central_report as shared

CONTACTS = "contactsExt"


class Attempts(logging.Handler):
    """Notes how often the client repeated each request."""

    def __init__(self) -> None:
        super().__init__()
        self.repeats: list[int] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.repeats.append(json.loads(record.getMessage())["retry_count"])


async def main() -> None:
    async with AsyncBCClient(
        tenant_id=shared.TENANT,
        client_id=shared.CLIENT_ID,
        client_secret=shared.CLIENT_SECRET,
        environment="Production",
        company_id=shared.COMPANY_ID,
    ) as client:
        report = {**await reads(client), **await writes(client), **await throttled(client)}
        shared.print_report(report)


async def reads(client: AsyncBCClient) -> dict[str, object]:
    everyone = client.query(CONTACTS)
    in_lyon = client.query(CONTACTS).filter("city eq 'Lyon'").filter("startswith(number,'C00')")
    found = await in_lyon.select("number").orderby("number desc").top(2).count().execute()
    custom = client.query(CONTACTS).route("comptoir", "ext", "v1.0").top(5)
    person = await client.get(CONTACTS, await id_of(client, "C001"))
    return {
        "companies": [each["name"] for each in await client.list_companies()],
        "list": len(await everyone.get()),
        "filter": [found.count, [each["number"] for each in found]],
        "paging": [len(page) async for page in await everyone.pages()],
        "custom API": len(await custom.get()),
        "name of Microsoft": len(await client.query("contacts").top(5).get()),
        "read": person.raw["displayName"],
        "unknown property": await hint(client.query(CONTACTS).filter("town eq 'Lyon'").get()),
        "absent": await failure(client.get(CONTACTS, shared.COMPANY_ID)),
    }


async def id_of(client: AsyncBCClient, number: str) -> str:
    (row,) = await client.query(CONTACTS).filter(f"number eq '{number}'").get()
    return str(row["id"])


async def writes(client: AsyncBCClient) -> dict[str, object]:
    made = await client.post(CONTACTS, {"number": "N1", "displayName": "Made"})
    key, tag = made["id"], made["@odata.etag"]
    changed = await client.patch(CONTACTS, key, {"displayName": "Changed"}, etag=tag)
    conflict = await failure(client.patch(CONTACTS, key, {"displayName": "Lost"}, etag=tag))
    kept = (await client.get(CONTACTS, key)).raw["displayName"]
    stale_delete = await failure(client.delete(CONTACTS, key, etag=tag))
    await client.delete(CONTACTS, key, etag=changed["@odata.etag"])
    return {
        "create": [made["number"], made["displayName"]],
        "update": changed["displayName"],
        "conflict": [conflict, kept],
        "delete": [stale_delete, await failure(client.get(CONTACTS, key))],
    }


async def throttled(client: AsyncBCClient) -> dict[str, object]:
    attempts = Attempts()
    logger = logging.getLogger("bcli.http")
    logger.setLevel(logging.INFO)
    logger.addHandler(attempts)
    rows = await client.get(shared.THROTTLED, query=Query().select("code"))
    return {"throttling": [attempts.repeats, [each["code"] for each in rows]]}


async def failure(request: Awaitable[object]) -> str:
    try:
        await request
    except BCLIError as error:
        return f"{type(error).__name__} {error.status_code}"
    return "no error"


async def hint(request: Awaitable[object]) -> str:
    """What the client proposes, which depends on the message of the error."""
    try:
        await request
    except ValidationError as error:
        return str(error).partition("Hint: ")[2].partition(" to ")[0]
    return "no error"


asyncio.run(main())
