"""A client that holds a copy of a collection, and follows its delta links."""

import httpx

from support.client import Record
from support.office import Company


class Mirror:
    """What a client holds that reads a collection once and follows its delta links from then on."""

    def __init__(self, company: Company, path: str, query: str = "", page_size: int = 100) -> None:
        self._company = company
        self._path = path
        self._wishes = {"Prefer": f"odata.track-changes,odata.maxpagesize={page_size}"}
        self.held: dict[str, Record] = {}
        self.told: list[str] = []
        self.link = self._follow(company.get(path, query, self._wishes))

    def catch_up(self) -> None:
        self.told = []
        self.link = self._follow(self._company.follow(self.link, self._wishes))

    def _follow(self, answer: httpx.Response) -> str:
        while True:
            assert answer.status_code == 200, answer.text
            assert "track-changes" in answer.headers.get("preference-applied", "track-changes")
            body = answer.json()
            for entry in body["value"]:
                self._take(entry)
            if "@odata.deltaLink" in body:
                return str(body["@odata.deltaLink"])
            answer = self._company.follow(body["@odata.nextLink"], self._wishes)

    def _take(self, entry: Record) -> None:
        if "reason" in entry and str(entry["@odata.context"]).endswith("/$deletedEntity"):
            key = str(entry["id"])
            self.held.pop(key, None)
        else:
            key = f"{self._company.root}/{self._path}({entry['id']})"
            self.held[key] = entry
        self.told.append(key)
