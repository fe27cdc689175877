"""`$select`: lists of properties."""

from hypothesis import given, settings
from hypothesis import strategies as st

from comptoir.request.fields import parse_select
from support.effort import examples
from support.syntax import is_read_or_refused


@settings(max_examples=examples(300))
@given(st.one_of(st.text(), st.lists(st.sampled_from("a b,/*.$@('é;)"), max_size=12).map("".join)))
def test_any_text_is_read_or_refused(text: str) -> None:
    is_read_or_refused(parse_select, text, "$select")
