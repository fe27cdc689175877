"""Collections as JSON (OData JSON Format 4.01, section 13), written a slice at a time."""

from collections.abc import Sequence

import msgspec

from comptoir.plan.read import Row
from comptoir.plan.target import Company
from comptoir.response.records import NONE, Extras, RecordWriter

_encode = msgspec.json.encode


class CollectionWriter:
    """Writes one collection: its head, slices of records, and its tail, in this order."""

    def __init__(self, records: RecordWriter, base_url: str, company: Company | None) -> None:
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
            context = records.context(self._base_url, self._company)
            parts.append(b'"@odata.context":' + _encode(context))
        if count is not None:
            parts.append(b'"@odata.count":%d' % count)
        if inline is not None:
            parts.append(records.records(self._base_url, self._company, (inline,))[1:-1])
        parts.append(b'"value":[')
        return b"{" + b",".join(parts)

    def slice(self, rows: Sequence[Row], extras: Sequence[Extras] = ()) -> bytes:
        """Some records, behind those that were written before; `extras` are for related ones."""
        if not rows:
            return b""
        records = self._records.records(self._base_url, self._company, rows, extras)
        written = self._separator + records
        self._separator = b","
        return written

    def tail(self, next_link: str | None) -> bytes:
        """What stands behind the records."""
        if next_link is None:
            return b"]}"
        return b'],"@odata.nextLink":' + _encode(next_link) + b"}"
