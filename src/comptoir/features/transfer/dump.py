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


async def dump_records(
    snapshot: Snapshot,
    company: Company,
    entity_set: EntitySet,
    target: Path,
    show_progress: ShowProgress,
    *,
    with_secrets: bool,
) -> int:
    """Write the records of a company's set in a snapshot to a file, whole or not at all.

    Returns the number of records; a set without records gets no file. Secret properties are left
    out unless `with_secrets`; then only the owner of the file can read it. Raises `OperatorError`
    if the file exists or cannot be written.
    """
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    total = await snapshot.count(entity_set.name, company.id)
    if not total:
        return 0
    mode = 0o600 if with_secrets else 0o666
    written = [
        (at, each)
        for at, each in enumerate(entity_set.type.properties, start=1)
        if with_secrets or not each.secret
    ]
    writer = _csv_writer if target.suffix == f".{DumpFormat.CSV}" else _ndjson_writer
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
                write = writer(file, written)
                count = 0
                async for rows in snapshot.rows(entity_set.name, company.id):
                    for row in rows:
                        write(row)
                    count += len(rows)
                    show_progress(f"writing {entity_set.name}", count, total)
                file.flush()
                os.fsync(file.fileno())
            _put_in_place(draft, target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise problems.CANNOT_WRITE(path=target, reason=error.strerror) from error
    return count


def _put_in_place(draft: Path, target: Path) -> None:
    if target.exists():
        raise problems.FILE_EXISTS(path=target)
    draft.rename(target)


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
