"""The figures of the last minutes, sampled from the metrics of all workers."""

import time
from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from comptoir.http.metrics import Counts, Metrics

MINUTES = 15
"""The minutes of the history."""

SAMPLE_SECONDS = 15.0
"""Seconds between two samples."""

_SAMPLES = int(MINUTES * 60 / SAMPLE_SECONDS)


class Point(NamedTuple):
    """The figures between two samples: at the end, in epoch seconds, and per second of the time.

    `p50` and `p95` are the milliseconds that half of the requests and 95 of 100 took at most; None
    without requests. `waiting_writes` and `notification_lag`, in seconds, are those at the end.
    """

    at: float
    requests: float
    p50: float | None
    p95: float | None
    refused: float
    failed: float
    waiting_writes: int
    notification_lag: float


class Figures:
    """Samples the metrics; a sample costs a millisecond."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._samples: deque[tuple[float, Counts]] = deque(maxlen=_SAMPLES + 1)

    async def sample(self) -> None:
        """Take a sample now."""
        self._samples.append((time.time(), self._metrics.counts()))

    def points(self) -> Sequence[Point]:
        """The figures between each two samples, and up to now, in the order of time."""
        now = (time.time(), self._metrics.counts())
        return [
            _point(at - since, at, before, after)
            for (since, before), (at, after) in pairwise([*self._samples, now])
            if at > since
        ]


def _point(seconds: float, at: float, before: Counts, after: Counts) -> Point:
    # the bounds in milliseconds
    buckets = [
        (bound * 1_000, count - earlier)
        for (bound, count), (_, earlier) in zip(after.buckets, before.buckets, strict=True)
    ]
    return Point(
        at,
        (after.requests - before.requests) / seconds,
        quantile(buckets, 0.5),
        quantile(buckets, 0.95),
        (after.refused - before.refused) / seconds,
        (after.failed - before.failed) / seconds,
        after.waiting_writes,
        after.notification_lag,
    )


def quantile(buckets: Sequence[tuple[float, float]], part: float) -> float | None:
    """The value below which a part of the observations is, as PromQL's `histogram_quantile`.

    The counts of the buckets, by their upper bounds, include those of the buckets before.
    """
    total = buckets[-1][1]
    if total <= 0:
        return None
    wanted, lower, below = total * part, 0.0, 0.0
    for bound, count in buckets[:-1]:
        if count >= wanted:
            return lower + (bound - lower) * (wanted - below) / (count - below)
        lower, below = bound, count
    return lower
