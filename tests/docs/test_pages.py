"""Differences between a page and the output are detected."""

import re

import pytest

from docs.pages import ROOT, is_expected, run, steps
from support.together import together

INSTALLS_IT = [ROOT / "docs" / "how-to" / "rehearse-in-ci.md"]
"""Pages in whose shells the command is on the path."""
GUID = "4717a368-e834-469a-be23-1fa83b257dab"
OTHER_GUID = "0184377a-52f4-8393-9f2e-e4c13115bc0b"


@together(
    ("expected", "printed"),
    [
        ('{"id": "1"}\n', '\n{"id": "1"}\n'),
        ("HTTP/1.1 200 OK\n…\n{…}", "HTTP/1.1 200 OK\r\ndate: x\r\n\r\n{}"),
        (f'"id":"{GUID}"', f'"id":"{OTHER_GUID}"'),
        ('etag: W/"21d7eb1c.72"', 'etag: W/"00000000.1"'),
        (r'"@odata.etag":"W/\"21d7eb1c.72\""', r'"@odata.etag":"W/\"00000000.1\""'),
        ("2026-11-21T02:50:05.534Z", "2027-01-01T00:00:00.000Z"),
        ("http://127.0.0.1:8080/api", "http://127.0.0.1:45001/api"),
        ('"a long\nmessage"', '"a long message"'),
    ],
)
def test_what_differs_from_run_to_run_is_passed_over(expected: str, printed: str) -> None:
    assert is_expected(expected, printed)


@together(
    ("expected", "printed"),
    [
        ("HTTP/1.1 200 OK\n…", "HTTP/1.1 412 Precondition Failed\n"),
        ('{"name":"a",…}', '{"name":"b","code":"c"}'),
        ('{"name":"a"}', '{"name":"a","code":"c"}'),
        (f'"id":"{GUID}"', '"id":"4717a368"'),
        ("…nothing like it…", ""),
    ],
)
def test_a_difference_from_the_page_is_reported(expected: str, printed: str) -> None:
    assert not is_expected(expected, printed)


def test_each_page_can_be_followed_in_a_fresh_terminal() -> None:
    """It sets the variables that its commands use, and says where the command is."""
    for page in [*ROOT.glob("docs/**/*.md"), ROOT / "README.md", ROOT / "examples" / "README.md"]:
        commands = "".join(re.findall(r"^```sh(?:ell)?\n(.*?)^```", page.read_text(), re.M | re.S))
        used = set(re.findall(r"\$\{?([A-Z]+)\b(?!:-)", commands))
        known = set(re.findall(r"\b([A-Z]+)=|\bread ([A-Z]+)", commands))
        assert used <= {"PWD"}.union(*known), page
        if page not in INSTALLS_IT:
            assert not re.search(r"(?:^|\$\(|\| |&& )comptoir (?!= )", commands, re.M), page


def test_a_session_runs_in_one_shell() -> None:
    page = ROOT / "docs" / "tutorial.md"
    assert len(steps(page)) > 20
    assert all("make serve" not in step.commands for step in steps(page))


def test_the_output_of_each_step_is_separate(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("session")
    page = folder / "page.md"
    page.write_text("```sh\nNAME=one\n```\n\n```sh\necho $NAME\nfalse\n```\n\n```text\none\n```\n")
    session = steps(page)
    assert [step.expected for step in session] == [None, "one\n"]
    assert run(session, folder, {"PATH": "/usr/bin:/bin"}) == ["", "one\n"]
