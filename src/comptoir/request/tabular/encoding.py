"""Where a file stops being UTF-8."""

from pathlib import Path

from comptoir.request.tabular.chunk import FileFault

BOM = b"\xef\xbb\xbf"
"""The UTF-8 form of the byte order mark, which a file may begin with."""

_OTHER_MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


def not_utf8(path: Path) -> FileFault:
    """The fault of a file that is not UTF-8, with the first line that is not."""
    with path.open("rb") as file:
        other = _OTHER_MARKS.get(file.read(2))
        file.seek(0)
        for number, line in enumerate(file, start=1):
            try:
                line.decode()
            except UnicodeDecodeError as fault:
                found = other or f"byte {fault.start + 1} of the line is 0x{line[fault.start]:02x}"
                return FileFault(number, f"the file is not UTF-8 ({found}). Save it as UTF-8.")
    return FileFault(0, "the file is not UTF-8. Save it as UTF-8.")
