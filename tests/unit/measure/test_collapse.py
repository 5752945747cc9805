"""A solution that keeps its result, one that computes it anew and one that imports late: measured, then told apart."""

from __future__ import annotations

import pandas as pd
from small_cases import plan, solution

from patchperf.measure.calibration import Window
from patchperf.measure.native import measure_case
from patchperf.measure.records import to_frame
from patchperf.sandbox.protocol import Limits
from patchperf.stats.cases import case_statistics
from patchperf.stats.samples import members_of
from patchperf.stats.warmth import collapsed_solutions, warmth

WORKING = "def total(n):\n    return sum(number for _ in range(1500) for number in range(n)) // 1500\n"
KEEPING = f"from functools import lru_cache\n\n@lru_cache\n{WORKING}"
IMPORTING = "def total(n):\n    import slow\n    return sum(range(n))\n"
SLOW_MODULE = "import time\ntime.sleep(0.05)\n"


def test_only_the_solution_that_keeps_its_result_has_collapsed(sandbox, tmp_path):
    solutions = [
        solution(tmp_path, name, code) for name, code in zip("abc", (WORKING, KEEPING, IMPORTING), strict=True)
    ]
    (solutions[2].tree / "slow.py").write_text(SLOW_MODULE)
    window = Window(min_seconds=0.0001, max_seconds=0.001)
    case = plan(sandbox.layout, *solutions, replicates=2, window=window)
    measured = to_frame(measure_case(case, sandbox, Limits(), tmp_path / "journal").records)
    rows = [{"instance_id": case.instance_id, "solution": one.id, "sources": list(one.sources)} for one in solutions]
    members = members_of(pd.DataFrame(rows))
    told = warmth(measured, members, 0.05)
    collapsed = collapsed_solutions(told)
    assert collapsed == {(case.instance_id, "b")}
    ratios = told.set_index("solution").ratio
    assert ratios["b"] < 0.01
    assert ratios["a"] > 0.2
    late = told.set_index("solution").loc["c"]
    assert late.per_repetition_ns < 0.05 * late.first_call_ns
    (row,) = case_statistics(measured, members, 0.05, collapsed).to_dict("records")
    assert (row["collapsed"], "1 of 3 solutions collapsed" in row["note"]) == (True, True)
