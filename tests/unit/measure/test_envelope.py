from __future__ import annotations

import os
import subprocess
import sys

from patchperf.measure.envelope import POOLS, fixed_variables, pool_size

PRINTED = "from patchperf.measure.envelope import pool_size; print(pool_size(4))"


def test_a_pool_has_as_many_threads_as_the_process_has_cpus_and_at_most_those_of_a_core_group():
    assert [pool_size(cores) for cores in (1, 4)] == [1, min(4, len(os.sched_getaffinity(0)))]
    one = str(min(os.sched_getaffinity(0)))
    bound = subprocess.run(["taskset", "-c", one, sys.executable, "-c", PRINTED], capture_output=True, check=True)
    assert bound.stdout == b"1\n"


def test_every_pool_locale_and_time_zone_is_fixed():
    variables = fixed_variables(3)
    assert {variables[name] for name in POOLS} == {"3"}
    assert {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"} <= set(POOLS)
    assert {name: variables[name] for name in variables.keys() - set(POOLS)} == {
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }
