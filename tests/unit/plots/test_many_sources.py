from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from many_sources import illegible, names, source_tables
from matplotlib.figure import Figure

from patchperf.plots.figures import FIGURES, QUALITY_FIGURES
from patchperf.plots.style import save_figure, short_names

PLOTS = FIGURES | QUALITY_FIGURES
LEGIBLE = (
    "outcome_repositories",
    "outcome_rates",
    "champions",
    "speedups",
    "correctness_by_size",
    "normalisation",
    "generation_speed",
    "quality",
    "quality_weights",
    "outcomes",
    "outcome_flows",
    "ratios",
)


@cache
def tables(count: int) -> dict[str, pd.DataFrame]:
    return source_tables(names(count, 30))


@pytest.mark.parametrize("count", [1, 12, 20])
@pytest.mark.parametrize("name", LEGIBLE)
def test_all_texts_can_be_read_with_few_and_many_sources_of_long_names(name: str, count: int) -> None:
    assert illegible(PLOTS[name].draw(tables(count)[PLOTS[name].table])) == []


@pytest.mark.parametrize("name", ["champions", "outcomes", "correctness_by_size"])
@pytest.mark.parametrize("source", ["模型-🙂", "a-very-long-name-" * 8])
def test_names_of_any_signs_and_length_are_saved_without_a_warning(name: str, source: str, tmp_path: Path) -> None:
    table = source_tables([source, f"{source}2"])[PLOTS[name].table]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save_figure(PLOTS[name].draw(table), tmp_path / "figure.pdf", tmp_path / "figure.svg")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (["short", "a-long-name-of-a-model"], ["short", "a-lo…odel"]),
        (["a-name-1-of-a-model", "a-name-2-of-a-model"], ["a-name-1…-a-model", "a-name-2…-a-model"]),
        (["nine-9-of", "nine-9-of"], ["nine-9-of", "nine-9-of"]),
    ],
)
def test_long_names_lose_as_much_of_their_middles_as_leaves_them_different(given: list[str], shown: list[str]) -> None:
    assert short_names(given, 9) == shown


@pytest.mark.parametrize("name", ["at $1", "at $1 and $2", r"a\$b$c"])
def test_dollars_in_a_name_are_drawn_and_no_formula(name: str) -> None:
    figure = Figure()
    shown, plain = figure.text(0, 0, short_names([name])[0]), figure.text(0, 0, name, parse_math=False)
    assert shown.get_window_extent().width == pytest.approx(plain.get_window_extent().width)


def test_schemes_beyond_four_stand_below_the_others() -> None:
    table = tables(2)["quality"]
    more = [table, *(table[table["scheme"] == "mine"].assign(scheme=f"a-scheme-with-a-long-name-{n}") for n in "abc")]
    figure = PLOTS["quality"].draw(pd.concat(more))
    assert [axes.get_subplotspec().rowspan.start for axes in figure.axes] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert illegible(figure) == []
