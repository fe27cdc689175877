"""Differences between a page and the output are detected."""

import re
from pathlib import Path

from docs.pages import ROOT, is_expected, run, steps
from support.together import together

INSTALLS_IT = [ROOT / "docs" / "how-to" / "rehearse-in-ci.md"]
"""Pages in whose shells the command is on the path."""
GUID = "4717a368-e834-469a-be23-1fa83b257dab"
OTHER_GUID = "0184377a-52f4-8393-9f2e-e4c13115bc0b"


@together(
    ("expected", "printed", "is_same"),
    [
        ('{"id": "1"}\n', '\n{"id": "1"}\n', True),
        ("HTTP/1.1 200 OK\n…\n{…}", "HTTP/1.1 200 OK\r\ndate: x\r\n\r\n{}", True),
        (f'"id":"{GUID}"', f'"id":"{OTHER_GUID}"', True),
        ('etag: W/"21d7eb1c.72"', 'etag: W/"00000000.1"', True),
        (r'"@odata.etag":"W/\"21d7eb1c.72\""', r'"@odata.etag":"W/\"00000000.1\""', True),
        ("2026-11-21T02:50:05.534Z", "2027-01-01T00:00:00.000Z", True),
        ("http://127.0.0.1:8080/api", "http://127.0.0.1:45001/api", True),
        ('"a long\nmessage"', '"a long message"', True),
        ("HTTP/1.1 200 OK\n…", "HTTP/1.1 412 Precondition Failed\n", False),
        ('{"name":"a",…}', '{"name":"b","code":"c"}', False),
        ('{"name":"a"}', '{"name":"a","code":"c"}', False),
        (f'"id":"{GUID}"', '"id":"4717a368"', False),
        ("…nothing like it…", "", False),
    ],
)
def test_only_what_differs_from_run_to_run_is_passed_over(
    expected: str, printed: str, is_same: bool
) -> None:
    assert is_expected(expected, printed) is is_same


def test_each_page_can_be_followed_in_a_fresh_terminal() -> None:
    """It sets the variables that its commands use, and says where the command is."""
    for page in [*ROOT.glob("docs/**/*.md"), ROOT / "README.md", ROOT / "examples" / "README.md"]:
        commands = "".join(re.findall(r"^```sh(?:ell)?\n(.*?)^```", page.read_text(), re.M | re.S))
        used = set(re.findall(r"\$\{?([A-Z]+)\b(?!:-)", commands))
        known = set(re.findall(r"\b([A-Z]+)=|\bread ([A-Z]+)", commands))
        assert used <= {"PWD"}.union(*known), page
        if page not in INSTALLS_IT:
            assert not re.search(r"(?:^|\$\(|\| |&& )comptoir (?!= )", commands, re.M), page


def test_a_session_runs_in_one_shell_with_the_output_of_each_step(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\nNAME=one\n```\n\n```sh\necho $NAME\nfalse\n```\n\n```text\none\n```\n")
    session = steps(page)
    assert [step.expected for step in session] == [None, "one\n"]
    assert run(session, tmp_path, {"PATH": "/usr/bin:/bin"}) == ["", "one\n"]
