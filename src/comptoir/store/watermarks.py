"""The watermarks of companies: the last change of each that was acknowledged to a client.

A database that lacks such a change has gone back in time: it was restored from a backup, or it is
a standby that was promoted before it had received everything. The numbers of the lost changes
would be given to others, so nothing is written until the company has another incarnation.
"""

from collections.abc import Mapping

import msgspec

from comptoir.plan.target import Company


class Watermark(msgspec.Struct, frozen=True, array_like=True):
    """A change that was acknowledged: its number, and its time as the change log has it."""

    number: int
    at: str


class Watermarks:
    """The watermarks that a process knows, by company and incarnation.

    They are lower bounds: what others have acknowledged since need not be known. So they may be
    used by several threads without a lock.
    """

    def __init__(self) -> None:
        self._known: dict[Company, Watermark] = {}
        self._has_moved = False

    def number(self, company: Company) -> int:
        """The number of the last change that is known to be acknowledged, 0 without one."""
        known = self._known.get(company)
        return 0 if known is None else known.number

    def acknowledge(self, company: Company, number: int, at: str) -> None:
        """Note a change that is committed and about to be acknowledged."""
        self._known[company] = Watermark(number, at)
        self._has_moved = True

    def learn(self, marks: Mapping[Company, Watermark]) -> None:
        """Raise the watermarks to those that others know."""
        for company, mark in marks.items():
            if mark.number > self.number(company):
                self._known[company] = mark

    def take(self) -> Mapping[Company, Watermark] | None:
        """All watermarks, None when no change was acknowledged since they were taken last."""
        if not self._has_moved:
            return None
        self._has_moved = False
        return self._known.copy()
