"""`$select`: lists of properties."""

from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from comptoir.request.fields import SelectItem, parse_select
from support.effort import examples
from support.syntax import reads_back


def text_of(items: Iterable[SelectItem]) -> str:
    return ",".join("/".join(item.path) for item in items)


@settings(max_examples=examples(300))
@given(st.one_of(st.text(), st.lists(st.sampled_from("a b,/*.$@('é;)"), max_size=12).map("".join)))
def test_any_text_is_read_or_refused(text: str) -> None:
    reads_back(parse_select, lambda each: text_of(parse_select(each)), text, "$select")
