from itertools import pairwise

import pandas as pd
import pytest

from patchperf.errors import InputError
from patchperf.stats.funnel import funnel_table, ledger_table
from patchperf.stats.schema import FUNNEL, LEDGER


def entries(*rows: tuple[str, str, str]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "instance_id": name,
                "dataset": dataset,
                "repo": "owner/name",
                "stage": stage,
                "status": "kept" if stage == "corpus" else "excluded",
                "reason": "" if stage == "corpus" else f"reason-of-{stage}",
                "evidence": f"results/{name}.json",
                "detail": None,
            }
            for name, dataset, stage in rows
        ]
    )


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


def test_a_stage_of_an_unknown_name_is_counted_too() -> None:
    funnel = funnel_table(ledger_table(entries(("a", "one", "astrology"), ("b", "one", "corpus"))))
    assert funnel.set_index("filter").loc["astrology"].tolist() == ["one", 1, 1]


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
