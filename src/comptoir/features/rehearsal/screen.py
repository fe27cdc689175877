"""Faults: the rules of a rehearsal, which requests have met them, and the report."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial

import msgspec

from comptoir.auth.fields import number
from comptoir.auth.records import ConsoleRole
from comptoir.edm.times import instant
from comptoir.errors.refusal import Refusal
from comptoir.features.console.form import Form, form_page
from comptoir.features.console.frame import Answer, Endpoint, Redirect, Screen, TemplatePage
from comptoir.features.console.visit import FormData, Visit
from comptoir.features.rehearsal import errors
from comptoir.features.rehearsal.fault import Fault
from comptoir.features.rehearsal.faults import FAULTS
from comptoir.features.rehearsal.rehearsal import Rehearsal
from comptoir.features.rehearsal.rules import METHODS, MOST_TIMES

LONGEST_MINUTES = 24 * 60
"""The most minutes for which a rule from the console is in force."""

USUAL_MINUTES = 15
"""The minutes that the form of a new rule proposes."""

MOST_FIRINGS = 100
"""The entries of the log that the page shows."""

_minutes = number(1, LONGEST_MINUTES)
_times = number(1, MOST_TIMES)
_percent = number(1, 100)


async def show(visit: Visit) -> Answer:
    """The rules in force, and the latest requests that have met one."""
    rehearsal = visit.backend.feature(Rehearsal)
    context = {
        "rules": rehearsal.rules,
        "firings": list(reversed(rehearsal.firings))[:MOST_FIRINGS],
        "now": rehearsal.clock(),
    }
    return TemplatePage("faults.html", "Faults", context)


async def show_new(visit: Visit) -> Answer:
    """The list of all faults, or the form of a rule with one of them."""
    name = visit.query.text("fault")
    if name not in FAULTS:
        return TemplatePage("fault_choice.html", "New rule", {"faults": FAULTS})
    usual = [("fault", name), ("minutes", str(USUAL_MINUTES)), ("percent", "100")]
    usual += [
        (f"parameter-{each}", str(parameter.default))
        for each, parameter in FAULTS[name].parameters.items()
        if parameter.default is not None and parameter.only_with is None
    ]
    return _page(visit, Form(FormData(usual)), FAULTS[name])


async def add(visit: Visit) -> Answer:
    """Add a rule, which ends by itself."""
    form = Form(visit.form)
    fault = FAULTS.get(form.text("fault"))
    if fault is None:
        raise errors.NO_KNOWN_FAULT()
    rehearsal = visit.backend.feature(Rehearsal)
    rule = _rule(form, fault, rehearsal.clock())
    if form.errors:
        return _page(visit, form, fault)
    try:
        await rehearsal.add(msgspec.json.encode(rule), visit.actor, visit.principal.reaches)
    except Refusal as refusal:
        # a member of the rule has a field of its name, but for those of the console alone
        field = (refusal.target or "").removeprefix("match.")
        form.refuse(field if visit.form.has(field) else "fault", refusal)
        return _page(visit, form, fault)
    return Redirect(visit.url(SCREEN.address, done="added"))


async def end(visit: Visit) -> Answer:
    """End a rule before its time."""
    await visit.backend.feature(Rehearsal).remove(
        visit.form.text("id"), visit.actor, visit.principal.reaches
    )
    return Redirect(visit.url(SCREEN.address, done="ended"))


async def report(visit: Visit) -> Answer:
    """The traps that each client has met, and how it went on."""
    found = visit.backend.feature(Rehearsal).traffic.report()
    return TemplatePage("fault_report.html", "Report of the rehearsal", {"report": found})


def _rule(form: Form, fault: type[Fault], now: float) -> Mapping[str, object]:
    """The document of a rule, with the faults of its fields in the form."""
    written = [form.text("fault")]
    for name, parameter in fault.parameters.items():
        if form.text(f"parameter-{name}"):
            value = form.read(
                f"parameter-{name}", partial(parameter.value, name, place="this rule")
            )
            written.append(f"{name}={value}")
    minutes = form.read("minutes", _minutes) or 0
    until = datetime.fromtimestamp(now, UTC) + timedelta(minutes=minutes)
    rule: dict[str, object] = {"fault": "; ".join(written), "until": instant(until)}
    if form.text("id"):
        rule["id"] = form.text("id")
    match: dict[str, object] = {
        each: form.text(each) for each in ("client", "set", "method", "path") if form.text(each)
    }
    for name, members in (("nth", match), ("times", rule)):
        if form.text(name) and (count := form.read(name, _times)) is not None:
            members[name] = count
    percent = form.read("percent", _percent)
    if percent is not None and percent < 100:
        # the same fraction of the requests would meet each rule with the same seed
        rule |= {"probability": percent / 100, "seed": int(time.time())}
    return {**rule, "match": match}


def _page(visit: Visit, form: Form, fault: type[Fault]) -> TemplatePage:
    methods = [each for each in METHODS if not fault.methods or each in fault.methods]
    return form_page(
        "fault_new.html",
        f"New rule: {form.text('fault')}",
        form,
        fault=fault,
        methods=[("", "any"), *[(each, each) for each in methods]],
        sets=[("", "any"), *[(each.name, each.name) for each in visit.backend.model.sets]],
        longest=LONGEST_MINUTES,
    )


SCREEN = Screen(
    "Faults",
    "/faults",
    (
        Endpoint("GET", "", show),
        Endpoint("GET", "/new", show_new, ConsoleRole.ADMIN),
        Endpoint("POST", "/new", add, ConsoleRole.ADMIN),
        Endpoint("POST", "/end", end, ConsoleRole.ADMIN),
        Endpoint("GET", "/report", report),
    ),
    80,
    is_of_service=True,
    done={"added": "The rule is in force.", "ended": "The rule has ended."},
)
