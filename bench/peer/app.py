"""The endpoints of the peer."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from sqlite3 import Connection
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Header, HTTPException, Query, Request, Response
from sqlalchemy import Engine, create_engine, event, select
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.orm.exc import StaleDataError

from peer.models import Contact, Customer, Partner
from peer.schemas import ContactOut, ContactUpdate, CustomerOut, Page

PAGE_SIZE = 1_000
_PAGE_SIZE = re.compile(r"odata\.maxpagesize=(\d+)")

router = APIRouter(prefix="/api/companies({company_id})")


def application(database: Path) -> FastAPI:
    """The application of a database."""
    app = FastAPI()
    app.state.sessions = sessionmaker(engine_of(database), expire_on_commit=False)
    app.include_router(router)
    return app


def engine_of(database: Path) -> Engine:
    """The engine of a database, as durable as the service's."""
    engine = create_engine(f"sqlite:///{database}")
    event.listen(engine, "connect", _configure)
    return engine


def _configure(connection: Connection, _: object) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA cache_size=-32768")


def opened_session(request: Request) -> Iterator[Session]:
    """A session for a request."""
    with request.app.state.sessions() as session:
        yield session


Opened = Annotated[Session, Depends(opened_session)]
Prefer = Annotated[str, Header()]
SkipToken = Annotated[str, Query(alias="$skiptoken")]


@router.get("/contactsExt", response_model=Page[ContactOut])
def list_contacts(
    company_id: str, session: Opened, request: Request, prefer: Prefer = "", after: SkipToken = ""
) -> dict[str, object]:
    """Contacts by pages."""
    return _page(session, Contact, company_id, request, prefer, after)


@router.get("/customersExt", response_model=Page[CustomerOut])
def list_customers(
    company_id: str, session: Opened, request: Request, prefer: Prefer = "", after: SkipToken = ""
) -> dict[str, object]:
    """Customers by pages."""
    return _page(session, Customer, company_id, request, prefer, after)


@router.get("/customersExt({customer_id})", response_model=CustomerOut)
def read_customer(
    company_id: str, customer_id: str, session: Opened, response: Response
) -> Customer:
    """A customer by its key."""
    customer = session.get(Customer, (company_id, customer_id))
    if customer is None:
        raise HTTPException(404, "The customer does not exist.")
    response.headers["ETag"] = customer.etag
    return customer


@router.patch("/contactsExt({contact_id})", response_model=ContactOut)
def update_contact(
    company_id: str,
    contact_id: str,
    body: ContactUpdate,
    session: Opened,
    response: Response,
    if_match: Annotated[str, Header()],
) -> Contact:
    """Change some properties of a contact, unless it has changed since the client read it."""
    contact = session.get(Contact, (company_id, contact_id))
    if contact is None:
        raise HTTPException(404, "The contact does not exist.")
    if if_match not in ("*", contact.etag):
        raise HTTPException(412, "The contact has changed.")
    for name, value in body.model_dump(exclude_unset=True).items():
        setattr(contact, name, value)
    contact.last_modified_date_time = datetime.now(UTC).isoformat(timespec="milliseconds")
    try:
        session.commit()
    except StaleDataError:
        raise HTTPException(412, "The contact has changed.") from None
    response.headers["ETag"] = contact.etag
    return contact


def _page(
    session: Session,
    model: type[Partner],
    company_id: str,
    request: Request,
    prefer: str,
    after: str,
) -> dict[str, object]:
    """The records after a key, with a link to the rest if there is one."""
    preferred = _PAGE_SIZE.search(prefer)
    size = int(preferred[1]) if preferred else PAGE_SIZE
    following = (
        select(model)
        .where(model.company_id == company_id, model.id > after)
        .order_by(model.id)
        .limit(size + 1)
    )
    records = session.scalars(following).all()
    next_link = None
    if len(records) > size:
        next_link = str(request.url.include_query_params(**{"$skiptoken": records[size - 1].id}))
    return {"context": str(request.url), "value": records[:size], "next_link": next_link}
