"""Paths as lists and lines show them."""

from comptoir.http.log import short_path
from support.together import together

COMPANY = "0eb4d1b2-6d4e-4f6b-9a51-0f2f5ad4e001"
RECORD = "0184377a-52f4-8393-9f2e-e4c13115bc0b"


@together(
    ("path", "short"),
    [
        (f"/api/companies({COMPANY})/contactsExt({RECORD})", "contactsExt(0184…)"),
        (f"/api/companies(id={COMPANY})/contactsExt(id={RECORD})", "contactsExt(id=0184…)"),
        ("/api/companies(name='A (B)')/itemsExt", "itemsExt"),
        (f"/api/companies({COMPANY})", "/api/companies(0eb4…)"),
        (f"/api/companies({COMPANY})/", "/api/companies(0eb4…)/"),
        ("/api/companies(x/itemsExt", "/api/companies(x/itemsExt"),
        ("/healthz", "/healthz"),
    ],
)
def test_a_path(path: str, short: str) -> None:
    assert short_path(path) == short


def test_a_path_of_many_companies() -> None:
    path = "/companies(" * 5_000

    assert short_path(path) == path
