"""Rehearsals as a part of a service, with their control endpoint."""

import os
from collections.abc import Sequence
from urllib.parse import urljoin, urlsplit

import click
from starlette.routing import Route
from typing_extensions import override

from comptoir.auth.authentication import Authenticator
from comptoir.auth.origins import is_loopback
from comptoir.config import Settings, environment_name, load_settings
from comptoir.features.rehearsal import RehearsalSettings
from comptoir.features.rehearsal import errors as problems
from comptoir.features.rehearsal.control import ControlEndpoint
from comptoir.features.rehearsal.rehearsal import Rehearsal


class Rehearsing(Rehearsal):
    """A rehearsal that is controlled by requests and in the console."""

    screen = "comptoir.features.rehearsal.screen:SCREEN"

    @override
    def check_start(self, config: str | None) -> None:
        """Raise `OperatorError` for faults by option or variable where others use the service."""
        addresses = filter(None, (self.settings.public_url, self.settings.listening_url))
        foreign = [each for each in addresses if not is_loopback(urlsplit(each).hostname or "")]
        file = config or os.environ.get(environment_name("config"))
        written = load_settings({"config": file}, {}) if foreign and file else Settings()
        if foreign and not written.of(RehearsalSettings).is_on:
            raise problems.FAULTS_FOR_OTHERS(address=foreign[0])

    @override
    def announce(self, *, is_quickstart: bool) -> None:
        click.secho(
            "WARNING: requests may meet faults on demand (--faults). GET "
            f"{urljoin(self.settings.base_url, '/readyz')} lists the rules.",
            fg="red",
            bold=True,
            err=True,
        )

    @override
    def routes(self, operator: Authenticator) -> Sequence[Route]:
        return ControlEndpoint(self, operator).routes()
