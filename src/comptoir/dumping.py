"""Dumping: a kind's records written out as a file that loading takes back, equal in every field."""

import csv
import os
import secrets
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TextIO

import msgspec

from comptoir.edm.entity import Property
from comptoir.edm.model import EntitySet
from comptoir.errors import OperatorError
from comptoir.loading import Progress
from comptoir.plan.read import Row
from comptoir.plan.target import Company
from comptoir.store.snapshot import Snapshot

WriteRow = Callable[[Row], None]


class DumpFormat(StrEnum):
    """The form of the files."""

    NDJSON = "ndjson"
    CSV = "csv"


def dump_file(folder: Path, entity_set: EntitySet, form: DumpFormat) -> Path:
    """The file that a kind is written to, named after its resource."""
    return folder / f"{entity_set.name}.{form}"


class Dumper:
    """Writes the records that one company has at the moment of a snapshot to files.

    Properties that are secret are left out unless `with_secrets`; then nobody but the owner of the
    files can read them.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        company: Company,
        form: DumpFormat,
        progress: Progress,
        *,
        with_secrets: bool,
    ) -> None:
        self._snapshot = snapshot
        self._company = company
        self._form = form
        self._progress = progress
        self._with_secrets = with_secrets

    async def dump(self, entity_set: EntitySet, folder: Path) -> int:
        """Write a kind's file, whole or not at all, and give how many records it holds.

        A kind without records gets no file. Raises `OperatorError` when the file is there already
        or cannot be written.
        """
        target = dump_file(folder, entity_set, self._form)
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
                        count += _write_rows(write, rows)
                        self._progress(f"writing {entity_set.name}", count, total)
                    file.flush()
                    os.fsync(file.fileno())
                if target.exists():
                    raise already_there(target)
                draft.rename(target)
            finally:
                draft.unlink(missing_ok=True)
        except OSError as fault:
            raise OperatorError(
                f"cannot write {target}: {fault.strerror}. Make room there, or name another folder."
            ) from fault
        return count

    def _writer(self, file: TextIO, entity_set: EntitySet) -> WriteRow:
        written = [
            (at, each)
            for at, each in enumerate(entity_set.type.properties, start=1)
            if self._with_secrets or not each.secret
        ]
        if self._form is DumpFormat.CSV:
            return _csv_writer(file, written)
        return _ndjson_writer(file, written)


def already_there(target: Path) -> OperatorError:
    """What is said of a file that a dump would overwrite."""
    return OperatorError(f"{target} is there already. Move it away, or name another folder.")


def _write_rows(write: WriteRow, rows: Sequence[Row]) -> int:
    for row in rows:
        write(row)
    return len(rows)


def _csv_writer(file: TextIO, written: Sequence[tuple[int, Property]]) -> WriteRow:
    # quoted throughout: a bare CR is not quoted by itself before Python 3.13
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
