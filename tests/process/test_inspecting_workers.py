"""What the console of one worker shows of the requests to another."""

from dataclasses import replace

from support.console import Browser, new_code
from support.server import Server
from support.waiting import until
from support.worker_connections import WorkerConnections, process_of


def test_each_worker_shows_the_requests_to_all(two: Server) -> None:
    with WorkerConnections(two, 2) as spread:
        browser = Browser(spread, two.origin.root)
        browser.log_in(new_code(two.admin))
        page = browser.get("/console/requests")
        action = "/console/requests/recording"
        fields = {"level": "bodies", "for": "an hour"}
        page = browser.follow(browser.submit(page, action, **fields))
        assert "of all its 2 workers" in page.text
        company = replace(two.new_company(), carrier=spread)

        def asked() -> set[str] | None:
            """The workers that keep a request."""
            for _ in range(2):
                company.get("shippingAgentsExt")
            listed = browser.get("/console/requests/rows").json()
            kept = {each["id"].partition("-")[0] for each in listed}
            return kept if len(kept) == 2 else None

        until(asked, "requests that both workers keep")
        sent = company.get("nothingExt")

        def shown_by() -> set[str] | None:
            """The workers that show the request."""
            answers = [browser.get("/console/requests/rows") for _ in range(4)]
            wanted = sent.headers["x-request-id"]
            showing = {
                process_of(each) for each in answers if wanted in {row["id"] for row in each.json()}
            }
            return showing if len(showing) == 2 else None

        until(shown_by, "both workers show the request")
        page = browser.get(f"/console/requests/{sent.headers['x-request-id']}")
        assert page.status_code == 200
        assert "✗ resource" in page.text
        browser.submit(browser.get("/console/requests"), action, level="off", **{"for": "an hour"})
