"""What is known of the requests of a batch that have had their turn."""

import msgspec

from comptoir.errors import BAD_REQUEST, FAILED_DEPENDENCY, Refusal
from comptoir.request.batch import Part, holds, referenced_tag
from comptoir.request.headers import Headers
from comptoir.response.response import Response

_LOCATION = b"location"
_ENTITY_ID = b"odata-entityid"
_TAG_HEADERS = (b"if-match", b"if-none-match")


class Outcome(msgspec.Struct, frozen=True):
    """Whether a request was done; the path of its record below the base path, and its tag."""

    succeeded: bool
    path: str | None = None
    tag: bytes | None = None


class Outcomes:
    """The outcomes of requests and groups, by id and by name."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self._held: dict[str, Outcome] = {}

    def note(self, part: Part, path: str | None, answer: Response) -> None:
        """Take the answer to a request that went to a path."""
        if part.id is None:
            return
        held = dict(answer.headers)
        location = held.get(_LOCATION) or held.get(_ENTITY_ID)
        if location is not None:
            path = location.decode("latin-1").removeprefix(self._base_url)
        self._held[part.id] = Outcome(_is_success(answer), path, held.get(b"etag"))

    def expect(self, part: Part, path: str | None) -> None:
        """Take the path of the record that a request of an atomic group will create or change."""
        if part.id is not None:
            self._held[part.id] = Outcome(succeeded=True, path=path)

    def note_success(self, name: str | None) -> None:
        """Take that an atomic group was done."""
        if name is not None:
            self._held[name] = Outcome(succeeded=True)

    def note_failure(self, name: str | None) -> None:
        """Take that a request or a group was not done."""
        if name is not None:
            self._held[name] = Outcome(succeeded=False)

    def hindrance(self, part: Part) -> Refusal | None:
        """424 for a request that must not be done, because of what happened to those before it."""
        if part.condition is not None:
            succeeded = {name: each.succeeded for name, each in self._held.items()}
            if not holds(part.condition, succeeded):
                return not_done("its condition, if, does not hold")
        needed = () if part.condition is not None else part.depends_on
        for name in (*needed, *_references(part)):
            if name in self._held and not self._held[name].succeeded:
                return not_done(f"{name} was not done, and it depends on that")
        return None

    def path_of(self, part: Part) -> str:
        """Where a request goes, below the base path."""
        address = part.address
        if address.reference is None:
            return address.path
        path = self._held[address.reference].path
        if path is None:
            raise Refusal(
                BAD_REQUEST,
                f"The key of {address.reference} is not known before its atomic group is done. "
                "Name the record by its key there, or refer to it behind the group.",
            )
        return path + address.path

    def with_tags(self, headers: Headers) -> Headers:
        """Headers in which `$<id>` for an entity tag is that tag; `Refusal` if there is none."""
        found: dict[bytes, bytes] = {}
        for name in _TAG_HEADERS:
            wanted = referenced_tag(headers, name)
            if wanted is None:
                continue
            tag = self._held[wanted].tag
            if tag is None:
                raise Refusal(
                    BAD_REQUEST,
                    f"The answer to {wanted} has no entity tag. Refer to one that has, such as "
                    "that of a single record.",
                    target=name.decode().title(),
                )
            found[name] = tag
        return {**headers, **found} if found else headers


def stands_alone(part: Part) -> bool:
    """Whether a request refers to no other."""
    return not part.depends_on and part.condition is None and not _references(part)


def not_done(reason: str) -> Refusal:
    """424, and why."""
    return Refusal(
        FAILED_DEPENDENCY, f"The request was not done: {reason}. Nothing was changed by it."
    )


def _is_success(answer: Response) -> bool:
    # what a request depends on must have been answered with 2xx (OData JSON Format 4.01, 19.1)
    return 200 <= answer.status < 300


def _references(part: Part) -> list[str]:
    tags = [referenced_tag(part.headers, name) for name in _TAG_HEADERS]
    return [name for name in (part.address.reference, *tags) if name is not None]
