"""A row of `docs/reference/profiles.md`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """A difference, with its source and how certain that is.

    `confidence` is `documented`, `recorded` from a server, `reported` by a client's authors, or
    `ours` if no source says it. `leaves` are the parts of the record, as `differences` names them.
    """

    id: str
    situation: str
    source: str
    confidence: str
    leaves: tuple[str, ...]
