"""The requests for the company of the pages."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from company import CONTACTS, CUSTOMERS
from partners import Partners
from scenarios import PAGE, paged, updates
from wrk import Scenario, scenario

SIZES = (100, PAGE)
READ = 5_000
"""The number of different customers that are read, in an order unrelated to that of the keys."""

UPDATED = 500


class PartnerScenarios:
    """Pages, reads and updates, which the service and the peer answer alike."""

    def __init__(self, partners: Partners, folder: Path, headers: Mapping[str, str]) -> None:
        self._partners = partners
        self._folder = folder
        self._headers = headers

    @cached_property
    def pages(self) -> Mapping[int, Scenario]:
        """The first page of contacts, by its size."""
        return {size: self._page(CONTACTS, size) for size in SIZES}

    @cached_property
    def customers(self) -> Scenario:
        """The first page of customers."""
        return self._page(CUSTOMERS, PAGE)

    @cached_property
    def read(self) -> Scenario:
        """Reads of customers by id."""
        paths = [f"{self._partners.path}/{CUSTOMERS}({key})" for key in self._partners.customers]
        return scenario(self._folder / "read-a-partner", paths[:READ], self._headers)

    @cached_property
    def update(self) -> Scenario:
        """Updates of contacts."""
        contacts = self._partners.contacts[:UPDATED]
        paths = [f"{self._partners.path}/{CONTACTS}({each['id']})" for each in contacts]
        return updates(self._folder / "update-a-partner", paths, self._headers)

    def _page(self, name: str, size: int) -> Scenario:
        headers = {**self._headers, **paged(size)}
        return scenario(self._folder / f"{size}-{name}", [f"{self._partners.path}/{name}"], headers)
