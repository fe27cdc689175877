"""Reads that a replica may answer: the requests, and which database answered."""

import re
from collections.abc import Mapping

import httpx

from support.service import Service

READ_ONLY = {"Data-Access-Intent": "ReadOnly"}

_COUNTED = re.compile(r'^comptoir_replica_reads_total\{outcome="(\w+)"\} (\S+)$', re.MULTILINE)


def token(response: httpx.Response) -> dict[str, str]:
    """The headers of a read that sees a write, from the response to the write."""
    assert response.status_code < 300, response.text
    return {"Consistency-Token": response.headers["consistency-token"]}


def outcomes(service: Service) -> Mapping[str, int]:
    """The outcomes of reads that a replica may answer, with their numbers."""
    return counted(service.origin.get("metrics").text)


def counted(text: str) -> Mapping[str, int]:
    """The outcomes in the text of the metrics."""
    return {outcome: int(float(number)) for outcome, number in _COUNTED.findall(text)}
