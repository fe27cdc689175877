"""Parameter aliases: what they stand for, and what they may not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comptoir.errors.refusal import Refusal
from comptoir.errors.table import INVALID_URL
from comptoir.request.aliases import parse_aliases, resolve
from comptoir.request.expression.parser import ExpressionLimits, parse_expression
from comptoir.request.expression.tree import Node, Parameter, walk
from comptoir.request.path import KeyPart, parse_path, resolve_key
from support.effort import examples
from support.syntax import content, refusal_of
from support.together import together


def resolved(text: str, limits: ExpressionLimits | None = None, /, **aliases: str) -> Node:
    limits = limits or ExpressionLimits()
    return resolve(parse_expression(text), parse_aliases(aliases.items()), limits)


def refused(text: str, limits: ExpressionLimits | None = None, /, **aliases: str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        resolved(text, limits, **aliases)
    assert caught.value.error is INVALID_URL
    assert len(caught.value.message) < 400
    return caught.value


def test_a_tree_without_aliases_stays_the_same_object() -> None:
    tree = parse_expression("a eq 1")
    assert resolve(tree, parse_aliases([("p", "1")])) is tree


@together(
    ("aliases", "around"),
    [
        ({"p": "@p"}, "@p -> @p"),
        ({"p": "a and @p"}, "@p -> @p"),
        ({"p": "@q", "q": "@r or @p", "r": "1"}, "@p -> @q -> @p"),
        ({"p": "@q", "q": "@r", "r": "@q"}, "@q -> @r -> @q"),
    ],
)
def test_a_cycle_of_aliases_is_refused(aliases: dict[str, str], around: str) -> None:
    refusal = refused("a eq @p", **aliases)
    assert f"refers to itself ({around}). " in refusal.message


def test_an_unused_cycle_is_ignored() -> None:
    assert content(resolved("a eq @p", p="1", q="@q")) == content(parse_expression("a eq 1"))


def test_an_alias_bomb_is_refused_before_it_is_built() -> None:
    """90 doublings would be 10**27 nodes."""
    bomb = {f"a{i}": f"@a{i + 1} and @a{i + 1}" for i in range(90)}
    refusal = refused("@a0", **bomb)
    assert "exceed the limit of 2500 parts" in refusal.message
    assert refusal.target == "@a0"


def test_the_expression_of_an_alias_counts_each_time() -> None:
    limits = ExpressionLimits(nodes=6)
    whole = parse_expression("a eq 1 and b")
    assert content(resolved("@p and @q", limits, p="a eq 1", q="b")) == content(whole)
    assert "exceed the limit of 6 parts" in refused("@p and @p", limits, p="a eq 1").message


def test_a_list_in_an_alias_is_one_node() -> None:
    numbers = ",".join(str(number) for number in range(1000))
    limits = ExpressionLimits(nodes=3)
    whole = parse_expression(f"a in [{numbers}]")
    assert content(resolved("a in @p", limits, p=f"[{numbers}]")) == content(whole)


def test_the_members_of_lists_in_aliases_are_limited() -> None:
    numbers = ",".join(str(number) for number in range(1000))
    lists = " or ".join(["a in @p"] * 10)
    assert repr(resolved(lists, p=f"[{numbers}]")).count("'999'") == 10
    refusal = refused(f"{lists} or a in @p", p=f"[{numbers}]")
    assert "10000 members of lists" in refusal.message


def test_the_height_of_a_tree_with_aliases_is_limited() -> None:
    limits = ExpressionLimits(depth=10)
    chain = " add 1" * 10
    tree = resolve(parse_expression("@p" + chain), parse_aliases([("p", "b" + chain)]), limits)
    assert max(level for _, level in walk(tree)) <= limits.height
    assert "or 22 levels" in refused("@p" + " add 1" * 11, limits, p="b" + chain + " add 1").message


def test_a_long_chain_of_aliases_is_refused() -> None:
    for length in (101, 2000):
        aliases = {f"a{i}": f"@a{i + 1}" for i in range(length)}
        assert "exceeds the limit of 100 aliases" in refused("@a0", **aliases).message


def test_an_error_in_an_alias_has_the_alias_and_the_column() -> None:
    refusal = refused("a eq @p", p="1 eq")
    assert refusal.target == "@p"
    assert refusal.message.startswith(
        "Expected a value after 'eq', found the end of the text at column 5 of @p. "
    )


def test_the_nodes_of_an_alias_are_where_it_is_used() -> None:
    aliases = parse_aliases([("p", "f(a, b) eq 1"), ("q", "not @p")])
    node = resolve(parse_expression("c eq d and @q"), aliases)
    used = [each for each, _ in walk(node) if each.position == 11]
    assert len(used) == 6
    assert {each.position for each, _ in walk(node)} == {0, 2, 5, 7, 11}


def key(text: str) -> tuple[KeyPart, ...]:
    parts = parse_path(text)[0].key
    assert parts is not None
    return parts


def test_a_key_may_be_given_by_an_alias() -> None:
    aliases = parse_aliases(
        [("id", "5d115c9c-44e3-ea11-bb43-000d3a2feca1"), ("code", "'O''Neil'"), ("no", "@code")]
    )
    id_part = KeyPart(None, "5d115c9c-44e3-ea11-bb43-000d3a2feca1", quoted=False)
    assert resolve_key(key("c(@id)"), aliases) == (id_part,)
    assert resolve_key(key("c(code=@no,a='@id')"), aliases) == (
        KeyPart("code", "O'Neil", quoted=True),
        KeyPart("a", "@id", quoted=True),
    )


REFERENCES = st.lists(
    st.sampled_from(["@a", "@b", "@c", "d", "1", "f(@a)", "not @b", "@c in (@a,1)"]),
    min_size=1,
    max_size=3,
).map(" and ".join)


@settings(max_examples=examples(100))
@given(REFERENCES, st.dictionaries(st.sampled_from("abc"), REFERENCES))
def test_a_resolved_tree_has_no_aliases_and_is_within_the_limits(
    text: str, aliases: dict[str, str]
) -> None:
    limits = ExpressionLimits(nodes=40, depth=12)
    refusal = refusal_of(lambda each: resolved(each, limits, **aliases), text)
    if refusal is None:
        nodes = list(walk(resolved(text, limits, **aliases)))
        assert not [node for node, _ in nodes if isinstance(node, Parameter)]
        assert max(level for _, level in nodes) <= limits.height
    else:
        assert refusal.error is INVALID_URL
