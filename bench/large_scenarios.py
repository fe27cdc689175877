"""The requests for the large company."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from company import CONTACTS, PRICES
from large import ITEMS, Large
from scenarios import PAGE, paged
from wrk import Scenario, scenario

EXPANDED = 100
ASKED = 500
"""The number of different values in the filters and searches."""

_GROUPING = "groupby((sourceType),aggregate(unitPrice with sum as total))"


class LargeScenarios:
    """The scenarios by name, and the contacts whose values their filters contain."""

    def __init__(self, large: Large, folder: Path, headers: Mapping[str, str]) -> None:
        self._path = large.partners.path
        self._folder = folder
        contacts = large.partners.contacts
        persons = [each for each in contacts if each["companyNumber"]]
        self.contacts = persons[:: len(persons) // ASKED]
        sought = [each["number"] for each in contacts[:: len(contacts) // ASKED]]
        items = sorted(large.items)[:EXPANDED]
        paths = {
            "id": [f"{CONTACTS}({each['id']})" for each in self.contacts],
            "indexed": self._filtered("companyNumber"),
            "scan": self._filtered("city"),
            "count": [f"{CONTACTS}/$count"],
            "group": [f"{PRICES}?$apply={quote(_GROUPING)}"],
            "expand": [f"{ITEMS}?$top={EXPANDED}&$expand=prices"],
            "prices": [f"{ITEMS}({key})/prices" for key in items],
            "search": [f"{CONTACTS}?$search={number}" for number in sought],
            # a term that no text contains, and that is too short for the index
            "search-by-scan": [f"{CONTACTS}?$search={each}{quote(' OR ~~')}" for each in sought],
        }
        self._by_name = {name: self._scenario(name, each, headers) for name, each in paths.items()}
        self._by_name["page"] = self._scenario("page", [CONTACTS], {**headers, **paged(PAGE)})

    def __getitem__(self, name: str) -> Scenario:
        return self._by_name[name]

    def _filtered(self, name: str) -> list[str]:
        """Filters with three conditions, the first of them on `name`."""
        found = []
        for each in self.contacts:
            value = each[name].replace("'", "''")
            text = f"{name} eq '{value}' and type eq 'Person' and country eq '{each['country']}'"
            found.append(f"{CONTACTS}?$filter={quote(text)}")
        return found

    def _scenario(self, name: str, paths: Sequence[str], headers: Mapping[str, str]) -> Scenario:
        file = self._folder / f"large-{name}"
        return scenario(file, [f"{self._path}/{path}" for path in paths], headers)
