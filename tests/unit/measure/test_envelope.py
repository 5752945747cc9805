from __future__ import annotations

from patchperf.measure.envelope import POOLS, fixed_variables


def test_every_pool_locale_and_time_zone_is_fixed():
    variables = fixed_variables(3)
    assert {variables[name] for name in POOLS} == {"3"}
    assert {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"} <= set(POOLS)
    assert {name: variables[name] for name in variables.keys() - set(POOLS)} == {
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }
