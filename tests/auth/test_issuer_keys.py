"""When the keys of an issuer are fetched, and how long they are believed."""

import asyncio

import pytest
from joserfc.jwk import ECKey

from auth.issuer_source import ISSUER, Source
from auth.token_forger import new_key
from comptoir.auth.issuers import IssuerKeys, fetch_keys
from comptoir.auth.keys import VerificationKey
from comptoir.errors.refusal import ErrorType, Refusal
from comptoir.errors.table import INVALID_CREDENTIALS, ISSUER_UNREACHABLE
from comptoir.outgoing import OutgoingError
from support.clocks import SetClock
from support.event_loop import in_event_loop
from support.waiting import PATIENCE_SECONDS

DAY = 86_400


class Watched:
    """The keys of the issuer, with a clock that is set."""

    def __init__(self) -> None:
        self.source = Source()
        self.clock = SetClock(0)
        self.changes = 0
        self.keys = IssuerKeys(ISSUER, self.source.fetch, DAY, self._note, self.clock)

    def _note(self) -> None:
        self.changes += 1

    async def key(self, kid: str = "a", refreshed: int = 0) -> VerificationKey:
        return await self.keys.key(kid, refreshed)

    async def refused(self, error: ErrorType, kid: str = "a") -> Refusal:
        with pytest.raises(Refusal) as caught:
            await self.key(kid)
        assert caught.value.error is error
        return caught.value


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.mark.parametrize(
    ("cache_control", "seconds"),
    [
        ("", 3_600),
        ("no-store", 3_600),
        ("max-age=1200", 1_200),
        ("public, Max-Age=1200, must-revalidate", 1_200),
        ("max-age=1", 300),
        ("max-age=999999999", DAY),
        ("max-age=-5", 3_600),
        ("s-maxage=1200", 3_600),
    ],
)
@in_event_loop
async def test_keys_are_fresh_as_long_as_the_issuer_says(
    cache_control: str, seconds: int, watched: Watched
) -> None:
    """From five minutes to a day; then they are used while they are fetched again."""
    source = watched.source
    source.cache_control = cache_control
    await watched.key()
    watched.clock.now = seconds - 1
    await watched.key()
    await watched.source.settled()
    assert source.fetches == 1
    watched.clock.now = seconds
    source.gate.clear()
    await watched.key()
    source.gate.set()
    await watched.source.settled()
    assert source.fetches == 2
    assert watched.changes == 1


@in_event_loop
async def test_unknown_keys_are_fetched_once_in_half_a_minute(watched: Watched) -> None:
    """They evict no other key."""
    source = watched.source
    await watched.key()
    for kid in ("x", "y", "x"):
        await watched.refused(INVALID_CREDENTIALS, kid)
    assert source.fetches == 2
    watched.clock.now = 29
    source.keys["b"] = new_key()
    await watched.refused(INVALID_CREDENTIALS, "b")
    watched.clock.now = 30
    assert await watched.key("b") == ECKey.import_key(source.keys["b"].as_dict(private=False))
    await watched.key()
    assert source.fetches == 3


@in_event_loop
async def test_both_documents_share_one_limit_of_time(watched: Watched) -> None:
    """The first is there at once, and the second never."""
    watched.source.gate.clear()
    with pytest.raises(OutgoingError) as caught:
        await asyncio.wait_for(
            fetch_keys(ISSUER, watched.source.fetch, seconds=0.001), PATIENCE_SECONDS
        )
    assert "and its keys within 0.001 seconds" in str(caught.value)


@in_event_loop
async def test_a_key_that_is_published_during_a_fetch_is_fetched_again(watched: Watched) -> None:
    source = watched.source
    await watched.key()
    watched.clock.now = 3_600
    source.gate.clear()
    await watched.key()
    await watched.source.settled()
    source.keys["b"] = new_key()
    waiting = [asyncio.ensure_future(watched.key("b")) for _ in range(3)]
    await watched.source.settled()
    source.gate.set()
    await asyncio.gather(*waiting)
    assert source.fetches == 3


@in_event_loop
async def test_an_issuer_that_is_away_is_believed_for_a_day(watched: Watched) -> None:
    """After its keys should have been fetched; while it is away, it is asked in half minutes."""
    source = watched.source
    await watched.key()
    source.is_away = True
    for now in (3_600, 3_600, 3_629, 3_630, 3_600 + DAY - 1):
        watched.clock.now = now
        await watched.key()
        await watched.source.settled()
    assert source.fetches == 4
    watched.clock.now = 3_600 + DAY
    refusal = await watched.refused(ISSUER_UNREACHABLE)
    assert refusal.headers["Retry-After"] == "29"
    watched.clock.now += 29
    source.is_away = False
    await watched.key()


@in_event_loop
async def test_keys_that_nobody_needed_for_days_are_fetched_before_they_are_used(
    watched: Watched,
) -> None:
    await watched.key()
    watched.clock.now = 10 * DAY
    watched.source.keys = {"b": new_key()}
    await watched.refused(INVALID_CREDENTIALS)
    await watched.key("b")


@in_event_loop
async def test_an_issuer_that_was_never_reached_is_unavailable(watched: Watched) -> None:
    watched.source.is_away = True
    for now, seconds in ((0, "30"), (10, "20"), (29.5, "1"), (30, "30")):
        watched.clock.now = now
        refusal = await watched.refused(ISSUER_UNREACHABLE)
        assert refusal.headers["Retry-After"] == seconds
    assert watched.source.fetches == 2


@in_event_loop
async def test_a_refresh_fetches_at_once_and_reports_other_keys(watched: Watched) -> None:
    await watched.key()
    for refreshed in (1, 2):
        watched.source.keys = {"b": new_key()}
        await watched.key("b", refreshed)
        assert watched.changes == 1 + refreshed
    await watched.key("b", refreshed=2)
    assert watched.source.fetches == 3
    await watched.key("b", refreshed=3)
    assert watched.changes == 3
