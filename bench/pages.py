"""Pages of contacts, beside the bare application."""

import gzip
from collections.abc import Sequence
from pathlib import Path

import bare_page
from calls import body_of, cpu_of_each
from figures import Comparison, Figure, Single
from processes import python_command
from scenarios import PAGE
from workbench import Workbench
from wrk import LoadError, Scenario

_GZIP = {"Accept-Encoding": "gzip"}
_WARM_UP_SECONDS = 0.2


class Pages:
    """Measures the first page of 100,000 contacts, in two sizes, plain and with gzip."""

    notes: Sequence[str] = ()

    def __init__(self, bench: Workbench) -> None:
        self._service = bench.partners_service
        self._seconds = max(0.5, bench.seconds / 3)
        plain = bench.partner_scenarios.pages
        file, company_id = bench.folder / "bare-page.db", bench.partners.company.id
        filled = bare_page.fill(file, company_id, self._service, list(plain.values()))
        command = python_command(Path(bare_page.__file__), str(filled))
        self._bare = bench.start("the bare application", command)
        self._bytes = Single("page of 1,000 contacts", "bytes")
        self._bytes.add(len(body_of(self._service, plain[PAGE])))
        self._pages: list[tuple[Scenario, Comparison]] = []
        for size, page in plain.items():
            target = 1.2 if size == PAGE else None
            for coding, headers in (("", {}), (", gzip", _GZIP)):
                asked = Scenario(page.name + coding, page.paths, {**page.headers, **headers})
                name = f"page of {size:,} contacts{coding}"
                self._pages.append(
                    (asked, Comparison(name, "µs", "bare", at_most=target, guarded=True))
                )
                _check_same(body_of(self._service, asked), body_of(self._bare, asked), name)

    @property
    def figures(self) -> Sequence[Figure]:
        """All figures, in the order of the table."""
        return [*(figure for _, figure in self._pages), self._bytes]

    def warm_up(self) -> None:
        """Request each page for a moment."""
        for asked, _ in self._pages:
            cpu_of_each((self._service, self._bare), asked, _WARM_UP_SECONDS)

    def measure(self) -> None:
        """Measure everything once."""
        for asked, figure in self._pages:
            figure.add(*cpu_of_each((self._service, self._bare), asked, self._seconds))


def _check_same(page: bytes, bare: bytes, name: str) -> None:
    if _plain(page) != _plain(bare):
        raise LoadError(f"{name}: the bare application sends other bytes than the service.")


def _plain(body: bytes) -> bytes:
    return gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body
