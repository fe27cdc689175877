"""The image: small, without a shell, and enough for a service that cannot write to it."""

import os
import signal
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest

from comptoir.config import load_settings
from comptoir.features.console import ConsoleSettings
from packages.conftest import ROOT
from packages.image import MEGABYTES, Image, built_image
from support.ports import LOOPBACK, free_port
from support.sockets import http_client
from support.waiting import PATIENCE_SECONDS

# the first test waits for the build, which downloads the packages if no cache has them
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    # the folders of failed tests are kept, and these files are too many for that
    with TemporaryDirectory(prefix="comptoir-image-") as folder:
        Path(folder).chmod(0o755)
        yield built_image(ROOT, Path(folder))


@pytest.fixture
def volume(image: Image, tmp_path: Path) -> Path:
    """An empty volume, which gets the owner and the mode of its folder in the image."""
    made = tmp_path / "volume"
    made.mkdir()
    place = (image.root / image.volume.lstrip("/")).stat()
    made.chmod(place.st_mode)
    os.chown(made, place.st_uid, place.st_gid)
    return made


def test_the_image_is_small(image: Image) -> None:
    files = [path for path in image.root.rglob("*") if path.is_file() and not path.is_symlink()]
    assert sum(path.stat().st_size for path in files) < MEGABYTES * 1_000_000


def test_the_image_has_no_shell_and_no_installer(image: Image) -> None:
    names = {path.name for path in image.root.rglob("*")}
    assert "comptoir" in names
    assert (
        names & {"sh", "bash", "busybox", "apt", "dpkg", "pip", "ensurepip", "hatchling"} == set()
    )


def test_the_service_may_write_to_its_volume_alone(image: Image) -> None:
    user, group = image.user
    writable = {
        f"/{path.relative_to(image.root)}"
        for path in image.root.rglob("*")
        for each in [path.lstat()]
        if (each.st_uid, each.st_gid) == (user, group)
        or (each.st_mode & stat.S_IWOTH and not stat.S_ISLNK(each.st_mode))
    }
    assert writable == {image.volume, "/tmp"}


def test_a_start_compiles_no_module_of_the_service(image: Image) -> None:
    (api,) = image.root.glob("opt/comptoir/lib/*/site-packages/comptoir/http/api.py")
    (bytecode,) = api.parent.glob("__pycache__/api.*.pyc")
    # with the time of its source, by which Python recognizes it
    assert int.from_bytes(bytecode.read_bytes()[8:12], "little") == int(api.stat().st_mtime)


def test_what_is_imported_late_finds_its_libraries(image: Image, volume: Path) -> None:
    modules = "aiohttp, asyncpg, comptoir.features.transfer.copy, ctypes"
    trusted = "import ssl; assert ssl.create_default_context().get_ca_certs()"
    image.run(["python", "-c", f"import {modules}; {trusted}"], volume)


def test_the_ports_are_those_of_the_api_and_of_the_operator(image: Image) -> None:
    settings = load_settings({}, dict(image.stage.environment))
    assert (settings.host, settings.admin_host) == ("0.0.0.0", "0.0.0.0")
    assert image.stage.one("EXPOSE").text == f"{settings.port} {settings.admin_port}"
    assert settings.of(ConsoleSettings).console == "on"


def log_in(client: httpx.Client, link: str) -> httpx.Response:
    """The response to a browser that opens a link and sends its code."""
    page, _, code = link.partition("#")
    origin = page.removesuffix("/console/login")
    assert client.get(page).status_code == 200
    return client.post(page, data={"code": code}, headers={"Origin": origin})


def test_the_service_runs_in_a_read_only_image(image: Image, volume: Path) -> None:
    """First as one process, which ends by the signal, then as the parent of two workers."""
    bearer: dict[str, str] = {}
    for workers, expected in ((1, -signal.SIGTERM), (2, 0)):
        port, admin_port = str(free_port()), str(free_port())
        given = {
            "COMPTOIR_PORT": port,
            "COMPTOIR_HOST": LOOPBACK,
            "COMPTOIR_ADMIN_PORT": admin_port,
            "COMPTOIR_ADMIN_HOST": LOOPBACK,
            "COMPTOIR_WORKERS": str(workers),
            # as Docker's own settings may have it, where nobody listens
            "HTTP_PROXY": f"http://{LOOPBACK}:{free_port()}",
        }
        serve = [*image.command(), "--quickstart"]
        with image.start(serve, volume, given) as service, http_client() as client:
            try:
                assert service.stdout is not None
                lines = iter(service.stdout)
                assert any(line.startswith("Serving ") for line in lines)
                (printed,) = [
                    line.split()[-1] for line in islice(lines, 2) if line.startswith("Console: ")
                ]
                image.run(image.health_check, volume, given)
                links = [printed]
                if not bearer:
                    token = image.run(image.command("token"), volume, given).split()[-1]
                    bearer["Authorization"] = f"Bearer {token}"
                    links.append(image.run(image.command("console"), volume, given).split()[-1])
                url = f"http://{LOOPBACK}:{port}/api/companies"
                companies = client.get(url, headers=bearer).json()["value"]
                assert [each["name"] for each in companies] == ["Comptoir Sample"]
                for link in links:
                    assert link.startswith(f"http://{LOOPBACK}:{admin_port}/console/login#")
                    assert log_in(client, link).headers["location"] == "/console"
                assert client.get(f"http://{LOOPBACK}:{port}/console").status_code == 404
            finally:
                service.terminate()
                status = service.wait(PATIENCE_SECONDS)
        assert status == expected
    with image.start(image.health_check, volume, given) as check:
        check.communicate()
    assert check.returncode != 0
    assert (volume / "comptoir.db").stat().st_uid == image.user[0]
