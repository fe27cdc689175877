"""dynite: reads of whole sets, which it counts first, by HTTP Basic."""

from dynite import Dynite
from dynite.exceptions import FailedRequestError

import clients.business_central_report as shared


def main() -> None:
    api = f"{shared.HOST}/v2.0/{shared.TENANT}/Production/api/v2.0"
    client = Dynite(api, (shared.CLIENT_ID, shared.CLIENT_SECRET))
    company = f"companies({shared.COMPANY_ID})"
    in_lyon = client.get_records(f"{company}/contactsExt", {"$filter": "city eq 'Lyon'"})
    agents = client.get_records(f"{company}/{shared.THROTTLED}", {"$select": "code"})
    shared.print_report(
        {
            "companies": [each["name"] for each in client.get_records("companies")],
            "list": len(client.get_records(f"{company}/contactsExt")),
            "filter": len(in_lyon),
            "throttling": [each["code"] for each in agents],
            "refused": refused(client),
        }
    )


def refused(client: Dynite) -> str:
    wrong = Dynite(client.base_url, (shared.CLIENT_ID, f"{shared.CLIENT_SECRET}x"))
    try:
        wrong.get_records("companies")
    except FailedRequestError as error:
        return str(error).partition(": Unauthorized")[0]
    return "no error"


main()
