from __future__ import annotations

import dataclasses

import pytest
from small_benches import make_bench

from patchperf.config import Isolation
from patchperf.counters.preflight import Choice
from patchperf.errors import MachineError
from patchperf.measure.envelope import fixed_variables
from patchperf.study.cases import Case, CaseSolution
from patchperf.study.host import Host
from patchperf.study.instance import GROUND_TRUTH
from patchperf.study.measuring import plan_case
from patchperf.study.rows import Row
from patchperf.study.single_point import find_single_point

SOURCE = "from code import answer\n\ndef test_x():\n    assert answer == 42\n"
PATCH = "--- a/code.py\n+++ b/code.py\n@@ -1 +1 @@\n-answer = 41\n+answer = 42\n"
HERE = Host(
    host="a machine",
    counter=Choice(backend="none", reason="", tried={}),
    environment=fixed_variables(Isolation().pool_size),
    confinement="",
)


@pytest.fixture
def planned(tmp_path):
    bench = make_bench(tmp_path, SOURCE, patch=PATCH)
    command = "TZ=Asia/Tokyo PYTHONDONTWRITEBYTECODE=1 pytest -rA test_a.py"
    bench = dataclasses.replace(bench, instance=bench.instance.model_copy(update={"test_commands": (command,)}))
    point = find_single_point(bench, bench.tree("found", PATCH))
    solution = CaseSolution(solution="s", sources=(GROUND_TRUTH,), representative=GROUND_TRUTH)
    case = Case(instance_id=bench.instance.instance_id, digest="d", solutions=(solution,))
    row = Row(instance=bench.instance, candidates=(), environment=None)
    return lambda host: plan_case(bench, row, point, case, host=host, cache=tmp_path)


def test_a_case_is_measured_in_the_variables_of_every_command_and_those_of_its_own(planned):
    variables = dict(planned(HERE).environment)
    own = {name: variables.pop(name) for name in ("TZ", "PYTHONDONTWRITEBYTECODE", "PATH", "PYTHONPATH")}
    assert (own["TZ"], own["PYTHONDONTWRITEBYTECODE"]) == ("Asia/Tokyo", "1")
    fixed = {name: value for name, value in HERE.environment.items() if name != "TZ"}
    assert variables == {**fixed, "PYTHONHASHSEED": "0"}


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({}, "BLIS_NUM_THREADS=None, here it is"),
        (HERE.environment | {"OMP_NUM_THREADS": "64"}, "OMP_NUM_THREADS=64, here it is"),
        (HERE.environment | {"OF_ANOTHER_VERSION": "1"}, "OF_ANOTHER_VERSION=1, here it is None"),
    ],
)
def test_a_machine_that_gives_commands_other_variables_is_not_that_of_the_study(planned, environment, told):
    with pytest.raises(MachineError, match=rf"results/host\.json was made for {told}"):
        planned(HERE.model_copy(update={"environment": environment}))
