"""ms-dynamics-business-central-sdk: a class for each set, and batches within a snapshot.

Its own classes are of sets that the service does not have, so the script adds one for contacts. Its
`Dynamics` gets tokens for a refresh token, which the service does not give to programs.
"""

from collections.abc import Callable

from dynamics import Dynamics
from dynamics.apis import Companies
from dynamics.apis.api_base import ApiBase
from dynamics.exceptions.dynamics_exceptions import WrongParamsError

from clients.business_central_report import COMPANY_ID, access_token, print_report

API = Dynamics.BASE_URL.format(environment="Production")


class Contacts(ApiBase):
    """The contacts of a company."""

    def get_all(self, **options: str) -> list[dict[str, object]]:
        rows: list[dict[str, object]] = self._get_request(options, "/contactsExt")["value"]
        return rows

    def count(self, **options: str) -> int:
        return int(self._get_request_for_count(options, "/contactsExt/$count")["value"])

    def post(self, data: dict[str, str]) -> dict[str, str]:
        made: dict[str, str] = self._post_request(data, "/contactsExt")
        return made

    def patch(self, key: str, data: str) -> None:
        self._patch_request("application/json", data, f"/contactsExt({key})")

    def delete(self, key: str) -> None:
        self._delete_request({}, f"/contactsExt({key})")

    def bulk_post(self, rows: list[dict[str, str]]) -> list[int]:
        """The statuses of the responses."""
        headers = {"CompanyId": COMPANY_ID, "Content-Type": "application/json", "If-Match": "*"}
        parts = [
            {"method": "POST", "url": "contactsExt", "headers": headers, "body": row}
            for row in rows
        ]
        # the client adds the company to this address at each batch
        self.set_batch_url(f"{API}/$batch")
        answer = self._bulk_post_request({"requests": parts}, "snapshot", COMPANY_ID)
        return [each["status"] for each in answer["responses"]]


def connected(api: ApiBase, token: str, url: str) -> None:
    api.change_access_token(f"Bearer {token}")
    api.set_server_url(url)


def main() -> None:
    token = access_token()
    companies, contacts = Companies(), Contacts()
    connected(companies, token, API)
    connected(contacts, token, f"{API}/companies({COMPANY_ID})")
    found = contacts.get_all(**{"$filter": "city eq 'Lyon'", "$top": "2", "$orderby": "number"})
    report = {
        "companies": [each["name"] for each in companies.get_all()],
        "filter": [each["number"] for each in found],
        "count": [contacts.count(), contacts.count(**{"$filter": "city eq 'Lyon'"})],
    }
    print_report({**report, **writes(contacts), **batches(contacts)})


def writes(contacts: Contacts) -> dict[str, object]:
    made = contacts.post({"number": "N1", "displayName": "Made"})
    contacts.patch(made["id"], '{"displayName": "Changed"}')
    changed = contacts.get_all(**{"$filter": "number eq 'N1'"})
    contacts.delete(made["id"])
    return {
        "create": made["displayName"],
        "update": [each["displayName"] for each in changed],
        "delete": contacts.count(**{"$filter": "number eq 'N1'"}),
    }


def batches(contacts: Contacts) -> dict[str, object]:
    two = [{"number": each, "displayName": each} for each in ("B1", "B2")]
    again = [{"number": each, "displayName": each} for each in ("B3", "B1", "B4")]
    return {
        "batch": contacts.bulk_post(two),
        "failed batch": failures(lambda: contacts.bulk_post(again)),
        "left": contacts.count(**{"$filter": "startswith(number,'B')"}),
    }


def failures(request: Callable[[], object]) -> list[str]:
    """The messages of the errors in a batch, without the id of the request."""
    try:
        request()
    except WrongParamsError as error:
        return [each.partition("  CorrelationId")[0] for each in error.response]
    return []


main()
