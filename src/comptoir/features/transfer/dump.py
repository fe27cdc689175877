"""Write the records of an entity set to a file, which loads back with equal values."""

import csv
import os
import secrets
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TextIO

import msgspec

from comptoir.edm.model import Company, EntitySet, Property
from comptoir.features.transfer import errors as problems
from comptoir.plan.read import Row
from comptoir.store.snapshot import ShowProgress, Snapshot

WriteRow = Callable[[Row], None]


class DumpFormat(StrEnum):
    """The format of the files."""

    NDJSON = "ndjson"
    CSV = "csv"


def dump_file(folder: Path, entity_set: EntitySet, file_format: DumpFormat) -> Path:
    """The file that an entity set is written to, named after it."""
    return folder / f"{entity_set.name}.{file_format}"


class Dumper:
    """Writes the records of a company in a snapshot to files.

    Secret properties are left out unless `with_secrets`; then only the owner of the files can read
    them.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        company: Company,
        file_format: DumpFormat,
        show_progress: ShowProgress,
        *,
        with_secrets: bool,
    ) -> None:
        self._snapshot = snapshot
        self._company = company
        self._format = file_format
        self._show_progress = show_progress
        self._with_secrets = with_secrets

    async def dump(self, entity_set: EntitySet, folder: Path) -> int:
        """Write the file of an entity set, whole or not at all; returns the number of records.

        A set without records gets no file. Raises `OperatorError` if the file exists or cannot be
        written.
        """
        target = dump_file(folder, entity_set, self._format)
        draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
        total = await self._snapshot.count(entity_set.name, self._company.id)
        if not total:
            return 0
        mode = 0o600 if self._with_secrets else 0o666
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
                    write = self._writer(file, entity_set)
                    count = 0
                    async for rows in self._snapshot.rows(entity_set.name, self._company.id):
                        for row in rows:
                            write(row)
                        count += len(rows)
                        self._show_progress(f"writing {entity_set.name}", count, total)
                    file.flush()
                    os.fsync(file.fileno())
                if target.exists():
                    raise problems.FILE_EXISTS(path=target)
                draft.rename(target)
            finally:
                draft.unlink(missing_ok=True)
        except OSError as error:
            raise problems.CANNOT_WRITE(path=target, reason=error.strerror) from error
        return count

    def _writer(self, file: TextIO, entity_set: EntitySet) -> WriteRow:
        written = [
            (at, each)
            for at, each in enumerate(entity_set.type.properties, start=1)
            if self._with_secrets or not each.secret
        ]
        if self._format is DumpFormat.CSV:
            return _csv_writer(file, written)
        return _ndjson_writer(file, written)


def _csv_writer(file: TextIO, written: Sequence[tuple[int, Property]]) -> WriteRow:
    # Python before 3.13 does not quote a bare CR unless everything is quoted
    writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow([each.name for _, each in written])

    def write(row: Row) -> None:
        writer.writerow([each.type.to_text(row[at]) for at, each in written])

    return write


def _ndjson_writer(file: TextIO, written: Sequence[tuple[int, Property]]) -> WriteRow:
    encode = msgspec.json.Encoder().encode
    kept = [(at, each.name, each.type.to_wire) for at, each in written]

    def write(row: Row) -> None:
        record = {
            name: row[at] if to_wire is None else to_wire(row[at]) for at, name, to_wire in kept
        }
        file.write(encode(record).decode())
        file.write("\n")

    return write
