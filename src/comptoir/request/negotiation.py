"""Which of several media types a client likes best (RFC 9110, section 12.5.1)."""

from collections.abc import Sequence

from comptoir.request.fields import Element, elements, quality


def best_liked(accept: str | None, offered: Sequence[str]) -> str | None:
    """The media type that `Accept` likes best, None when it accepts none of them.

    Of those that it likes alike, the first that is offered.
    """
    if accept is None:
        return offered[0]
    ranges = elements(accept)
    liked = [_liking(each, ranges) for each in offered]
    most = max(liked)
    return offered[liked.index(most)] if most > 0 else None


def _liking(media_type: str, ranges: Sequence[Element]) -> float:
    """What the most specific range that has the media type says of it, 0 when none has it."""
    whole = media_type.partition("/")[0] + "/*"
    for wanted in (media_type, whole, "*/*"):
        qualities = [quality(each) for each in ranges if each.name == wanted]
        if qualities:
            return max(qualities)
    return 0.0
