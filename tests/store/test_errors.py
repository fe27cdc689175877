"""Error responses to errors of PostgreSQL: code, message and `Retry-After`."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator

import pytest

from comptoir.config import Settings
from comptoir.errors.refusal import Refusal
from comptoir.store.postgres.connection import Connection, connect
from comptoir.store.postgres.errors import DRIVER_ERRORS, refusal_of
from support.postgres import Databases, name_of
from support.together import together
from support.waiting import PATIENCE_SECONDS

STATES = {
    "Internal_DatabaseFull": ("53100",),
    "Internal_DatabaseBusy": ("53200", "53300", "53400", "55P03", "40001", "40P01"),
    "Internal_DatabaseReadOnly": ("25006",),
    "Internal_DatabaseNotReady": ("42501", "42P01", "42883"),
    "Internal_DatabaseUnreachable": ("57P01", "57P02", "57P03", "08006", "28P01", "3D000"),
    "Internal_Unavailable": ("57014", "XX000"),
}
Work = Callable[[Connection], Awaitable[object]]


@pytest.fixture(scope="module")
def postgres_url(postgres_server: Databases) -> Iterator[str]:
    """The URL of an empty database, which the tests do not change."""
    url = postgres_server.new_database()
    yield url
    postgres_server.drop(url)


def refused(url: str, work: Work) -> Refusal:
    """The response to work on a connection that fails."""

    async def tried() -> Refusal:
        connection = await connect(Settings(), url, seconds=PATIENCE_SECONDS)
        try:
            await work(connection)
        except DRIVER_ERRORS as error:
            return refusal_of(error)
        finally:
            await connection.close()
        raise AssertionError("the work did not fail")

    return asyncio.run(tried())


def raising(
    state: str, message: str = "of no use to a client", detail: str = "onlinePassword = hush"
) -> str:
    return (
        f"DO $$BEGIN RAISE EXCEPTION '{message}'"
        f" USING ERRCODE = '{state}', DETAIL = '{detail}'; END$$"
    )


@together(("state", "code"), [(each, code) for code, states in STATES.items() for each in states])
def test_each_error_has_its_error_code(
    postgres_url: str, state: str, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        refusal = refused(postgres_url, lambda connection: connection.execute(raising(state)))
    assert (refusal.error.code, refusal.error.status) == (code, 503)
    assert int(refusal.headers["Retry-After"]) > 0
    assert "of no use" not in refusal.message
    assert f"of no use to a client ({state})" in caplog.text
    assert "hush" not in caplog.text


@together(
    ("statement", "code", "status"),
    [
        (raising("CO400", "BEYOND_BITS"), "BadRequest_InvalidRequestUrl", 400),
        ("SELECT 9223372036854775807 + 1::BIGINT", "BadRequest_InvalidRequestUrl", 400),
        ("SELECT 1 / 0", "BadRequest_InvalidRequestUrl", 400),
        ("SELECT 1" + " + 1" * 50_000, "BadRequest_MethodNotImplemented", 501),
    ],
)
def test_an_error_of_the_request_is_not_503(
    postgres_url: str, statement: str, code: str, status: int
) -> None:
    refusal = refused(postgres_url, lambda connection: connection.execute(statement))
    assert (refusal.error.code, refusal.error.status) == (code, status)


def test_a_text_with_a_nul_returns_400(postgres_url: str) -> None:
    refusal = refused(postgres_url, lambda each: each.fetch("SELECT $1::TEXT", "a\0b"))
    assert refusal.error.status == 400


def test_a_routine_names_its_refusal(postgres_url: str) -> None:
    raises = raising("CO400", "DIVIDED_BY_ZERO", "2 div 0")
    refusal = refused(postgres_url, lambda each: each.execute(raises))
    assert refusal.message == (
        "The query cannot be computed: 2 div 0 has no result: the divisor is zero. Change the "
        "expression, or exclude the records with such values."
    )


@together("statement", ["SELECT $1::INT", "SELECT $1::TEXT::INT"])
def test_no_value_of_a_record_is_logged(
    postgres_url: str, statement: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        refusal = refused(postgres_url, lambda each: each.fetch(statement, "hush"))
    assert refusal.error.status == 503
    assert "invalid data (22" in caplog.text
    assert "hush" not in caplog.text


def test_a_lost_connection_returns_503(postgres_server: Databases, postgres_url: str) -> None:
    name = name_of(postgres_url)

    async def cut(connection: Connection) -> None:
        pid = connection.get_server_pid()
        administrator = await postgres_server.administrator(name)
        milliseconds = PATIENCE_SECONDS * 1_000
        await administrator.execute(f"SELECT pg_terminate_backend({pid}, {milliseconds})")
        await administrator.close()
        await connection.execute("SELECT 1")

    refusal = refused(postgres_url, cut)
    assert refusal.error.code == "Internal_DatabaseUnreachable"
