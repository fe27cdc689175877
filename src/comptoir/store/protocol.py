"""What the service asks of a store. SQLite has it; others can."""

from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeVar

from comptoir.edm.model import Company, EntitySet
from comptoir.edm.types import Stored
from comptoir.errors import UNAVAILABLE, Refusal
from comptoir.plan.read import CountPlan, PagePlan, RecordPlan, RelatedPlan, Row
from comptoir.plan.write import WritePlan
from comptoir.sql.prepared import Statement
from comptoir.sql.statements import Statements
from comptoir.store.change import Written
from comptoir.store.condition import Condition
from comptoir.store.ledger import Change
from comptoir.store.snapshot import SnapshotConnection
from comptoir.store.submission import UnitFactory
from comptoir.store.turns import Slices
from comptoir.store.watermarks import Watermark, Watermarks

T = TypeVar("T")

MANY_ROWS = 2_000
"""Rows written to a table after which the planner's statistics of it are refreshed."""

KNOWN_SECONDS = 1.0
"""How long a store takes a company to be there without asking: as long, who takes it away waits."""

Patience = Callable[[Awaitable[list[Row]]], Awaitable[list[Row]]]
"""Awaits a long read for as long as somebody waits for its rows, and cancels it after that."""


Noted = Callable[[str], None]
"""Receives the outcome of a read that a replica may answer: once for each outcome of a request."""


async def unlimited(rows: Awaitable[list[Row]]) -> list[Row]:
    """The patience of one who waits to the end."""
    return await rows


class Reads(Protocol):
    """Reads the records of a model.

    All methods raise `Refusal`: 503 when the database cannot serve, 429 when too much waits, and
    `Renewed` where a replica may answer.
    """

    async def record(self, plan: RecordPlan, patience: Patience = unlimited) -> Row | None:
        """One record, None when there is none."""

    def page(self, plan: PagePlan, patience: Patience = unlimited) -> Slices:
        """The rows of a page, in slices small enough for the event loop."""

    async def count(self, plan: CountPlan, patience: Patience = unlimited) -> int:
        """The number of records that match, or of rows in a pipeline's result."""

    async def related(self, plan: RelatedPlan, patience: Patience = unlimited) -> list[Row]:
        """The records to which navigation leads, those of one value together and in order."""

    async def related_counts(
        self, plan: RelatedPlan, patience: Patience = unlimited
    ) -> dict[Stored, int]:
        """How many records navigation leads to, by value; values without any are left out."""

    async def position(self, company: Company, at_least: int = 0) -> int:
        """The number of the company's last change, 0 when there is none.

        What is read later is not older. A replica is only asked when it knows a change with the
        number `at_least`.
        """

    async def changes_of(
        self,
        company: Company,
        entity_set: EntitySet,
        since: int,
        until: int,
        limit: int,
        patience: Patience = unlimited,
    ) -> list[Change]:
        """The changes of one set behind a number and up to another, in order, without gaps."""


class Renewed(Refusal):
    """503: a company has another incarnation than when it was looked up. Look it up again."""

    def __init__(self, company_id: str) -> None:
        super().__init__(
            UNAVAILABLE,
            f"The company {company_id} was renewed while the request was answered. Send it again.",
            headers={"Retry-After": "1"},
        )


class Store(Reads, Protocol):
    """Reads records, and writes them by units of work."""

    statements: Statements
    """The statements for units of work that the store does not know itself."""

    condition: Condition
    watermarks: Watermarks
    """The changes that this process has acknowledged; it writes to no database that lacks them."""

    def replicated(self, company: Company, seen: int) -> Reads:
        """What reads of one company for one request, which may be answered by a replica.

        They show the company's state after its change with the number `seen`, or a later one; with
        0, whatever the replica has. Without a replica that is the store itself.
        """

    async def company(self, company_id: str, *, may_lag: bool = False) -> Company | None:
        """The company with this id, None when there is none.

        It may have gone for `KNOWN_SECONDS`, or with `may_lag` for longer: then a replica is to be
        asked, which sees for itself, and the primary need not answer.
        """

    def forget(self, company_id: str) -> None:
        """Let the company be looked up again when it is asked for next."""

    async def renew(self, company_id: str) -> int:
        """Give a company another incarnation; returns the number of its last change.

        Others may know the incarnation of before for `KNOWN_SECONDS`, but write nothing by it.
        Raises `Refusal` (404) when there is no such company.
        """

    async def last_change(self, company: Company) -> Watermark | None:
        """The last change of a company, with number 0 when it has none.

        None when there is no such company, or when it has another incarnation.
        """

    async def create_company(self, company_id: str, name: str) -> Company:
        """Add a company; raises `Refusal` (409) when the id is taken."""

    async def search_lag(self, company: Company, entity_set: EntitySet) -> int:
        """How many changes of a company the search index of one of its sets is behind."""

    async def catch_up(self, company: Company, entity_set: EntitySet) -> None:
        """Bring the search index of a set up to the last change.

        Searches are exact without it, and have it done in the background where it pays.
        """

    async def write(self, plan: WritePlan) -> Written:
        """Run a unit of work; returns when it is durable, raises `Refusal` when it is not done."""

    async def write_all(self, plans: Sequence[WritePlan]) -> list[Written]:
        """Run several writes of one company as one unit of work, in order: all or none.

        Raises `GroupRefusal` for the first that is refused.
        """

    async def submit(self, company_id: str, unit: UnitFactory[T]) -> T:
        """Run one of the many units of work of a long operation, in a transaction of its own.

        Returns when it is durable and other writers have had their turn. Raises what the unit
        raises, and `Refusal`: 429 when too many writes wait, 503 when the transaction failed. After
        either, nothing of the unit is stored. When the task was cancelled meanwhile, the unit is
        stored, and `CancelledError` is raised after it.
        """

    async def read(self, unit: Generator[Statement, list[Row], T]) -> T:
        """Run a unit that only reads."""

    def snapshot(self) -> AbstractAsyncContextManager[SnapshotConnection]:
        """A connection with a fixed view: what is committed when the block begins."""

    async def refresh_statistics(self, tables: Sequence[str]) -> None:
        """Refresh the planner's statistics of tables after many rows were written to them.

        It does not change any result, and never raises.
        """

    async def changes(self, company: Company, since: int, limit: int) -> list[Change]:
        """The change log behind a number, in order, without gaps."""

    async def check(self) -> None:
        """Raise `Refusal` (503) unless the database answers."""

    async def close(self) -> None:
        """Finish what was accepted, then let go of the database."""
