"""The state of a rehearsal's rules: counts, firings, and the requests so far."""

from collections.abc import Sequence

import msgspec

from comptoir.edm.times import Clock
from comptoir.errors.refusal import refuse
from comptoir.features.rehearsal import errors
from comptoir.features.rehearsal.choice import Chooser, ChosenRule, RuleCounts
from comptoir.features.rehearsal.documents import MOST_RULES
from comptoir.features.rehearsal.effects import APPLICABLE, Firing
from comptoir.features.rehearsal.rules import Candidate, Rule

MOST_FIRINGS = 1_000
"""The most entries of the log of faults; the oldest is forgotten."""

MOST_TOKENS = 1_000
"""The most tokens that a fault has ended; the one that was ended first is accepted again."""

MOST_LISTS = 1_000
"""The most lists whose pages are counted; the one that was read least recently starts again."""


class SeenPage(msgspec.Struct, frozen=True):
    """The page of a list that a client has requested last, and the one before it."""

    number: int = 1
    query: str = ""
    previous: str = ""


class RuleState:
    """The rules in force, with all that they need of the requests so far."""

    def __init__(self, rules: Sequence[Rule], clock: Clock) -> None:
        self._clock = clock
        self.reset()
        self.set_rules(rules)

    def reset(self) -> None:
        """Forget everything."""
        self._rules: tuple[Rule, ...] = ()
        self._counts = RuleCounts()
        self._ended: dict[str, ChosenRule] = {}
        self._pages: dict[str, SeenPage] = {}
        self._fired = 0
        self.firings: list[Firing] = []

    def in_force(self) -> Sequence[Rule]:
        """The rules that have not ended."""
        now = self._clock()
        return [each for each in self._rules if not each.is_over(now)]

    def set_rules(self, rules: Sequence[Rule]) -> None:
        """Replace the rules; all counts start again, and the tokens that were ended are valid."""
        self._rules = tuple(rules)
        self._counts = RuleCounts()
        self._ended.clear()

    def add_rule(self, rule: Rule) -> None:
        """Add a rule after the others, whose counts go on; raises `Refusal` (400, 409)."""
        self._keep(self.in_force())
        check_new(rule, self._rules)
        self._rules = (*self._rules, rule)

    def remove_rule(self, rule_id: str) -> None:
        """Remove a rule if it is there; the counts of the others go on."""
        self._keep([each for each in self.in_force() if each.id != rule_id])

    def _keep(self, rules: Sequence[Rule]) -> None:
        """Keep some of the rules, and forget what the others have counted."""
        gone = {each.id for each in self._rules} - {each.id for each in rules}
        self._rules = tuple(rules)
        counts = self._counts
        for key in [each for each in counts.of_rules if each.partition(" ")[0] in gone]:
            del counts.of_rules[key]
        for token in [each for each, by in self._ended.items() if by.rule.id in gone]:
            del self._ended[token]
        if counts.window is not None and counts.window.rule in gone:
            counts.window = None

    def page(self, client: str, path: str, query: str, *, is_next: bool) -> tuple[int, str]:
        """The number of a page of a list, by the requests so far, and the query of the previous."""
        pages, key = self._pages, f"{client} {path}"
        seen = pages.pop(key, SeenPage())
        if not is_next:
            seen = SeenPage(1, query)
        elif query != seen.query:
            seen = SeenPage(seen.number + 1, query, seen.query)
        # the last one is the most recent
        pages[key] = seen
        if len(pages) > MOST_LISTS:
            del pages[next(iter(pages))]
        return seen.number, seen.previous

    def choose(
        self, asked: Candidate, of_header: Rule | None = None, token: str = ""
    ) -> ChosenRule | None:
        """The rule that acts on a request; `token` is a digest of its token."""
        ended = self._ended.get(token)
        is_ended = ended is not None and ended.rule.match.company in {"", asked.company}
        if ended is not None and is_ended and not ended.rule.is_over(self._clock()):
            return ended
        choice = Chooser(self._rules, self._clock, self._counts).choose(asked, of_header)
        if choice is not None and choice.rule.fault.name == "token-expired":
            self._ended[token] = choice
            if len(self._ended) > MOST_TOKENS:
                del self._ended[next(iter(self._ended))]
        return choice

    def fire(
        self,
        choice: ChosenRule,
        asked: Candidate,
        request_id: str,
        at: str,
        outcome: str = APPLICABLE,
    ) -> Firing:
        """Add an entry to the log."""
        self._fired += 1
        firing = Firing(
            self._fired,
            at,
            choice.rule.id,
            choice.rule.fault.text,
            choice.number,
            asked.client,
            request_id,
            asked.method,
            asked.address or asked.path,
            asked.company,
            outcome,
        )
        self.firings.append(firing)
        if len(self.firings) > MOST_FIRINGS:
            del self.firings[0]
        return firing


def check_new(rule: Rule, rules: Sequence[Rule]) -> None:
    """Raise `Refusal` (400, 409) unless a rule can be added to others."""
    if len(rules) >= MOST_RULES:
        raise refuse(errors.MANY_RULES, limit=MOST_RULES)
    if any(each.id == rule.id for each in rules):
        raise refuse(errors.RULE_EXISTS, "id", id=rule.id)
