"""Cold against warm: rows as measured become a table of solutions and the verdict on their steady state."""

import math

import pandas as pd
import pytest

from patchperf.stats.cases import case_statistics
from patchperf.stats.flags import most
from patchperf.stats.samples import members_of
from patchperf.stats.schema import WARMTH
from patchperf.stats.warmth import collapsed_solutions, warmth

MS = 1e6


def row(
    solution: str, replicate: int, first: float | None, per_repetition: float, **changes: object
) -> dict[str, object]:
    return {
        "instance_id": "one",
        "solution": solution,
        "replicate": replicate,
        "repetitions": 10,
        "metric": "wall_ns",
        "value": 10 * per_repetition,
        "backend": "perf_counter_ns",
        "void": False,
        "not_covered": "",
        "first_call_ns": first,
        "first_call_import_ns": None if first is None else 0,
        "second_call_ns": per_repetition,
    } | changes


def members(*solutions: str) -> pd.DataFrame:
    rows = [{"instance_id": "one", "solution": name, "sources": [f"model-{name}"]} for name in solutions]
    return members_of(pd.DataFrame(rows))


def table(*rows: dict[str, object], share: float = 0.05) -> pd.DataFrame:
    names = sorted({str(one["solution"]) for one in rows})
    return warmth(pd.DataFrame(rows), members(*names), share).set_index("solution")


def test_times_are_medians_over_the_valid_replicates_of_wall_time() -> None:
    told = table(
        row("a", 0, 10 * MS, 4 * MS),
        row("a", 1, 30 * MS, 5 * MS, second_call_ns=7 * MS),
        row("a", 2, 20 * MS, 6 * MS),
        row("a", 3, 900 * MS, 900 * MS, void=True),
        row("a", 0, 500 * MS, 700 * MS, metric="instructions", backend="qemu"),
    ).loc["a"]
    assert told["first_call_ns"] == 20 * MS
    assert told["second_call_ns"] == 6 * MS
    assert told["per_repetition_ns"] == 5 * MS
    assert told["ratio"] == 0.25
    assert (told["clock"], told["replicates"], told["sources"]) == ("perf_counter_ns", 3, ["model-a"])


@pytest.mark.parametrize(
    ("first", "imports", "warm", "collapsed"),
    [
        (100 * MS, 0, 1 * MS, True),
        (100 * MS, 0, 6 * MS, False),
        (100 * MS, 90 * MS, 1 * MS, False),
        (100 * MS, 90 * MS, 0.4 * MS, True),
        (100 * MS, 99.5 * MS, 0.001 * MS, False),
        (0.9 * MS, 0, 0.001 * MS, False),
        (1 * MS, 0, 0.001 * MS, True),
        (100 * MS, 0, 5 * MS, False),
    ],
)
def test_collapsed_is_what_repeats_little_of_its_first_call_without_its_imports(
    first: float, imports: float, warm: float, collapsed: bool
) -> None:
    assert table(row("a", 0, first, warm, first_call_import_ns=imports)).loc["a", "collapsed"] == collapsed


def test_the_share_decides() -> None:
    one = row("a", 0, 100 * MS, 6 * MS)
    assert not table(one, share=0.06).loc["a", "collapsed"]
    assert table(one, share=0.061).loc["a", "collapsed"]


def test_without_warm_up_or_values_nothing_is_known_and_nothing_collapsed() -> None:
    told = table(row("a", 0, None, 1 * MS, second_call_ns=None), row("b", 0, 100 * MS, 1 * MS, void=True))
    assert told["ratio"].isna().all()
    assert not told["collapsed"].any()
    assert told["replicates"].to_dict() == {"a": 1, "b": 0}
    assert math.isnan(told.loc["b", "first_call_ns"])


def test_an_empty_corpus_gives_headers_only() -> None:
    told = warmth(pd.DataFrame(), members_of(pd.DataFrame()), 0.05)
    assert (len(told), list(told.columns)) == (0, list(WARMTH))


def statistics(*rows: dict[str, object]) -> pd.DataFrame:
    measurements = pd.DataFrame(rows)
    known = members(*sorted(set(measurements["solution"])))
    told = warmth(measurements, known, 0.05)
    return case_statistics(measurements, known, 0.05, collapsed_solutions(told)).set_index("metric")


def replicates(solution: str, first: float, warm: float) -> list[dict[str, object]]:
    counts = {"metric": "instructions", "backend": "qemu"}
    return [
        one
        for replicate, noise in enumerate((1.0, 1.01, 0.99))
        for one in (
            row(solution, replicate, first, warm * noise),
            row(solution, replicate, 12 * first, warm * noise, not_covered="children:2", **counts),
        )
    ]


def test_a_case_in_which_some_solutions_collapsed_says_so_on_every_metric() -> None:
    cases = statistics(*replicates("a", 100 * MS, 1 * MS), *replicates("b", 100 * MS, 90 * MS))
    assert cases["collapsed"].to_dict() == {"instructions": True, "wall_ns": True}
    assert set(cases["note"]) == {"1 of 2 solutions collapsed; no variance within rounds: exact"}


def test_where_all_collapsed_or_none_the_solutions_are_compared_as_equals() -> None:
    both = statistics(*replicates("a", 100 * MS, 1 * MS), *replicates("b", 100 * MS, 2 * MS))
    assert (both["collapsed"].all(), set(both["note"])) == (True, {"no variance within rounds: exact"})
    none = statistics(*replicates("a", 100 * MS, 80 * MS), *replicates("b", 100 * MS, 90 * MS))
    assert (none["collapsed"].any(), set(none["note"])) == (False, {"no variance within rounds: exact"})


def test_a_case_lists_what_its_counts_do_not_cover() -> None:
    rows = [*replicates("a", 100 * MS, 80 * MS), *replicates("b", 100 * MS, 90 * MS)]
    rows[1]["not_covered"] = "children:12; vectors:avx512"
    rows[3] |= {"void": True, "not_covered": "kernel:99"}
    assert statistics(*rows)["not_covered"].to_dict() == {"instructions": "children:12; vectors:avx512", "wall_ns": ""}


@pytest.mark.parametrize(
    ("texts", "union"),
    [
        ([], ""),
        (["", ""], ""),
        (["children:2", "", "children:10"], "children:10"),
        (["children", "children:2"], "children:2"),
        (["vectors:avx512; kernel:3", "kernel:20; children"], "children; kernel:20; vectors:avx512"),
    ],
)
def test_of_several_rows_every_code_is_told_once_with_its_largest_detail(texts: list[str], union: str) -> None:
    assert most(texts) == union
