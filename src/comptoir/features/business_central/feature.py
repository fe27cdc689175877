"""Business Central as a part of a service: its addresses and its definitions."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
from typing_extensions import override

from comptoir.config import Settings
from comptoir.edm.model import EntitySet, Model
from comptoir.errors import refusal_rows as rows
from comptoir.features.business_central.routes import BusinessCentralRoutes
from comptoir.http.feature import Feature, Kernel
from comptoir.http.routes import Routes
from comptoir.plan.target import may_read
from comptoir.request.expression.parser import ExpressionLimits, parse_expression
from comptoir.request.expression.tree import Binary, Literal, Path
from comptoir.request.headers import response_format
from comptoir.request.options import OptionParser
from comptoir.request.path import READ_METHODS
from comptoir.response.response import ODATA_VERSION, Response
from comptoir.service.context import FORMAT_OPTIONS, Request, allow_options
from comptoir.store.store import Store

NAME = "entityDefinitions"
_PATHS = frozenset({f"/{NAME}", f"/{NAME}/"})
_OPTIONS = FORMAT_OPTIONS | {"$filter"}
_FILTERED = ("entityName",)
_ENGLISH = 1033
"""The language of the captions: English of the United States, as Windows numbers languages."""


class Definitions:
    """Answers requests for the definitions of the entity sets, except those without a right."""

    def __init__(self, model: Model, settings: Settings) -> None:
        queries = settings.behaviour.queries
        self._options = OptionParser(queries.versions, queries.unsupported)
        self._limits = ExpressionLimits(
            settings.expression_nodes, settings.expression_depth, settings.expression_list
        )
        self._definitions = {each: _definition(each) for each in model.sets}

    def has(self, path: str) -> bool:
        """Whether a path after a service root is of this resource."""
        return path in _PATHS

    async def handle(self, request: Request) -> Response:
        """Answer a request; raises `Refusal` unless the request succeeds."""
        method = request.method
        if method not in READ_METHODS:
            raise rows.METHOD_ON_SET(method=method, resource=NAME, allowed="GET, HEAD", set=NAME)
        options = self._options.parse(request.query)
        form = response_format(request.headers, options.format)
        allow_options(options, _OPTIONS, NAME)
        name = None if options.filter is None else self._name_in(options.filter)
        rights = request.principal.rights
        readable = None if rights is None else rights.readable
        listed = [
            definition
            for each, definition in self._definitions.items()
            if name in (None, each.type.name) and may_read(each, readable)
        ]
        context = request.root.context(f"/{NAME}")
        body = msgspec.json.encode({"@odata.context": context, "value": listed})
        return Response(200, [(b"content-type", form.media_type), ODATA_VERSION], body)

    def _name_in(self, text: str) -> str:
        """The name in `entityName eq 'NAME'`; raises `Refusal` (501) for any other filter."""
        match parse_expression(text, self._limits):
            case Binary("eq", Path(segments), Literal("string", name)) if segments == _FILTERED:
                return name
        raise rows.DEFINITIONS_FILTER("$filter")


def _definition(entity_set: EntitySet) -> dict[str, object]:
    entity_type = entity_set.type
    caption = _captions(entity_type.caption)
    return {
        "entityName": entity_type.name,
        "entitySetName": entity_set.name,
        "entityCaptions": caption,
        "entitySetCaptions": caption,
        "properties": [
            {"name": each.name, "captions": _captions(each.caption)}
            for each in entity_type.properties
        ],
        "actions": [
            {"name": each.name, "captions": _captions(each.name)} for each in entity_type.actions
        ],
        "enumMembers": [],
    }


def _captions(caption: str) -> list[dict[str, object]]:
    return [{"languageCode": _ENGLISH, "caption": caption}]


class BusinessCentral(Feature):
    """What no record of a profile can say."""

    def __init__(self, settings: Settings, model: Model) -> None:
        self._settings = settings
        self._model = model

    @override
    def addresses(self, store: Store) -> Routes:
        return BusinessCentralRoutes(self._settings, self._model, store)

    @override
    @asynccontextmanager
    async def opened(self, kernel: Kernel) -> AsyncIterator[None]:
        if self._settings.behaviour.routes.definitions:
            kernel.service.mount(Definitions(self._model, self._settings))
        yield
