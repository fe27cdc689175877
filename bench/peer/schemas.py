"""The bodies of requests and responses, as Pydantic models."""

from typing import Generic, TypeVar

from pydantic import AliasGenerator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class PartnerOut(BaseModel):
    """The properties that contacts and customers share, read from a mapped object."""

    model_config = ConfigDict(
        from_attributes=True, alias_generator=AliasGenerator(serialization_alias=to_camel)
    )

    etag: str = Field(serialization_alias="@odata.etag")
    id: str
    number: str
    type: str
    display_name: str
    name2: str
    address_line1: str
    address_line2: str
    city: str
    state: str
    country: str
    postal_code: str
    phone_number: str
    mobile_phone_number: str
    email: str
    website: str
    search_name: str
    tax_registration_number: str
    last_modified_date_time: str
    currency_code: str
    language_code: str
    responsibility_center: str


class ContactOut(PartnerOut):
    """A contact."""

    first_name: str
    middle_name: str
    surname: str
    company_number: str
    company_name: str
    contact_business_relation: str
    privacy_blocked: bool
    last_interaction_date: str
    customer_template_id: str
    customer_template_code: str
    salutation_code: str
    online_password: str
    online_login: str


class CustomerOut(PartnerOut):
    """A customer."""

    balance_due: float
    credit_limit: float
    tax_liable: bool
    tax_area_id: str
    tax_area_display_name: str
    currency_id: str
    payment_terms_id: str
    shipment_method_id: str
    payment_method_id: str
    blocked: str
    general_business_posting_group_code: str
    customer_posting_group: str
    vat_business_posting_group: str
    customer_price_group: str
    customer_discout_group: str
    allow_line_discount: bool
    invoice_discount_code: str


class ContactUpdate(BaseModel):
    """The properties of a contact that a client may change."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid")

    display_name: str | None = None
    name2: str | None = None
    address_line1: str | None = None
    address_line2: str | None = None
    city: str | None = None
    postal_code: str | None = None
    phone_number: str | None = None
    email: str | None = None


T = TypeVar("T", bound=PartnerOut)


class Page(BaseModel, Generic[T]):
    """A page of a list."""

    context: str = Field(serialization_alias="@odata.context")
    value: list[T]
    next_link: str | None = Field(serialization_alias="@odata.nextLink")
