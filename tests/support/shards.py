"""Finds the companies that a statement reads, by PostgreSQL's planner.

The tables of a database are created again with partitions by a hash of the company, and a plan
lists the partitions that a statement reads. Citus routes a statement by the same restrictions,
which PostgreSQL's planner finds for each table. So a statement that reads the partitions of one
company reads one node there.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import asyncpg

from comptoir.catalog import MODEL
from comptoir.edm.model import Model
from comptoir.sql.tables import COMPANY_ID, build_tables
from support.postgres_proxy import Values

T = TypeVar("T")

SHARDS = 8

Argument: TypeAlias = "str | bytes | int | bool | Sequence[Argument] | None"
Node: TypeAlias = "Mapping[str, str | Sequence[Node]]"

_SHARD = re.compile(r"(\w+)__(\d+)")
_INSERT = re.compile(r'INSERT INTO "?\w+"? \(([^()]+)\) VALUES \(([^()]+)\)')
_COPY = re.compile(r'COPY "?\w+"? ?\(([^()]+)\) FROM STDIN')
_CHANGES = ("INSERT", "UPDATE", "DELETE")
_SESSION = re.compile(r"(BEGIN|SET|SHOW|FETCH|COMMIT|ROLLBACK)\b", re.IGNORECASE)
_WHOLE = ("int2", "int4", "int8", "oid")
_LIST = "[]"


def tables_of(model: Model) -> tuple[str, ...]:
    """The names of the tables of a model."""
    return tuple(build_tables(model).metadata.tables)


TABLES = tables_of(MODEL)


def shard(url: str, tables: Iterable[str] = TABLES) -> None:
    """Create tables of a database again, empty and partitioned by company."""
    asyncio.run(_shard(url, tables))


async def _shard(url: str, tables: Iterable[str]) -> None:
    connection = await asyncpg.connect(url)
    try:
        for table in tables:
            parts = [
                f'CREATE TABLE "{table}__{number}" PARTITION OF "{table}"'
                f" FOR VALUES WITH (MODULUS {SHARDS}, REMAINDER {number});"
                for number in range(SHARDS)
            ]
            await connection.execute(
                f'ALTER TABLE "{table}" RENAME TO "{table}_before";'
                f'CREATE TABLE "{table}" (LIKE "{table}_before" INCLUDING ALL)'
                f" PARTITION BY HASH ({COMPANY_ID});"
                f'DROP TABLE "{table}_before";{"".join(parts)}'
            )
    finally:
        await connection.close()


ACROSS_COMPANIES: Mapping[str, str] = {
    "companies": "whoever lists the companies asks for all of them: Citus asks every node, and "
    "puts their answers together, as it does for whatever reads and does not lock"
}
"""The tables from which a statement may read rows of all companies, with the reasons."""


@dataclass(frozen=True)
class RoutingError:
    """The reason why a statement cannot be routed, and the tables that it reads."""

    reason: str
    tables: frozenset[str] = frozenset()
    changes: bool = True


def may_cross(error: RoutingError) -> bool:
    """Whether a statement may read all companies."""
    return not error.changes and bool(error.tables) and error.tables <= ACROSS_COMPANIES.keys()


def errors(database: str, statements: Mapping[str, Sequence[Values]]) -> dict[str, RoutingError]:
    """The statements that cannot be routed by the company, in a database created by `shard`.

    Each is planned with the first of its bindings that works, otherwise with generated values.
    """
    judged = asyncio.run(_planned(database, statements, _Planner.error))
    return {text: error for text, error in judged.items() if error is not None}


def tables_read(database: str, statements: Mapping[str, Sequence[Values]]) -> dict[str, set[str]]:
    """The tables that each statement reads by its plan; the planner may omit some of them."""
    return asyncio.run(_planned(database, statements, _Planner.tables))


async def _planned(
    database: str,
    statements: Mapping[str, Sequence[Values]],
    judge: "Callable[[_Planner, str, Sequence[Values]], Awaitable[T]]",
) -> dict[str, T]:
    connection = await asyncpg.connect(database)
    try:
        planner = await _Planner.of(connection)
        return {text: await judge(planner, text, bound) for text, bound in statements.items()}
    finally:
        await connection.close()


class _Planner:
    def __init__(self, connection: asyncpg.Connection, made_up: Sequence[str]) -> None:
        self._connection = connection
        self._made_up = made_up

    @classmethod
    async def of(cls, connection: asyncpg.Connection) -> "_Planner":
        """A planner that generates values; consecutive ones are in different partitions."""
        rows = await connection.fetch(
            "SELECT min(number) FROM generate_series(1000, 2000) AS number,"
            f" generate_series(0, {SHARDS - 1}) AS shard"
            f" WHERE satisfies_hash_partition('changes'::regclass, {SHARDS}, shard,"
            " number::VARCHAR) GROUP BY shard ORDER BY shard"
        )
        return cls(connection, [str(number) for (number,) in rows])

    async def error(self, text: str, bindings: Sequence[Values]) -> RoutingError | None:
        """Why a statement reads more than one company; None if it does not."""
        if _SESSION.match(text):
            return None
        if text.startswith("COPY"):
            parts = _COPY.match(text)
            is_copied = parts is not None and COMPANY_ID in re.findall(r"\w+", parts[1])
            return None if is_copied else RoutingError("it copies what is of no company")
        scanned = await self._scanned(text, bindings)
        if text.startswith("INSERT"):
            inserts = _inserts_of_company(text) and not scanned
            return None if inserts else RoutingError("it inserts what is of no company")
        changes = text.startswith(_CHANGES) or "FOR UPDATE" in text
        if text.startswith(_CHANGES) and "comptoir_" in text:
            return RoutingError("it changes records by what a routine computes")
        return _astray(scanned, changes=changes)

    async def tables(self, text: str, bindings: Sequence[Values]) -> set[str]:
        """The tables that a statement reads."""
        parts = map(_SHARD.fullmatch, await self._scanned(text, bindings))
        return {match[1] for match in parts if match}

    async def _scanned(self, text: str, bindings: Sequence[Values]) -> list[str]:
        """The tables, or their partitions, that a statement reads."""
        prepared = await self._connection.prepare(text)
        types = [each.name for each in prepared.get_parameters()]
        for values in bindings:
            arguments = [_read(*each) for each in zip(types, values, strict=True)]
            try:
                return await self._explained(text, arguments)
            except asyncpg.DataError:
                # the planner has found that an expression cannot be computed with these values
                continue
        return await self._explained(text, [self._any(*each) for each in enumerate(types)])

    def _any(self, number: int, type_name: str) -> Argument:
        if type_name.endswith(_LIST):
            return [self._any(number, type_name.removesuffix(_LIST))]
        if type_name == "bool":
            return True
        if type_name == "bytea":
            return b""
        return number + 1 if type_name in _WHOLE else self._made_up[number % SHARDS]

    async def _explained(self, text: str, arguments: Sequence[Argument]) -> list[str]:
        explained = await self._connection.fetchval(f"EXPLAIN (FORMAT JSON) {text}", *arguments)
        (plan,) = json.loads(explained)
        return [name for node, name in _relations(plan["Plan"]) if node != "ModifyTable"]


def _relations(node: Node) -> Iterator[tuple[str, str]]:
    """The relations in a plan, each with the type of its node."""
    if "Relation Name" in node:
        yield str(node["Node Type"]), str(node["Relation Name"])
    for inner in node.get("Plans", ()):
        assert isinstance(inner, Mapping)
        yield from _relations(inner)


def _astray(scanned: Sequence[str], *, changes: bool) -> RoutingError | None:
    """The error of a statement that reads these tables; only our own are distributed."""
    parts = [match for match in map(_SHARD.fullmatch, scanned) if match]
    tables = frozenset(match[1] for match in parts)
    if not parts or (len({match[2] for match in parts}) == 1 and len(parts) == len(scanned)):
        return None
    return RoutingError(f"it reads {', '.join(scanned)}", tables, changes)


def _inserts_of_company(text: str) -> bool:
    """Whether one row is inserted, with a value for the company."""
    parts = _INSERT.match(text)
    if parts is None:
        return False
    columns, values = (part.split(", ") for part in parts.groups())
    given: Mapping[str, str] = dict(zip(columns, values, strict=True))
    return given.get(COMPANY_ID, "").startswith("$")


def _read(type_name: str, value: bytes | None) -> Argument:
    """A parameter in the binary form of its type."""
    if value is None:
        return None
    if type_name.endswith(_LIST):
        # an array of one dimension: its length after its header, then each element with its length
        elements: list[Argument] = []
        at = 20
        while at < len(value):
            begin, at = at + 4, at + 4 + int.from_bytes(value[at : at + 4])
            elements.append(_read(type_name.removesuffix(_LIST), value[begin:at]))
        return elements
    if type_name == "bool":
        return value != b"\0"
    if type_name == "bytea":
        return value
    return int.from_bytes(value, signed=True) if type_name in _WHOLE else value.decode()
