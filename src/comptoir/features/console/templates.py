"""The templates, whose values are always escaped, and the page of a refusal."""

from collections.abc import Hashable, Mapping
from functools import cache, lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from comptoir import __version__
from comptoir.errors.messages import time_text
from comptoir.errors.refusal import Refusal
from comptoir.http.redaction import MASK

Context = Mapping[str, object]
"""The values of a template, by their names there."""

LARGEST_FORM = 1 << 20
"""The most bytes of a form."""

SHARED_PARTS = 300
"""Parts of pages that are kept, of a few kilobytes each, or 20 with the most companies."""

_PAGES = Path(__file__).with_name("pages")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_PAGES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals = {"version": __version__, "mask": MASK, "largest_form": LARGEST_FORM}
    environment.filters["time"] = _time
    return environment


def minute_text(instant: str) -> str:
    """An RFC 3339 time in UTC for people, to the minute."""
    return f"{instant[:10]} {instant[11:16]} UTC"


def _time(moment: float | str) -> Markup:
    """A time, in seconds since 1970 or as RFC 3339, which scripts show in the reader's zone."""
    exact = moment if isinstance(moment, str) else time_text(moment)
    return Markup('<time datetime="{}">{}</time>').format(exact, minute_text(exact))


@lru_cache(SHARED_PARTS)
def shared_part(template: str, **context: Hashable) -> Markup:
    """A part that many pages have, which is written once for equal values."""
    part = _environment().get_template(template).render(context)
    return Markup(part)  # noqa: S704 - the template has escaped every value


def html_page(
    template: str, context: Context, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """The response with a page; every template needs a `title`."""
    pieces = _environment().get_template(template).generate(context)
    return HTMLResponse(b"".join([each.encode() for each in pieces]), status, headers)


def refusal_page(refusal: Refusal) -> Response:
    """The page that says what is wrong to somebody who may not be logged in."""
    context = {"title": "Not possible", "problem": refusal}
    return html_page("problem_outside.html", context, refusal.error.status, refusal.headers)
