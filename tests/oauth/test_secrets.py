"""A client changes its secret without a gap."""

from dataclasses import replace
from pathlib import Path

from support.clients import add_client
from support.service import Service


def test_two_secrets_work_until_one_is_removed(service: Service, tmp_path: Path) -> None:
    shop = add_client(service, tmp_path)
    text = shop.command.done("client", "secret", "add", shop.name).last
    renewed = replace(shop, secret=text)
    assert shop.ask().status_code == renewed.ask().status_code == 200

    shop.command.done("client", "secret", "remove", shop.name, "--", shop.secret[:4])

    assert shop.ask().json()["error"] == "invalid_client"
    assert renewed.ask().status_code == 200
    shop.command.done("client", "secret", "remove", shop.name, "--", text[:4])
    assert renewed.ask().status_code == 401
