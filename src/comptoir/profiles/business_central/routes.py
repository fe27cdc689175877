"""The addresses of the API in Business Central, online and on a server of one's own."""

from comptoir.errors import Situation
from comptoir.profiles.record import Routes

ROUTES = Routes(
    environments={
        "/v2.0/{tenant}/{environment}": "",
        "/v2.0/{environment}": "",
        "/{instance}": 'Basic realm="Business Central", charset="UTF-8"',
    },
    apis={
        "/api/{publisher}/{group}/{version}": Situation.UNKNOWN_ADDRESS,
        "/api/{publisher}/{group}/beta": Situation.UNKNOWN_ADDRESS,
        "/api/v2.0": Situation.UNKNOWN_SEGMENT,
        "/api/beta": Situation.UNKNOWN_SEGMENT,
        "/ODataV4": Situation.UNKNOWN_SERVICE,
    },
    joins_slashes="/ODataV4",
    basic=True,
    sets_at_root=True,
    definitions=True,
)
