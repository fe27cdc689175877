"""What Business Central evaluates of queries."""

from dataclasses import replace

from comptoir.profiles.record import Dialect, Queries

_WITHOUT_LISTS = Dialect(
    alternatives="refused",
    lists="refused",
    nested_calls="refused",
    lambdas="ignored",
    ignores_case=True,
    null_is_blank=True,
    lower_case=True,
    any_case_names=True,
)
_WITH_LISTS = replace(_WITHOUT_LISTS, lists="evaluated", nested_calls="evaluated")
_IGNORING_LISTS = replace(_WITHOUT_LISTS, lists="ignored", nested_calls="ignored")


def queries_of(version: int) -> Queries:
    """The rules of queries in a version of Business Central."""
    is_former = version < 24
    unsupported = {"$apply", "$compute", "$search"} | (set() if is_former else {"$deltatoken"})
    return Queries(
        dialect=_WITHOUT_LISTS if version > 22 else _IGNORING_LISTS,
        version="1.0" if is_former else "2.0",
        others={"2.1": _WITH_LISTS},
        # enumerations have captions with 1.0, and names with the later ones
        renamed=frozenset({"2.0", "2.1"} if is_former else {"1.0"}),
        unsupported=frozenset(unsupported),
        tracks_changes=is_former,
        next_link="last record",
        count_mark=True,
    )
