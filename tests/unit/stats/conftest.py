"""Measurement tables in a few words: {instance: {solution: (sources, values)}} on one metric."""

from collections.abc import Callable, Mapping, Sequence

import pandas as pd
import pytest

Study = Mapping[str, Mapping[str, tuple[str, Sequence[float | None]]]]
Tables = tuple[pd.DataFrame, pd.DataFrame]


def make_tables(study: Study, metric: str = "instructions", backend: str = "cirron") -> Tables:
    cases = [
        {"instance_id": instance, "solution": solution, "sources": sources.split()}
        for instance, solutions in study.items()
        for solution, (sources, _) in solutions.items()
    ]
    measurements = [
        {
            "instance_id": instance,
            "solution": solution,
            "replicate": replicate,
            "repetitions": 100,
            "metric": metric,
            "value": value,
            "backend": backend,
            "void": False,
            "not_covered": "",
        }
        for instance, solutions in study.items()
        for solution, (_, values) in solutions.items()
        for replicate, value in enumerate(values)
    ]
    return pd.DataFrame(cases), pd.DataFrame(measurements)


@pytest.fixture
def tables() -> Callable[..., Tables]:
    return make_tables
