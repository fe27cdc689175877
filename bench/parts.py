"""The parts of the benchmark, by the names that `--only` accepts, in the order of the table."""

from collections.abc import Callable, Mapping

from against_peer import AgainstPeer
from applying import Applying
from backing_up import BackingUp
from batches import Batches
from beside_heavy import BesideHeavy
from beside_pages import BesidePages
from catalogs import Catalogs
from growth import Growing
from inspecting import Inspecting
from listing import Listing
from loads import Loads
from on_postgres import OnPostgres
from pages import Pages
from querying import Querying
from searching import Searching
from short_requests import ShortRequests
from workbench import Part, Workbench
from worker import Worker

POSTGRES = "postgres"
GROWTH = "growth"
"""The part that only `--growth` measures: it fills databases for minutes."""

PARTS: Mapping[str, Callable[[Workbench], Part]] = {
    "pages": Pages,
    "peer": AgainstPeer,
    "beside": BesidePages,
    "heavy": BesideHeavy,
    "worker": Worker,
    "short": ShortRequests,
    "inspect": Inspecting,
    "lists": Listing,
    "batches": Batches,
    "load": Loads,
    "catalogs": Catalogs,
    "apply": Applying,
    "backup": BackingUp,
    "queries": Querying,
    "search": Searching,
    POSTGRES: OnPostgres,
    GROWTH: Growing,
}
