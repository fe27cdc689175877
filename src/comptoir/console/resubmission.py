"""Forms that were not acted on: a page keeps what they have, and sends it again."""

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from comptoir.console.problem import Problem
from comptoir.console.templates import LARGEST_FORM, html_page
from comptoir.console.visit import FormData

SECRET = "secret."  # noqa: S105 - the name of a field
"""What the names of fields begin with whose values no page shows."""

TOKEN = "token"  # noqa: S105 - the name of a field
"""The name of the field with the token of the session."""

LONG = 200
"""The least characters of a text that can be shortened where a form is too large."""

_CARRIED = frozenset({"read", "now", "wanted"})
"""The fields in which pages carry versions of a record."""


def resubmission(
    request: Request, form: FormData, problem: Problem, token: str = ""
) -> Response | None:
    """The page that says why a form was not acted on, and sends it again with this token.

    None if nothing was typed. Only the console's own pages get this far, since the guards refuse
    the forms of other sites.
    """
    if all(name == TOKEN for name, _ in form.pairs):
        return None
    return _page(request, form, problem, token)


def shortening(request: Request, form: FormData, token: str) -> Response:
    """The page with a form that is too large, where its long texts can be shortened."""
    problem = Problem(
        413,
        f"The form has more than {LARGEST_FORM:,} bytes",
        "Shorten a text, then send it again.",
    )
    long = [pair for pair in form.pairs if len(pair[1]) >= LONG and pair[0] not in _CARRIED]
    return _page(request, form, problem, token, long)


def _page(
    request: Request,
    form: FormData,
    problem: Problem,
    token: str,
    long: Sequence[tuple[str, str]] = (),
) -> Response:
    url = request.url
    hidden = [
        (name, value)
        for name, value in form.pairs
        if name != TOKEN and not name.startswith(SECRET) and (name, value) not in long
    ]
    context = {
        "title": "Not sent yet",
        "problem": problem,
        "action": f"{url.path}?{url.query}" if url.query else url.path,
        "token": token,
        "fields": hidden,
        "long": [
            (name, name.partition(".")[2] or name, value)
            for name, value in long
            if not name.startswith(SECRET)
        ],
        "has_secrets": any(name.startswith(SECRET) and value for name, value in form.pairs),
    }
    return html_page("resubmission.html", context, problem.status, problem.headers)
