from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "loop_cost.py"
MORE_NS = 5


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    found = importlib.util.spec_from_file_location("loop_cost", BENCHMARK)
    assert found is not None
    assert found.loader is not None
    loaded = importlib.util.module_from_spec(found)
    found.loader.exec_module(loaded)
    return loaded


@pytest.mark.parametrize("number", range(3))
def test_a_repetition_costs_hardly_more_than_a_bare_loop(benchmark, module, number):
    """The best of short rounds, and a few tries, because tests share the machine with whatever else runs."""
    shape = benchmark.SHAPES[number]
    differences = []
    for _ in range(5):
        bare, ours = benchmark.compare(module, shape, repetitions=2_000, rounds=200)
        differences.append(ours - bare)
        if differences[-1] <= MORE_NS:
            break
    assert min(differences) <= MORE_NS
