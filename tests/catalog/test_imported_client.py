"""A client that was generated from a document works unchanged with what is served of it."""

from pathlib import Path

import httpx
import pytest
import requests
from odata import ODataError, ODataService
from odata.flags import ODataServerFlags
from requests.adapters import BaseAdapter
from typing_extensions import override

from comptoir.catalog.csdl import Document
from comptoir.catalog.importing import import_catalog
from support.catalogs import model_of
from support.companies import Company
from support.service import StartService

DOCUMENT = Path(__file__).parent / "imports" / "business-central.xml"


class _Through(BaseAdapter):
    """Sends requests to a company, but answers `$metadata` with the document of another service."""

    def __init__(self, company: Company) -> None:
        super().__init__()
        self._company = company

    @override
    def send(
        self, request: requests.PreparedRequest, *_: object, **__: object
    ) -> requests.Response:
        answer = requests.Response()
        answer.request, answer.url = request, str(request.url)
        if answer.url.endswith("/$metadata"):
            answer.status_code, answer._content = 200, DOCUMENT.read_bytes()
            return answer
        body = request.body if isinstance(request.body, str | bytes) else b""
        headers = {name: str(value) for name, value in request.headers.items()}
        sent = httpx.Request(str(request.method), answer.url, headers=headers, content=body)
        found = self._company.carrier.send(sent)
        answer.status_code, answer._content = found.status_code, found.content
        answer.headers.update(found.headers)
        return answer

    @override
    def close(self) -> None:
        pass


def test_a_client_of_the_document_reads_and_writes(
    start_service: StartService, tmp_path: Path
) -> None:
    catalog = import_catalog(Document(DOCUMENT), ()).text
    company = start_service(model_of(tmp_path, catalog)).new_company()
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {company.token}"
    session.mount("http://", _Through(company))
    client = ODataService(
        f"{company.root}/",
        session=session,
        reflect_entities=True,
        quiet_progress=True,
        server_flags=ODataServerFlags(skip_null_properties=True),
    )
    partner, order = client.entities["partners"], client.entities["repairOrders"]
    made = partner()
    made.number, made.kind = "P1", client.types["Microsoft.NAV.partnerKind"].Private_x0020_Person
    client.save(made)
    # the library would bind the partner, and not send its id
    created = company.post("repairOrders", {"number": "R1", "partnerId": str(made.id)}).json()
    address = f"repairOrders({created['id']})"
    assert company.post(f"{address}/repairOrderLines", {"hours": 1.5}).status_code == 201
    orders = client.query(order).filter(order.number == "R1")
    found = orders.expand(order.partner, order.repairOrderLines).one()
    assert (found.partner.kind.name, found.status.name) == ("Private_x0020_Person", "Open")
    (line,) = found.repairOrderLines
    assert (str(line.documentId), line.hours) == (created["id"], 1.5)
    with pytest.raises(ODataError) as refused:
        found.release()
    assert refused.value.status_code == "HTTP 501"
