"""Forms that were not acted on: a page keeps what they have, and sends it again."""

from starlette.requests import Request
from starlette.responses import Response

from comptoir.console.problem import Problem
from comptoir.console.templates import html_page
from comptoir.console.visit import FormData

SECRET = "secret."  # noqa: S105 - the name of a field
"""What the names of fields begin with whose values no page shows."""

TOKEN = "token"  # noqa: S105 - the name of a field
"""The name of the field with the token of the session."""


def resubmission(
    request: Request, form: FormData, problem: Problem, token: str = ""
) -> Response | None:
    """The page that says why a form was not acted on, and sends it again with this token.

    None if nothing was typed. Only the console's own pages get this far, since the guards refuse
    the forms of other sites.
    """
    if all(name == TOKEN for name, _ in form.pairs):
        return None
    url = request.url
    context = {
        "title": "Not sent yet",
        "problem": problem,
        "action": f"{url.path}?{url.query}" if url.query else url.path,
        "token": token,
        "fields": [
            (name, value)
            for name, value in form.pairs
            if name != TOKEN and not name.startswith(SECRET)
        ],
        "has_secrets": any(name.startswith(SECRET) and value for name, value in form.pairs),
    }
    return html_page("resubmission.html", context, problem.status, problem.headers)
