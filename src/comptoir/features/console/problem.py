"""Requests to the console that fail, and the page that says why."""

from collections.abc import Mapping
from typing import Self

from starlette.responses import Response

from comptoir.errors.messages import message
from comptoir.errors.refusal import Refusal
from comptoir.features.console.templates import html_page


class Problem(Exception):  # noqa: N818 - an answer, not an error of the program
    """An answer that is not what the user wanted, with a status of HTTP."""

    def __init__(
        self, status: int, problem: str, remedy: str, headers: Mapping[str, str] | None = None
    ) -> None:
        self.problem = problem
        self.message = message(problem, remedy)
        super().__init__(self.message)
        self.status = status
        self.headers = dict(headers or {})

    @classmethod
    def of(cls, refusal: Refusal) -> Self:
        """The problem of a request that the service refused."""
        found = cls(refusal.error.status, refusal.problem, refusal.remedy, refusal.headers)
        found.message = refusal.message
        return found


def unanswered() -> Problem:
    """The problem that the database did not answer in time."""
    remedy = "Try again in a moment. `/readyz` and the log of the service say what is wrong."
    return Problem(503, "The database does not answer", remedy, {"Retry-After": "5"})


def problem_page(problem: Problem) -> Response:
    """The page that says what is wrong to somebody who may not be logged in."""
    return html_page(
        "problem_outside.html",
        {"title": "Not possible", "problem": problem},
        problem.status,
        problem.headers,
    )
