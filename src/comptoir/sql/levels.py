"""The nested SELECTs of a statement: what each selects from, and the columns that it has."""

from collections.abc import Callable, Iterator, Sequence
from itertools import count

from sqlalchemy import CTE, ColumnElement, FromClause, Select, select

SqlValue = ColumnElement[str | int]
Selected = ColumnElement[str | int] | ColumnElement[int]
Name = tuple[int, str]
"""A step of a path, 0 for the records that are asked about, and a property."""


class Level:
    """A SELECT under construction: its FROM clauses, its conditions, the columns by their names.

    `parent` is the one around it, whose columns it may use.
    """

    def __init__(
        self,
        froms: Sequence[FromClause],
        columns: dict[Name, SqlValue],
        holds: Sequence[ColumnElement[bool]] = (),
        parent: "Level | None" = None,
    ) -> None:
        self.froms = list(froms)
        self.columns = columns
        self.holds = list(holds)
        self.parent = parent
        self.computed: dict[int, SqlValue] = {}
        self._stages: list[CTE] = []
        self._names: Iterator[int] = count() if parent is None else parent._names

    @property
    def stages(self) -> int:
        """How many common table expressions stand below."""
        return len(self._stages)

    def column(self, step: int, name: str) -> SqlValue:
        """A column of this level, or of one around it."""
        level: Level | None = self
        while level is not None:
            found = level.columns.get((step, name))
            if found is not None:
                return found
            level = level.parent
        raise LookupError(f"no level has {name} of step {step}")

    def selecting(self, *values: Selected) -> Select[*tuple[str | int, ...]]:
        """The SELECT of some values; what is not of this level is of the levels around it."""
        # named in order, each stage is compiled before those that stand on it, and not within them;
        # those of a level within another stand there side by side
        nest_here = self.parent is not None
        return self._selecting(values).add_cte(*self._stages, nest_here=nest_here)

    def _selecting(self, values: Sequence[Selected]) -> Select[*tuple[str | int, ...]]:
        statement = select(*values).select_from(*self.froms).where(*self.holds)
        return statement if self.parent is None else statement.correlate_except(*self.froms)

    def _onto(self, stage: CTE) -> None:
        self.froms, self.holds = [stage], []
        self._stages.append(stage)

    def stage(self, kept: dict[int, SqlValue], values: Sequence[SqlValue]) -> list[SqlValue]:
        """Move this level onto a common table expression with further values as columns.

        `kept` are values that earlier stages computed; the columns of the new values are returned.
        """
        names = list(self.columns)
        ids = list(kept)
        listed = [*self.columns.values(), *kept.values(), *values]
        labels = [f"c{number}" for number in range(len(listed))]
        labelled = [each.label(label) for each, label in zip(listed, labels, strict=True)]
        stage = self._selecting(labelled).cte(f"stage_{next(self._names)}")
        columns: list[SqlValue] = [stage.c[label] for label in labels]
        self._onto(stage)
        self.columns = dict(zip(names, columns[: len(names)], strict=True))
        behind = columns[len(names) :]
        self.computed = dict(zip(ids, behind[: len(ids)], strict=True))
        return behind[len(ids) :]

    def settle(
        self,
        columns: dict[Name, SqlValue],
        finish: Callable[[Select[*tuple[str | int, ...]]], Select[*tuple[str | int, ...]]],
    ) -> None:
        """Move this level onto a common table expression that has these columns alone.

        `finish` groups, sorts or limits the SELECT that it is made of.
        """
        labels = [f"c{number}" for number in range(len(columns))]
        values = [each.label(label) for each, label in zip(columns.values(), labels, strict=True)]
        stage = finish(self._selecting(values)).cte(f"stage_{next(self._names)}")
        self._onto(stage)
        self.computed = {}
        self.columns = {name: stage.c[label] for name, label in zip(columns, labels, strict=True)}
