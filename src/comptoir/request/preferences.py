"""The `Prefer` header (RFC 7240; OData Protocol 4.01, section 8.2.8)."""

from collections.abc import Mapping

import msgspec

from comptoir.request.fields import elements, kept
from comptoir.request.headers import Headers

MINIMAL = "minimal"
REPRESENTATION = "representation"

_PREFIX = "odata."
_COUNTED_DIGITS = 9


class Preferences(msgspec.Struct, frozen=True):
    """The preferences of a request, without those that are unknown or have no effect here.

    `returns` is `minimal` or `representation`; `max_page_size` is in records, at least 1;
    `prefixed` are the names that were sent in the form of OData 4.0, with `odata.`.
    """

    returns: str | None = None
    max_page_size: int | None = None
    track_changes: bool = False
    continue_on_error: bool | None = None
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

        `page_size` is the applied limit of a page; the others say which preference was applied. A
        preference that was not sent is left out.
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
    """The preferences of a request with these headers."""
    prefer = headers.get(b"prefer")
    return NO_PREFERENCES if prefer is None else parse_preferences(prefer)


@kept
def parse_preferences(prefer: bytes) -> Preferences:
    """Read a `Prefer` header; the first of two equal preferences counts (RFC 7240, section 2).

    The name of OData 4.01 takes precedence over the one with `odata.` (Protocol 4.01, 8.2.8).
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
