"""What an example runs against."""

from dataclasses import dataclass
from pathlib import Path

from support.companies import Company
from support.rehearsal import Rehearsal

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class Stage:
    """A company, and the faults that the requests of an example meet."""

    company: Company
    faults: Rehearsal
    base_url: str

    @property
    def variables(self) -> dict[str, str]:
        """The environment of an example."""
        company = self.company
        return {"BASE": self.base_url, "COMPANY": company.stored.id, "TOKEN": company.token}
