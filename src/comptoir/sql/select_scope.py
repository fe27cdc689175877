"""Select scopes: the nested SELECTs of a statement under construction, with their columns."""

from collections.abc import Callable, Iterator, Sequence
from itertools import count

from sqlalchemy import CTE, ColumnElement, FromClause, Select, select

SqlValue = ColumnElement[str | int]
Selected = ColumnElement[str | int] | ColumnElement[int]
Name = tuple[int, str]
"""The number of a step, 0 for the records of the statement itself, and a property."""

Finish = Callable[[Select[*tuple[str | int, ...]]], Select[*tuple[str | int, ...]]]
"""Groups, sorts or limits a SELECT."""


class SelectScope:
    """A SELECT under construction: its FROM clauses, its conditions, and its columns by name.

    An expression may use the columns of the enclosing scope `parent` too.
    """

    def __init__(
        self,
        froms: Sequence[FromClause],
        columns: dict[Name, SqlValue],
        conditions: Sequence[ColumnElement[bool]] = (),
        parent: "SelectScope | None" = None,
    ) -> None:
        self.froms = list(froms)
        self.columns = columns
        self.conditions = list(conditions)
        self.parent = parent
        self.computed: dict[int, SqlValue] = {}
        """The columns of the nodes that a CTE computes, by the identity of the node."""

        self._ctes: list[CTE] = []
        self._numbers: Iterator[int] = count() if parent is None else parent._numbers

    @property
    def cte_count(self) -> int:
        """The number of common table expressions (CTEs) that the scope selects from."""
        return len(self._ctes)

    def column(self, step: int, name: str) -> SqlValue:
        """Return a column of this scope or of an enclosing one."""
        scope: SelectScope | None = self
        while scope is not None:
            found = scope.columns.get((step, name))
            if found is not None:
                return found
            scope = scope.parent
        raise LookupError(f"no select scope has {name} of step {step}")

    def selecting(self, *values: Selected) -> Select[*tuple[str | int, ...]]:
        """Build the SELECT of some values; it correlates with the enclosing scopes."""
        # With its name in the list, a CTE is compiled before those that select from it, not within
        # them. The CTEs of a nested scope are in a list of its own.
        nest_here = self.parent is not None
        return self._selecting(values).add_cte(*self._ctes, nest_here=nest_here)

    def _selecting(self, values: Sequence[Selected]) -> Select[*tuple[str | int, ...]]:
        statement = select(*values).select_from(*self.froms).where(*self.conditions)
        return statement if self.parent is None else statement.correlate_except(*self.froms)

    def _select_from(self, statement: Select[*tuple[str | int, ...]]) -> CTE:
        cte = statement.cte(f"cte_{next(self._numbers)}")
        self.froms, self.conditions = [cte], []
        self._ctes.append(cte)
        return cte

    def extend(self, kept: dict[int, SqlValue], values: Sequence[SqlValue]) -> list[SqlValue]:
        """Move the scope onto a CTE that has further values as columns, and return these columns.

        `kept` are the columns of earlier CTEs to keep.
        """
        names, ids = list(self.columns), list(kept)
        listed = [*self.columns.values(), *kept.values(), *values]
        labels = [f"c{number}" for number in range(len(listed))]
        labelled = [each.label(label) for each, label in zip(listed, labels, strict=True)]
        cte = self._select_from(self._selecting(labelled))
        columns: list[SqlValue] = [cte.c[label] for label in labels]
        self.columns = dict(zip(names, columns[: len(names)], strict=True))
        others = columns[len(names) :]
        self.computed = dict(zip(ids, others[: len(ids)], strict=True))
        return others[len(ids) :]

    def project(self, columns: dict[Name, SqlValue], finish: Finish) -> None:
        """Move the scope onto a CTE that has only these columns; `finish` adds its last clauses."""
        labels = [f"c{number}" for number in range(len(columns))]
        values = [each.label(label) for each, label in zip(columns.values(), labels, strict=True)]
        cte = self._select_from(finish(self._selecting(values)))
        self.computed = {}
        self.columns = {name: cte.c[label] for name, label in zip(columns, labels, strict=True)}
