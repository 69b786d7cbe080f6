"""The Prometheus text format, version 0.0.4."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Kind = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One value. *suffix* is appended to the name, for the parts of a histogram."""

    value: float
    labels: Mapping[str, str] = field(default_factory=dict)
    suffix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """All samples of one metric."""

    name: str
    kind: Kind
    help: str
    samples: Sequence[Sample]


def render(families: Iterable[Family]) -> str:
    """*families* as text; those without a sample are left out."""
    return "".join(_block(family) for family in families if family.samples)


def _block(family: Family) -> str:
    lines = [f"# HELP {family.name} {family.help}", f"# TYPE {family.name} {family.kind}"]
    for sample in family.samples:
        labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in sample.labels.items())
        named = f"{family.name}{sample.suffix}{{{labels}}}" if labels else f"{family.name}{sample.suffix}"
        lines.append(f"{named} {sample.value:.17g}")
    return "\n".join(lines) + "\n"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


class Histogram:
    """Cumulative counts of observations by upper bound."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * len(bounds)
        self._count = 0
        self._sum = 0.0

    def observe(self, value: float) -> None:
        self._count += 1
        self._sum += value
        for index, bound in enumerate(self._bounds):
            self._counts[index] += value <= bound

    def samples(self) -> list[Sample]:
        below = [
            Sample(value=count, labels={"le": f"{bound:g}"}, suffix="_bucket")
            for bound, count in zip(self._bounds, self._counts, strict=True)
        ]
        return [
            *below,
            Sample(value=self._count, labels={"le": "+Inf"}, suffix="_bucket"),
            Sample(value=self._sum, suffix="_sum"),
            Sample(value=self._count, suffix="_count"),
        ]
