"""dynite: reads of whole sets, which it counts first, by HTTP Basic."""

from dynite import Dynite
from dynite.exceptions import FailedRequestError

from clients.business_central_report import (
    CLIENT_ID,
    CLIENT_SECRET,
    COMPANY_ID,
    HOST,
    TENANT,
    THROTTLED,
    print_report,
)


def main() -> None:
    client = Dynite(f"{HOST}/v2.0/{TENANT}/Production/api/v2.0", (CLIENT_ID, CLIENT_SECRET))
    company = f"companies({COMPANY_ID})"
    in_lyon = client.get_records(f"{company}/contactsExt", {"$filter": "city eq 'Lyon'"})
    agents = client.get_records(f"{company}/{THROTTLED}", {"$select": "code"})
    print_report(
        {
            "companies": [each["name"] for each in client.get_records("companies")],
            "list": len(client.get_records(f"{company}/contactsExt")),
            "filter": len(in_lyon),
            "throttling": [each["code"] for each in agents],
            "refused": refused(client),
        }
    )


def refused(client: Dynite) -> str:
    wrong = Dynite(client.base_url, (CLIENT_ID, f"{CLIENT_SECRET}x"))
    try:
        wrong.get_records("companies")
    except FailedRequestError as error:
        return str(error).partition(": Unauthorized")[0]
    return "no error"


main()
