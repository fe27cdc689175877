"""The tables of the peer, as mapped classes."""

from typing import ClassVar

from sqlalchemy import Index, String
from sqlalchemy.orm import DeclarativeBase, Mapped, declared_attr, mapped_column


class Base(DeclarativeBase):
    """The declarative base."""

    type_annotation_map: ClassVar[dict[type, String]] = {str: String(250)}


class Partner(Base):
    """The columns that contacts and customers share, with a version for the ETag."""

    __abstract__ = True

    company_id: Mapped[str] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int]
    number: Mapped[str]
    type: Mapped[str]
    display_name: Mapped[str]
    name2: Mapped[str]
    address_line1: Mapped[str]
    address_line2: Mapped[str]
    city: Mapped[str]
    state: Mapped[str]
    country: Mapped[str]
    postal_code: Mapped[str]
    phone_number: Mapped[str]
    mobile_phone_number: Mapped[str]
    email: Mapped[str]
    website: Mapped[str]
    search_name: Mapped[str]
    tax_registration_number: Mapped[str]
    last_modified_date_time: Mapped[str]
    currency_code: Mapped[str]
    language_code: Mapped[str]
    responsibility_center: Mapped[str]

    # SQLAlchemy increments the version, and compares it in the WHERE of an update
    @declared_attr.directive
    @classmethod
    def __mapper_args__(cls) -> dict[str, object]:
        return {"version_id_col": cls.version}

    @property
    def etag(self) -> str:
        """The ETag of the record."""
        return f'W/"{self.version}"'


class Contact(Partner):
    """A business partner: a company or a person."""

    __tablename__ = "contacts"
    __table_args__ = (
        Index("contacts_number", "company_id", "number"),
        Index("contacts_company_number", "company_id", "company_number"),
    )

    first_name: Mapped[str]
    middle_name: Mapped[str]
    surname: Mapped[str]
    company_number: Mapped[str]
    company_name: Mapped[str]
    contact_business_relation: Mapped[str]
    privacy_blocked: Mapped[bool]
    last_interaction_date: Mapped[str]
    customer_template_id: Mapped[str]
    customer_template_code: Mapped[str]
    salutation_code: Mapped[str]
    online_password: Mapped[str]
    online_login: Mapped[str]


class Customer(Partner):
    """A customer of the company."""

    __tablename__ = "customers"
    __table_args__ = (Index("customers_number", "company_id", "number"),)

    balance_due: Mapped[float]
    credit_limit: Mapped[float]
    tax_liable: Mapped[bool]
    tax_area_id: Mapped[str]
    tax_area_display_name: Mapped[str]
    currency_id: Mapped[str]
    payment_terms_id: Mapped[str]
    shipment_method_id: Mapped[str]
    payment_method_id: Mapped[str]
    blocked: Mapped[str]
    general_business_posting_group_code: Mapped[str]
    customer_posting_group: Mapped[str]
    vat_business_posting_group: Mapped[str]
    customer_price_group: Mapped[str]
    customer_discout_group: Mapped[str]
    allow_line_discount: Mapped[bool]
    invoice_discount_code: Mapped[str]
