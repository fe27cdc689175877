"""The watermarks of companies: the last change of each that was acknowledged to a client.

A database that lacks such a change has gone back in time: it was restored from a backup, or it is
a standby that was promoted before it had received everything. The numbers of the lost changes
would be given to others, so nothing is written until the company has another incarnation.
"""

from collections.abc import Iterable, Mapping

import msgspec

from comptoir.edm.model import Company


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
        self._moved: set[Company] = set()

    def number(self, company: Company) -> int:
        """The number of the last change that is known to be acknowledged, 0 without one."""
        known = self._known.get(company)
        return 0 if known is None else known.number

    def acknowledge(self, company: Company, number: int, at: str) -> None:
        """Note a change that is committed and about to be acknowledged."""
        self._known[company] = Watermark(number, at)
        self._moved.add(company)

    def learn(self, marks: Mapping[Company, Watermark]) -> None:
        """Raise the watermarks to those that others know."""
        for company, mark in marks.items():
            if mark.number > self.number(company):
                self._known[company] = mark

    @property
    def known(self) -> Mapping[Company, Watermark]:
        """All watermarks."""
        return self._known.copy()

    def take(self) -> Mapping[Company, Watermark]:
        """The watermarks that were acknowledged since they were taken last."""
        taken: dict[Company, Watermark] = {}
        while self._moved:
            company = self._moved.pop()
            # read after it was taken: a change that comes in between moves it again
            mark = self._known.get(company)
            if mark is not None:
                taken[company] = mark
        return taken

    def put_back(self, companies: Iterable[Company]) -> None:
        """Let watermarks be taken again that could not be saved."""
        self._moved.update(companies)
