"""What a client would like (RFC 7240; OData Protocol 4.01, section 8.2.8): the `Prefer` header."""

from collections.abc import Mapping

import msgspec

from comptoir.request.fields import elements, kept
from comptoir.request.headers import Headers

MINIMAL = "minimal"
REPRESENTATION = "representation"

_PREFIX = "odata."
_COUNTED_DIGITS = 9


class Preferences(msgspec.Struct, frozen=True):
    """The preferences of a request; what nobody knows or cannot be honoured is left out.

    `returns` is `minimal` or `representation`; `max_page_size` in records, more than 0;
    `include_annotations` the patterns as sent; `handling` is `strict` or `lenient`; `wait` in
    seconds; `prefixed` names the preferences that were sent in the form of 4.0, with `odata.`.
    """

    returns: str | None = None
    max_page_size: int | None = None
    track_changes: bool = False
    continue_on_error: bool | None = None
    include_annotations: str | None = None
    respond_async: bool = False
    handling: str | None = None
    wait: int | None = None
    prefixed: frozenset[str] = frozenset()

    def applied(
        self,
        *,
        page_size: int | None = None,
        returns: bool = False,
        track_changes: bool = False,
        continue_on_error: bool = False,
    ) -> bytes:
        """The value of `Preference-Applied`, empty when nothing was applied.

        `page_size` is what the page was cut at; the others say which preference was honoured. One
        that was not sent is left out.
        """
        names: list[str] = []
        if returns and self.returns is not None:
            names.append(f"return={self.returns}")
        if page_size is not None and self.max_page_size is not None:
            names.append(f"{self._as_sent('maxpagesize')}={page_size}")
        if track_changes and self.track_changes:
            names.append(self._as_sent("track-changes"))
        if continue_on_error and self.continue_on_error is not None:
            value = "" if self.continue_on_error else "=false"
            names.append(self._as_sent("continue-on-error") + value)
        return ", ".join(names).encode()

    def _as_sent(self, name: str) -> str:
        return _PREFIX + name if name in self.prefixed else name


NO_PREFERENCES = Preferences()


def preferences(headers: Headers) -> Preferences:
    """What the client would like."""
    prefer = headers.get(b"prefer")
    return NO_PREFERENCES if prefer is None else parse_preferences(prefer)


@kept
def parse_preferences(prefer: bytes) -> Preferences:
    """Read a `Prefer` header. Of a preference that is given twice the first counts (RFC 7240, 2).

    The name of 4.01 goes before the one with `odata.` (OData Protocol 4.01, 8.2.8).
    """
    given: dict[str, str] = {}
    for element in elements(prefer.decode("latin-1")):
        given.setdefault(element.name, element.value)
    prefixed = frozenset(
        name.removeprefix(_PREFIX)
        for name in given
        if name.startswith(_PREFIX) and name.removeprefix(_PREFIX) not in given
    )
    held = given | {name: given[_PREFIX + name] for name in prefixed}
    return Preferences(
        returns=_one_of(held, "return", MINIMAL, REPRESENTATION),
        max_page_size=_whole(held.get("maxpagesize", "")) or None,
        track_changes="track-changes" in held,
        continue_on_error=_flag(held, "continue-on-error"),
        include_annotations=held.get("include-annotations"),
        respond_async="respond-async" in held,
        handling=_one_of(held, "handling", "strict", "lenient"),
        wait=_whole(held.get("wait", "")),
        prefixed=prefixed,
    )


def _one_of(held: Mapping[str, str], name: str, *values: str) -> str | None:
    value = held.get(name, "").lower()
    return value if value in values else None


def _flag(held: Mapping[str, str], name: str) -> bool | None:
    if name not in held:
        return None
    return {"": True, "true": True, "false": False}.get(held[name].lower())


def _whole(text: str) -> int | None:
    if not (text.isascii() and text.isdigit()):
        return None
    return int(text) if len(text) <= _COUNTED_DIGITS else 10**_COUNTED_DIGITS
