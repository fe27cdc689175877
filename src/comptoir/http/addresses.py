"""The addresses of a service that people and clients begin with."""

from collections.abc import Mapping

from comptoir.config import Settings


def api_addresses(settings: Settings) -> Mapping[str, str]:
    """The base URL, the documentation, and the service roots that a profile adds, by label."""
    base = {"API": settings.base_url, "Documentation": settings.docs_url}
    return {**base, **profile_addresses(settings)}


def path_names(settings: Settings) -> Mapping[str, tuple[str, ...]]:
    """The names in the addresses of a profile, by what they name (`profiles.record.Routes`)."""
    return {"tenant": settings.tenants, **settings.behaviour.routes.names}


def profile_addresses(settings: Settings) -> Mapping[str, str]:
    """The service roots that a profile adds, by label.

    They have the first names of the settings: they show the form of all.
    """
    addresses: dict[str, str] = {}
    names = {key: values[0] for key, values in path_names(settings).items()}
    origin = settings.base_url.removesuffix(settings.base_path)
    routes = settings.behaviour.routes
    for environment in routes.environments:
        for api in routes.apis:
            path = (environment + api).format(**names)
            label = f"{api[1:]} of {environment.rpartition('/')[2]}".format(**names)
            # an environment has a longer address with its tenant and a shorter one
            addresses.setdefault(label, origin + path)
    return addresses
