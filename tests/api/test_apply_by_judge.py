"""Random pipelines over random records return the same as plain Python."""

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.apply_evaluator import PIPELINES, Pipeline, Shown
from support.effort import examples
from support.evaluator import Specimen, Unfit, cell
from support.random_expressions import data_sets
from support.refusals import refusal
from support.service import Service

PLAIN = {"Accept": "application/json;odata.metadata=none;IEEE754Compatible=true"}

# A data set is loaded for each example, so one brings several pipelines.
many = settings(
    max_examples=examples(36),
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


class Result(msgspec.Struct):
    value: list[dict[str, Shown]]


@many
@given(records=data_sets(), pipelines=st.lists(PIPELINES, min_size=5, max_size=15))
def test_a_pipeline_returns_the_same_as_python(
    specimen_service: Service, records: list[Specimen], pipelines: list[Pipeline]
) -> None:
    company = specimen_service.new_company()
    company.load(
        "specimensExt",
        *({name: cell(value) for name, value in record.items()} for record in records),
    )
    in_order = sorted(records, key=lambda record: str(record["code"]))

    for pipeline in pipelines:
        answer = company.get("specimensExt", {"$apply": pipeline.text}, PLAIN)
        try:
            expected = pipeline.rows(in_order)
        except Unfit:
            # what nothing needs in the end may be left uncomputed
            if answer.status_code != 200:
                refusal(answer, "BadRequest_InvalidRequestUrl")
            continue

        assert answer.status_code == 200, (pipeline.text, answer.text)
        assert msgspec.json.decode(answer.content, type=Result).value == expected, pipeline.text
