"""The headers of repeatable requests, and of their responses."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from uuid import uuid4

import httpx


def repeatable(
    request_id: str | None = None, *, age: timedelta = timedelta(0), **others: str
) -> dict[str, str]:
    """Headers of a request that was first sent some time ago; the default id is a new one."""
    return {
        "Repeatability-Request-ID": request_id or str(uuid4()),
        "Repeatability-First-Sent": format_datetime(datetime.now(UTC) - age, usegmt=True),
        **{name.replace("_", "-"): value for name, value in others.items()},
    }


def essence(answer: httpx.Response) -> tuple[int, dict[str, str], bytes]:
    """A response without the id of the exchange."""
    own = ("x-request-id", "date", "server-timing")
    headers = {name: value for name, value in answer.headers.items() if name not in own}
    return answer.status_code, headers, answer.content


def result(answer: httpx.Response) -> str | None:
    """The `Repeatability-Result` of a response."""
    result: str | None = answer.headers.get("repeatability-result")
    return result
