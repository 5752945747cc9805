from collections import Counter
from itertools import pairwise

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchperf.errors import InputError
from patchperf.stats.funnel import (
    funnel_by_dataset,
    funnel_table,
    io_table,
    ledger_table,
    repeatability_table,
)
from patchperf.stats.schema import FUNNEL, IO, LEDGER, REPEATABILITY
from patchperf.tables import latex_table, read_table, write_table

CLASSES = ("first", "second", "third")


def entry(name: str, dataset: str, stage: str, **more: str) -> dict[str, str | None]:
    return {
        "instance_id": name,
        "dataset": dataset,
        "repo": "owner/name",
        "stage": stage,
        "status": "kept" if stage == "corpus" else "excluded",
        "reason": "" if stage == "corpus" else f"reason-of-{stage}",
        "repeatability": "first" if stage == "repeatability" else "",
        "kind": "file data" if stage == "io" else "",
        "evidence": f"results/{name}.json",
        "detail": None,
        **more,
    }


def entries(*rows: tuple[str, str, str]) -> pd.DataFrame:
    return pd.DataFrame([entry(*row) for row in rows])


def test_the_papers_table_has_its_counts() -> None:
    """632 instances after the single-test filter, of which 87 are not repeatable and 206 do I/O, leave 339."""
    stages = {"single-test": 100, "repeatability": 87, "io": 206, "corpus": 339}
    rows = [(f"{stage}-{number}", "all", stage) for stage, count in stages.items() for number in range(count)]
    funnel = funnel_table(ledger_table(entries(*rows)))
    assert list(funnel.itertuples(index=False, name=None)) == [
        ("all", "input", 0, 732),
        ("all", "single-test", 100, 632),
        ("all", "repeatability", 87, 545),
        ("all", "io", 206, 339),
        ("all", "corpus", 0, 339),
    ]
    assert funnel_by_dataset(funnel).to_dict("records") == [
        {"dataset": "all", "input": 732, "single-test": 100, "repeatability": 87, "io": 206, "corpus": 339}
    ]


def test_every_filter_of_every_dataset_adds_up() -> None:
    rows = [("a", "one", "corpus"), ("b", "one", "io"), ("c", "two", "configuration"), ("d", "two", "measurement")]
    funnel = funnel_table(ledger_table(entries(*rows)))
    for _, steps in funnel.groupby("dataset"):
        left = steps["left"].tolist()
        assert [before - after for before, after in pairwise(left)] == steps["removed"].tolist()[1:]
    assert funnel.groupby("dataset")["left"].last().to_dict() == {"one": 1, "two": 0}
    assert funnel["filter"].unique().tolist() == [
        "input",
        "configuration",
        "single-test",
        "repeatability",
        "io",
        "measurement",
        "corpus",
    ]


def test_several_datasets_have_a_total() -> None:
    rows = [("a", "one", "corpus"), ("b", "one", "io"), ("c", "two", "single-test"), ("d", "two", "corpus")]
    table = funnel_by_dataset(funnel_table(ledger_table(entries(*rows))))
    assert table.to_dict("records") == [
        {"dataset": "one", "input": 2, "single-test": 0, "repeatability": 0, "io": 1, "corpus": 1},
        {"dataset": "two", "input": 2, "single-test": 1, "repeatability": 0, "io": 0, "corpus": 1},
        {"dataset": "total", "input": 4, "single-test": 1, "repeatability": 0, "io": 1, "corpus": 2},
    ]


def test_a_stage_of_an_unknown_name_is_counted_too() -> None:
    funnel = funnel_table(ledger_table(entries(("a", "one", "astrology"), ("b", "one", "corpus"))))
    assert funnel.set_index("filter").loc["astrology"].tolist() == ["one", 1, 1]


def test_classes_come_in_their_order_with_their_reasons_by_number() -> None:
    ledger = ledger_table(
        pd.DataFrame(
            [
                entry("a", "one", "repeatability", repeatability="third", reason="rare"),
                entry("b", "one", "repeatability", repeatability="third", reason="usual"),
                entry("c", "one", "repeatability", repeatability="third", reason="usual"),
                entry("d", "one", "repeatability", repeatability="first", reason="other"),
                entry("e", "one", "corpus"),
            ]
        )
    )
    assert list(repeatability_table(ledger, CLASSES).itertuples(index=False, name=None)) == [
        ("one", "first", "other", 1),
        ("one", "second", "", 0),
        ("one", "third", "usual", 2),
        ("one", "third", "rare", 1),
    ]


def test_repositories_come_by_their_number_with_the_kinds_that_decided() -> None:
    def of(repo: str, *stages: str, kind: str = "file data") -> list[dict[str, str | None]]:
        return [
            entry(f"{repo}-{kind}-{n}", "one", stage, repo=repo, kind=kind if stage == "io" else "")
            for n, stage in enumerate(stages)
        ]

    rows = [
        *of("o/few", "io", "corpus", "measurement", "repeatability"),
        *of("o/many", "io", "single-test", "configuration"),
        *of("o/many", "io", "io", kind="network"),
        *of("o/none", "corpus"),
    ]
    assert list(io_table(ledger_table(pd.DataFrame(rows))).itertuples(index=False, name=None)) == [
        ("o/many", 5, 3, 3, 0.6, "network 2, file data 1"),
        ("o/few", 4, 3, 1, 0.25, "file data 1"),
    ]


STAGES = ("configuration", "single-test", "repeatability", "io", "measurement", "corpus", "astrology")
NAMES = st.sampled_from(["a", "b", "c"])


@st.composite
def ledgers(draw: st.DrawFn) -> pd.DataFrame:
    """Any ledger: every instance in any dataset and repository, leaving at any stage for any reason."""
    rows = []
    for number in range(draw(st.integers(1, 40))):
        stage = draw(st.sampled_from(STAGES))
        one = entry(str(number), draw(NAMES), stage, repo=draw(NAMES))
        if stage == "repeatability":
            one |= {"repeatability": draw(st.sampled_from([*CLASSES, "fourth"])), "reason": draw(NAMES)}
        if stage == "io":
            one |= {"kind": draw(NAMES)}
        rows.append(one)
    return ledger_table(pd.DataFrame(rows))


@settings(deadline=None, max_examples=60)
@given(ledgers())
def test_on_any_ledger_the_counts_add_up(ledger: pd.DataFrame) -> None:
    """Counted here row by row in plain Python: what the tables say at each stage, per dataset and in total."""
    sizes = Counter(ledger["dataset"])
    left_at = Counter(zip(ledger["dataset"], ledger["stage"], strict=True))
    funnel = funnel_table(ledger)
    assert (
        Counter(dict(funnel.groupby("dataset")["removed"].sum()))
        + Counter({dataset: left_at[dataset, "corpus"] for dataset in sizes})
        == sizes
    )
    for dataset, steps in funnel.groupby("dataset"):
        left = sizes[str(dataset)]
        for step in steps.itertuples():
            left -= 0 if step.filter == "corpus" else left_at[str(dataset), str(step.filter)]
            assert step.left == left
    total = funnel_by_dataset(funnel).iloc[-1]
    assert total["input"] == len(ledger)
    assert total["input"] - total.drop(["dataset", "input", "corpus"]).sum() == total["corpus"]
    assert total["corpus"] == (ledger["status"] == "kept").sum()
    for stage in set(ledger["stage"]) - {"corpus"}:
        assert total[stage] == (ledger["stage"] == stage).sum()

    removed = funnel.pivot(index="dataset", columns="filter", values="removed")
    classes = repeatability_table(ledger, CLASSES)
    assert classes.groupby("dataset")["excluded"].sum().to_dict() == removed["repeatability"].to_dict()
    assert not classes.duplicated(["dataset", "class", "reason"]).any()
    by_repository = io_table(ledger)
    assert by_repository["excluded"].sum() == removed["io"].sum()
    assert (by_repository["excluded"] <= by_repository["reached"]).all()
    assert (by_repository["reached"] <= by_repository["instances"]).all()
    for row in by_repository.itertuples():
        assert sum(int(kind.rsplit(" ", 1)[1]) for kind in str(row.kinds).split(", ")) == row.excluded


def test_the_ledger_is_in_order_of_dataset_and_instance_with_no_empty_cells() -> None:
    ledger = ledger_table(entries(("z", "one", "corpus"), ("b", "two", "io"), ("a", "one", "io")))
    assert ledger["instance_id"].tolist() == ["a", "z", "b"]
    assert ledger["detail"].tolist() == ["", "", ""]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"status": "perhaps"}, "a is neither kept nor excluded"),
        ({"reason": ""}, "a is excluded without a reason"),
        ({"stage": "corpus"}, "a is excluded at the stage of kept ones"),
        ({"repeatability": "first"}, "a has a class of repeatability at another stage"),
        ({"kind": ""}, "a has .* none at that one"),
        ({"stage": "repeatability"}, "a has a class of repeatability at another stage, or none at that one"),
        ({"stage": "single-test"}, "a has a deciding system call at another stage than io"),
    ],
)
def test_an_entry_that_tells_no_clear_story_is_an_error(change: dict[str, str], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        ledger_table(entries(("a", "one", "io")).assign(**change))


def test_an_instance_that_stands_twice_is_an_error() -> None:
    with pytest.raises(InputError, match="a stands in the ledger twice"):
        ledger_table(entries(("a", "one", "io"), ("a", "one", "corpus")))


def test_no_instances_give_headers_only() -> None:
    ledger = ledger_table(pd.DataFrame())
    assert (len(ledger), list(ledger.columns)) == (0, list(LEDGER))
    assert list(funnel_table(ledger).columns) == list(FUNNEL)
    assert list(repeatability_table(ledger, CLASSES).columns) == list(REPEATABILITY)
    assert list(io_table(ledger).columns) == list(IO)
    assert "\\toprule" in latex_table(funnel_by_dataset(funnel_table(ledger)), "No instances.", "tab:funnel")


def test_a_study_without_exclusions_has_classes_of_none_and_no_repository(tmp_path) -> None:  # type: ignore[no-untyped-def]
    ledger = ledger_table(entries(("a", "one", "corpus")))
    classes, repositories = repeatability_table(ledger, CLASSES), io_table(ledger)
    assert classes["excluded"].tolist() == [0, 0, 0]
    for name, table, schema in (("classes", classes, REPEATABILITY), ("io", repositories, IO)):
        write_table(table, tmp_path / f"{name}.csv", tmp_path / f"{name}.tex", "Nothing.")
        assert read_table(tmp_path / f"{name}.csv", schema).equals(table)
