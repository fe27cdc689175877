"""The OpenAPI document, put together."""

from urllib.parse import urlsplit

import msgspec

from comptoir import __version__
from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.metadata.abilities import Abilities
from comptoir.metadata.openapi.operations import Operations
from comptoir.metadata.openapi.parameters import parameters
from comptoir.metadata.openapi.paths import paths
from comptoir.metadata.openapi.responses import error_responses
from comptoir.metadata.openapi.schemas import schemas

_ABOUT = """\
Business records over HTTP and JSON: OData 4.01, described for those who do not use it.

Records carry an entity tag, `@odata.etag`; send it as `If-Match` to change or delete one.
Properties are never null: `""`, `0`, `false`, `0001-01-01` and the all-zero Guid mean that there is
no value. Texts hold neither NUL nor half a surrogate pair. Errors have one form, with stable codes.
What can be done with each set stands in `$metadata`.

Decimals are JSON numbers, and texts if the media type says `IEEE754Compatible=true`. A quote in a
key is doubled, and what is special in a URL is percent-encoded: `unitsOfMeasureExt('1%2F2''')`.
"""


def openapi_document(model: Model, settings: Settings, abilities: Abilities) -> bytes:
    """Describe every path and method of the interface, as JSON (OpenAPI 3.1.0).

    The first server is absolute: generators of clients take the first one, and many of them cannot
    use a relative one. The second is a path, relative to where the document was read from: by that
    a service with a second host name is reached as its reader reached it.
    """
    base_url = settings.base_url
    operations = Operations(abilities)
    scopes = f"`{abilities.read_scope}` to read, `{abilities.write_scope}` to write"
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "Comptoir",
                "version": __version__,
                "description": _ABOUT,
                "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
            },
            "servers": [
                {"url": base_url, "description": "The address in the settings."},
                {"url": urlsplit(base_url).path, "description": "Where this document came from."},
            ],
            "security": [{"bearer": []}],
            "tags": [
                {"name": each.name, "description": each.type.description} for each in model.sets
            ]
            + [{"name": "service", "description": "The service itself, and batches."}],
            "paths": paths(model, operations),
            "components": {
                "schemas": schemas(model),
                "parameters": parameters(settings),
                "responses": error_responses(),
                "securitySchemes": {
                    "bearer": {
                        "type": "http",
                        "scheme": "bearer",
                        "bearerFormat": "JWT",
                        "description": f"A token of `comptoir token`. Its scopes: {scopes}.",
                    }
                },
            },
        }
    )
