"""A copied command sends what it shows, and runs nothing else."""

import subprocess
from pathlib import Path

import pytest

from comptoir.features.console.curl import curl

HOSTILE = "'; touch owned; $(touch owned) `touch owned` \"&|>\\ !x\n\t*?[a]{b,c}~#é😀"


def arguments(command: str, folder: Path) -> list[str]:
    """The arguments that a shell passes to curl."""
    show = folder / "curl"
    show.write_text('#!/bin/sh\nfor each; do printf "%s\\0" "$each"; done\n')
    show.chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env={"PATH": f"{folder}:/usr/bin:/bin", "TOKEN": "t0ken"},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
    assert not (folder / "owned").exists()
    return done.stdout.decode().split("\0")[:-1]


def test_a_head_without_a_body(tmp_path: Path) -> None:
    assert arguments(curl("HEAD", "http://h/x", {}), tmp_path)[1] == "--head"


@pytest.mark.parametrize("place", ["method", "url", "header", "body"])
def test_hostile_text_stays_one_argument(place: str, tmp_path: Path) -> None:
    texts = dict.fromkeys(("method", "url", "header", "body"), "x") | {place: HOSTILE}

    command = curl(texts["method"], texts["url"], {"A": texts["header"]}, texts["body"])

    expected = {"header": f"A: {HOSTILE}", "url": HOSTILE.replace("'", "%27")}
    assert expected.get(place, HOSTILE) in arguments(command, tmp_path)


def test_brackets_of_a_url_are_not_expanded(tmp_path: Path) -> None:
    assert "--globoff" in arguments(curl("GET", "http://[::1]/a", {}), tmp_path)
