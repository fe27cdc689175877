"""What of the records an answer shows: `$select` and `$expand` made ready to be written."""

import msgspec

from comptoir.request.options import QueryOptions
from comptoir.response.records import RecordWriter
from comptoir.service.context import Context, Runtime
from comptoir.service.expanding import Expander


class View(msgspec.Struct):
    """How records are written, and what gives their related records, if they have any."""

    records: RecordWriter
    expander: Expander | None


class Views:
    """Makes the view that a request asks for."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def of(self, context: Context, options: QueryOptions) -> View:
        """The view of the records that a path names."""
        return View(context.records, None)
