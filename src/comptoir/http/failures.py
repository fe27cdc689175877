"""What a client is told when the service itself fails, or stops."""

import logging

from comptoir.errors import INTERNAL_ERROR, UNAVAILABLE, Refusal
from comptoir.http.exchange import Exchange

_log = logging.getLogger(__name__)


def failed(exchange: Exchange) -> Refusal:
    """500, for the exception that is being handled; its cause goes to the log."""
    _log.exception("request %s failed", exchange.id)
    return Refusal(
        INTERNAL_ERROR, f"The service failed. Its log has the cause under the id {exchange.id}."
    )


def stopping() -> Refusal:
    """503, for a request that is given up when the service stops."""
    return Refusal(
        UNAVAILABLE,
        "The service is stopping and did not finish this request. Nothing was changed; send it "
        "again.",
        headers={"Retry-After": "5"},
    )
