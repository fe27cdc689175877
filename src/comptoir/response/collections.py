"""Collections as JSON (OData JSON Format 4.01, section 13), written a slice at a time."""

from collections.abc import Sequence

import msgspec

from comptoir.edm.primitive import Stored
from comptoir.plan.read import Row
from comptoir.plan.target import Company
from comptoir.response.records import NONE, Extras, RecordWriter, context_url

_encode = msgspec.json.encode


class Removed(msgspec.Struct, frozen=True):
    """A record that a collection has no longer: its key, and whether it was deleted or changed."""

    key: Stored
    reason: str


class CollectionWriter:
    """Writes one collection: its head, slices of records, and its tail, in this order.

    `of_changes` makes it a collection of changes (OData JSON Format 4.01, section 15).
    """

    def __init__(
        self,
        records: RecordWriter,
        base_url: str,
        company: Company | None,
        *,
        of_changes: bool = False,
    ) -> None:
        self._records = records
        self._of_changes = of_changes
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
            context = records.context(self._base_url, self._company)
            if self._of_changes:
                context += "/$delta"
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

    def removed(self, removed: Sequence[Removed]) -> bytes:
        """Records that the collection has no longer, in the form of OData 4.0 (section 10.3)."""
        records, company = self._records, self._company
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
