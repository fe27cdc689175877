"""The operations: what each verb takes and gives, whatever the kind."""

from collections.abc import Iterable, Mapping

from comptoir.edm.model import EntitySet
from comptoir.edm.types import JsonSchema
from comptoir.metadata.abilities import Abilities
from comptoir.metadata.openapi.parameters import (
    ACCESS,
    COUNT_OPTIONS,
    IF_MATCH,
    IF_MATCH_OPTIONAL,
    IF_NONE,
    IF_NONE_MATCH,
    MAX_VERSION,
    PAGE_OPTIONS,
    PREFER_PAGE,
    PREFER_RETURN,
    RECORD_OPTIONS,
    REFERENCE_OPTIONS,
    REPEATABLE,
    parameter,
)
from comptoir.metadata.openapi.responses import OF_PAGES, OF_READS, OF_WRITES, refused
from comptoir.metadata.openapi.schemas import (
    CREATE,
    PAGE,
    REFERENCE,
    REFERENCES,
    UPDATE,
    reference,
)

JSON = "application/json"
TEXT = "text/plain"

_TAG = ("ETag", "The record's entity tag.")
_PLACE = ("Location", "The record's address.")
_APPLIED = ("Preference-Applied", "What of `Prefer` was heeded.")
_REPEATED = ("Repeatability-Result", "Whether the request could be repeated: `accepted`.")
_TOKEN = ("Consistency-Token", "Sent with a read, it lets the read see this write.")
_GUARDED = (
    "`If-Match` guards the record of the same key: 412 if its tag is another, 409 if there is one "
    "all the same. Clients that name the protocol may leave it out."
)
_UPSERTED = "Replaces the record whole, with `If-Match`; makes it, with `If-None-Match: *`."


class Operations:
    """Describes the operations; every name of an operation is the set's and the verb's."""

    def __init__(self, abilities: Abilities) -> None:
        self._read = [{"bearer": [abilities.read_scope]}]
        self._write = [{"bearer": [abilities.write_scope]}]

    def list(self, entity_set: EntitySet, target: EntitySet, name: str) -> JsonSchema:
        """Read a page of `target`: a set, or what a relation of one leads to."""
        page = reference(f"{target.type.name}{PAGE}")
        return self._get(
            entity_set,
            name,
            f"Records of {target.name}, a page of them",
            (*PAGE_OPTIONS, PREFER_PAGE, MAX_VERSION),
            {"200": _answer("A page.", JSON, page, (_APPLIED,)), **refused(OF_PAGES)},
        )

    def count(self, entity_set: EntitySet, target: EntitySet, name: str) -> JsonSchema:
        """Count the records of `target`."""
        number = _answer("How many there are.", TEXT, {"type": "integer"})
        return self._get(
            entity_set,
            name,
            f"How many records of {target.name}",
            COUNT_OPTIONS,
            {"200": number, **refused(OF_READS)},
        )

    def read(
        self, entity_set: EntitySet, target: EntitySet, name: str, *, related: bool = False
    ) -> JsonSchema:
        """Read one record of `target`; operation 9 gives a page to those who name no protocol.

        By a relation there may be none: `related`.
        """
        options: tuple[str, ...] = RECORD_OPTIONS
        schema = reference(target.type.name)
        if target.key_narrows and target is entity_set:
            options = PAGE_OPTIONS
            schema = {"anyOf": [reference(f"{target.type.name}{PAGE}"), schema]}
        return self._get(
            entity_set,
            name,
            f"One record of {target.name}",
            (*options, IF_NONE_MATCH, MAX_VERSION),
            {
                "200": _answer("The record.", JSON, schema, (_TAG,)),
                **_none(related),
                "304": _done("The client has it already."),
                **refused(OF_READS),
            },
        )

    def property(self, entity_set: EntitySet, *, raw: bool) -> JsonSchema:
        """Read a property of a record, in an object or, if `raw`, as plain text."""
        value: JsonSchema = {"type": "string"}
        if not raw:
            value = {"type": "object", "required": ["value"], "properties": {"value": {}}}
        return self._get(
            entity_set,
            "value" if raw else "property",
            "One property, as text" if raw else "One property",
            (),
            {"200": _answer("Its value.", TEXT if raw else JSON, value), **refused(OF_READS)},
        )

    def references(
        self, entity_set: EntitySet, name: str, *, many: bool = False, related: bool = False
    ) -> JsonSchema:
        """Read where records stand: one, none where `related`, or a page of `many`."""
        said = "Where the records stand" if many else "Where the record stands"
        schema = reference(REFERENCES if many else REFERENCE)
        answer = _answer("Addresses." if many else "Its address.", JSON, schema)
        return self._get(
            entity_set,
            name,
            said,
            REFERENCE_OPTIONS if many else (),
            {"200": answer, **_none(related), **refused(OF_PAGES if many else OF_READS)},
        )

    def create(self, entity_set: EntitySet) -> JsonSchema:
        """Make a record."""
        guards = (IF_MATCH,) if entity_set.create_guarded else ()
        return self._change(
            entity_set,
            "create",
            f"Make a record of {entity_set.name}",
            CREATE,
            (*guards, PREFER_RETURN, *REPEATABLE),
            {
                "201": _changed(entity_set, "Made.", _PLACE),
                "204": _done("Made.", _TAG, _PLACE, _REPEATED, _TOKEN),
            },
            _GUARDED if entity_set.create_guarded else "",
        )

    def update(self, entity_set: EntitySet, name: str) -> JsonSchema:
        """Change some properties of a record."""
        return self._change(
            entity_set,
            name,
            f"Change a record of {entity_set.name}",
            UPDATE,
            (IF_MATCH, PREFER_RETURN, *REPEATABLE),
            {
                "200": _changed(entity_set, "Changed."),
                "204": _done("Changed.", _TAG, _REPEATED, _TOKEN),
            },
        )

    def replace(self, entity_set: EntitySet, name: str) -> JsonSchema:
        """Give all properties of a record anew."""
        return self._change(
            entity_set,
            name,
            f"Replace a record of {entity_set.name}",
            CREATE,
            (IF_MATCH_OPTIONAL, IF_NONE, PREFER_RETURN, *REPEATABLE),
            {
                "200": _changed(entity_set, "Replaced."),
                "201": _changed(entity_set, "Made.", _PLACE),
                "204": _done("Replaced or made.", _TAG, _REPEATED, _TOKEN),
            },
            _UPSERTED,
        )

    def delete(self, entity_set: EntitySet, name: str) -> JsonSchema:
        """Remove a record."""
        return {
            "operationId": f"{entity_set.name}-{name}",
            "tags": [entity_set.name],
            "summary": f"Remove a record of {entity_set.name}",
            "security": self._write,
            "parameters": _parameters((IF_MATCH, *REPEATABLE)),
            "responses": {"204": _done("Removed.", _REPEATED, _TOKEN), **refused(OF_WRITES)},
        }

    def _get(
        self,
        entity_set: EntitySet,
        verb: str,
        summary: str,
        names: Iterable[str],
        responses: Mapping[str, JsonSchema],
    ) -> JsonSchema:
        return {
            "operationId": f"{entity_set.name}-{verb}",
            "tags": [entity_set.name],
            "summary": summary,
            "security": self._read,
            "parameters": _parameters((*names, *ACCESS)),
            "responses": responses,
        }

    def _change(
        self,
        entity_set: EntitySet,
        verb: str,
        summary: str,
        body: str,
        names: Iterable[str],
        responses: Mapping[str, JsonSchema],
        description: str = "",
    ) -> JsonSchema:
        schema = reference(f"{entity_set.type.name}{body}")
        return {
            "operationId": f"{entity_set.name}-{verb}",
            "tags": [entity_set.name],
            "summary": summary,
            **({"description": description} if description else {}),
            "security": self._write,
            "parameters": _parameters(names),
            "requestBody": {"required": True, "content": {JSON: {"schema": schema}}},
            "responses": {**responses, **refused(OF_WRITES)},
        }


def _parameters(names: Iterable[str]) -> list[JsonSchema]:
    return [parameter(name) for name in names]


def _answer(
    said: str, media_type: str, schema: JsonSchema, headers: Iterable[tuple[str, str]] = ()
) -> JsonSchema:
    content = {media_type: {"schema": schema}}
    return {**_done(said, *headers), "content": content}


def _none(related: bool) -> Mapping[str, JsonSchema]:
    """The answer of a relation to one record that leads to none."""
    return {"204": _done("No record is related.")} if related else {}


def _changed(entity_set: EntitySet, said: str, *headers: tuple[str, str]) -> JsonSchema:
    return _answer(
        said, JSON, reference(entity_set.type.name), (_TAG, _APPLIED, _REPEATED, _TOKEN, *headers)
    )


def _done(said: str, *headers: tuple[str, str]) -> JsonSchema:
    if not headers:
        return {"description": said}
    listed = {name: {"description": text, "schema": {"type": "string"}} for name, text in headers}
    return {"description": said, "headers": listed}
