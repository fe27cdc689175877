"""The tokens of the tests, valid and invalid ones."""

import time
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

from comptoir.auth.keys import load_keys
from comptoir.auth.tokens import Scope, TokenIssuer
from comptoir.config import Settings
from comptoir.edm.times import Clock

BOTH = (Scope.RECORDS_READ, Scope.RECORDS_WRITE)
SUBJECT = "tests"
HOUR = timedelta(hours=1)


class Tokens:
    """Issues tokens with a service's own key."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._key = load_keys(Path(settings.keys)).signing

    def issue(
        self,
        scopes: Iterable[Scope] = BOTH,
        companies: Iterable[str] | None = None,
        subject: str = SUBJECT,
        lifetime: timedelta = HOUR,
        clock: Clock = time.time,
    ) -> str:
        """A token, which is valid unless `clock` shows another time."""
        parties = self._settings.token_issuer, self._settings.token_audience
        issuer = TokenIssuer(lambda: self._key, *parties, clock)
        return issuer.issue(subject, scopes, companies, lifetime)

    def expired(self) -> str:
        """A token that expired long ago."""
        return self.issue(clock=lambda: 1_700_000_000.0)

    def of_another_issuer(self) -> str:
        """A token of another issuer, signed with the trusted key."""
        issuer = TokenIssuer(lambda: self._key, "another", self._settings.token_audience)
        return issuer.issue(SUBJECT, BOTH, None, HOUR)
