"""Collections as JSON (OData JSON Format 4.01, section 13), written a slice at a time."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from comptoir.edm.model import Company
from comptoir.edm.types import Stored, Wire
from comptoir.plan.read import Row
from comptoir.response.records import NONE, Extras, RecordWriter, context_url

_encode = msgspec.json.encode


class Removed(msgspec.Struct, frozen=True):
    """A record that a collection has no longer: its key, and whether it was deleted or changed."""

    key: Stored
    reason: str


class RowWriter(Protocol):
    """What writes the rows of a collection: records, or what was made of them."""

    level: str

    def context(self, base_url: str, company: Company | None) -> str:
        """The context URL of a collection of these rows."""

    def count(self, number: int) -> Wire:
        """A number of rows, as the format has it."""

    def records(
        self,
        base_url: str,
        company: Company | None,
        rows: Sequence[Row],
        extras: Sequence[Extras] = (),
    ) -> bytes:
        """Rows as JSON objects, separated by commas."""


class CollectionWriter:
    """Writes one collection: its head, slices of records, and its tail, in this order."""

    suffix = ""
    """What the context URL has behind that of the collection."""

    def __init__(self, records: RowWriter, base_url: str, company: Company | None) -> None:
        self._records = records
        self._base_url = base_url
        self._company = company
        self._separator = b""

    def head(self, count: int | None, inline: Row | None = None) -> bytes:
        """What stands before the records.

        `inline` is the one record that matched, to stand at the top as well (operation 7).
        """
        records = self._records
        parts: list[bytes] = []
        if records.level != NONE:
            context = records.context(self._base_url, self._company) + self.suffix
            parts.append(b'"@odata.context":' + _encode(context))
        if count is not None:
            parts.append(b'"@odata.count":' + _encode(records.count(count)))
        if inline is not None:
            parts.append(records.records(self._base_url, self._company, (inline,))[1:-1])
        parts.append(b'"value":[')
        return b"{" + b",".join(parts)

    def slice(self, rows: Sequence[Row], extras: Sequence[Extras] = ()) -> bytes:
        """Some records, behind those that were written before; `extras` are for related ones."""
        if not rows:
            return b""
        records = self._records.records(self._base_url, self._company, rows, extras)
        return self._continued(records)

    def tail(self, next_link: str | None = None, delta_link: str | None = None) -> bytes:
        """What stands behind the records: at most one of the links."""
        if next_link is not None:
            return b'],"@odata.nextLink":' + _encode(next_link) + b"}"
        if delta_link is not None:
            return b'],"@odata.deltaLink":' + _encode(delta_link) + b"}"
        return b"]}"

    def _continued(self, written: bytes) -> bytes:
        separator, self._separator = self._separator, b","
        return separator + written


class ChangesWriter(CollectionWriter):
    """Writes a collection of changes (OData JSON Format 4.01, section 15)."""

    suffix = "/$delta"

    def __init__(self, records: RecordWriter, base_url: str, company: Company | None) -> None:
        super().__init__(records, base_url, company)
        self._of_records = records

    def removed(self, removed: Sequence[Removed]) -> bytes:
        """Records that the collection has no longer, in the form of OData 4.0 (section 10.3)."""
        records, company = self._of_records, self._company
        context = context_url(self._base_url, records.entity_set, company) + "/$deletedEntity"
        entries = [
            {
                "@odata.context": context,
                "id": records.link_to(self._base_url, company, each.key),
                "reason": each.reason,
            }
            for each in removed
        ]
        return self._continued(_encode(entries)[1:-1])
