import pandas as pd

from patchperf.stats.agreement import agreement_table, outcome_table
from patchperf.stats.schema import AGREEMENT, OUTCOMES


def candidates(*rows: tuple[str, str, str, bool | None]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["instance_id", "source", "outcome", "reported_resolved"])
    return frame.assign(
        f2p_passed=1, f2p_total=1, p2p_passed=2, p2p_total=2, dialect="swe-bench", solution=None, link="git", note="",
        repo="a/b", f2p="", p2p=None, other_dialect="", other_outcome="",
    )  # fmt: skip


def test_agreement_is_whether_both_call_it_resolved() -> None:
    table = agreement_table(
        outcome_table(
            candidates(
                ("a", "m1", "Resolved", True),
                ("b", "m1", "Resolved", False),
                ("c", "m1", "Breaking Resolved", True),
                ("d", "m1", "empty", False),
            )
        )
    )
    assert dict(zip(table["instance_id"], table["agrees"], strict=True)) == {
        "a": True,
        "b": False,
        "c": False,
        "d": True,
    }


def test_a_candidate_without_a_verdict_agrees_with_nothing() -> None:
    outcomes = candidates(("a", "m1", "infrastructure failure", False), ("b", "m1", "infrastructure failure", True))
    assert agreement_table(outcome_table(outcomes))["agrees"].tolist() == [False, False]


def test_a_candidate_nobody_reports_on_is_left_out() -> None:
    table = agreement_table(
        outcome_table(candidates(("a", "ground_truth", "Resolved", None), ("a", "m1", "empty", True)))
    )
    assert table["source"].tolist() == ["m1"]


def test_outcomes_are_in_order_of_instance_and_source() -> None:
    table = outcome_table(
        candidates(("b", "m1", "empty", None), ("a", "m2", "empty", None), ("a", "m1", "empty", None))
    )
    assert list(zip(table["instance_id"], table["source"], strict=True)) == [("a", "m1"), ("a", "m2"), ("b", "m1")]
    assert table["solution"].tolist() == ["", "", ""]


def test_no_candidates_give_headers_only() -> None:
    outcomes = outcome_table(pd.DataFrame())
    assert (len(outcomes), list(outcomes.columns)) == (0, list(OUTCOMES))
    assert list(agreement_table(outcomes).columns) == list(AGREEMENT)
