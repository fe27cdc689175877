"""Which files are loaded, and as which resource: found and checked before anything is written."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from comptoir.catalog import MODEL
from comptoir.edm.model import EntitySet
from comptoir.errors import OperatorError
from comptoir.messages import suggestion
from comptoir.transfer.source import SUFFIXES


@dataclass(frozen=True, slots=True)
class LoadFile:
    """A file, and the resource that it is named after."""

    path: Path
    entity_set: EntitySet


def find_files(paths: Iterable[Path]) -> list[LoadFile]:
    """The files that are named, and those in the folders that are named.

    Files in a folder that cannot be loaded are passed over. Raises `OperatorError` for a path that
    is not there, a file that is named after no resource, a folder without files to load, and two
    files for one resource.
    """
    found: dict[EntitySet, LoadFile] = {}
    for path in paths:
        for each in _files_at(path):
            other = found.setdefault(each.entity_set, each)
            if other is not each:
                raise OperatorError(
                    f"{other.path} and {each.path} are both for {each.entity_set.name}. "
                    "Load them one after the other."
                )
    return list(found.values())


def _files_at(path: Path) -> list[LoadFile]:
    if path.is_dir():
        return _files_in(path)
    if not path.exists():
        raise OperatorError(f"there is no file or folder {path}.")
    if not path.is_file():
        raise OperatorError(f"{path} is not a file: loading reads twice what it loads.")
    if path.suffix not in SUFFIXES:
        raise OperatorError(
            f"{path} cannot be loaded: its name must end in {' or '.join(SUFFIXES)}."
        )
    return [_named(path)]


def _files_in(folder: Path) -> list[LoadFile]:
    try:
        listed = sorted(folder.iterdir())
    except OSError as fault:
        raise OperatorError(f"cannot read the folder {folder}: {fault.strerror}.") from fault
    # what begins with a dot is a draft, or something of the system's
    found = [
        _named(each)
        for each in listed
        if each.suffix in SUFFIXES and not each.name.startswith(".") and each.is_file()
    ]
    if not found:
        raise OperatorError(
            f"the folder {folder} holds no file that can be loaded: their names end in "
            f"{' or '.join(SUFFIXES)}."
        )
    return found


def _named(path: Path) -> LoadFile:
    stored = {each.name: each for each in MODEL.stored}
    entity_set = stored.get(path.stem)
    if entity_set is not None:
        return LoadFile(path, entity_set)
    if path.stem in MODEL.by_name:
        raise OperatorError(
            f"{path} cannot be loaded: {path.stem} holds no records of its own. "
            f"Load: {', '.join(stored)}."
        )
    hint = suggestion(path.stem, stored) or f"Name it after one of: {', '.join(stored)}."
    raise OperatorError(f"{path} is named after no resource: {path.stem!r} is none. {hint}")
