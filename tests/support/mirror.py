"""A client that copies a collection and follows its delta links."""

from collections.abc import Callable, Mapping, Sequence

import httpx

from support.client import Client, Query, Record

Shown = Mapping[str, object]
Addressing = Callable[[Shown], str]
"""The path of a record below the client's root."""


class Mirror:
    """The records of a client that reads a collection once, then follows its delta links.

    `records` are the records by their addresses, `reported` the entries of the last pass in order.
    """

    def __init__(
        self,
        client: Client,
        path: str,
        query: Query = "",
        page_size: int = 100,
        address: Addressing | None = None,
    ) -> None:
        self._client = client
        self._address = address or (lambda record: f"{path}({record['id']})")
        self._wishes = {"Prefer": f"odata.track-changes,odata.maxpagesize={page_size}"}
        self.records: dict[str, Record] = {}
        self.reported: list[str] = []
        self.link = ""
        self.is_between_pages = False
        self._take(client.get(path, query, self._wishes))
        self.finish()

    def catch_up(self) -> None:
        """Follow the delta link, and all pages after it."""
        self.turn()
        self.finish()

    def turn(self) -> None:
        """Follow one link: to the next page, or to later changes."""
        if not self.is_between_pages:
            self.reported = []
        self._take(self._client.follow(self.link, self._wishes))

    def finish(self) -> None:
        """Read the remaining pages."""
        while self.is_between_pages:
            self.turn()

    def mirrored(self, records: Sequence[Shown]) -> Mapping[str, Shown]:
        """Records in the form of a mirror."""
        return {f"{self._client.root}/{self._address(record)}": record for record in records}

    def _take(self, answer: httpx.Response) -> None:
        assert answer.status_code == 200, answer.text
        assert "track-changes" in answer.headers.get("preference-applied", "track-changes")
        body = answer.json()
        for entry in body["value"]:
            if "reason" in entry and entry["@odata.context"].endswith("/$deletedEntity"):
                key = entry["id"]
                self.records.pop(key, None)
            else:
                [key] = self.mirrored([entry])
                self.records[key] = entry
            self.reported.append(key)
        self.is_between_pages = "@odata.deltaLink" not in body
        self.link = body["@odata.nextLink" if self.is_between_pages else "@odata.deltaLink"]
