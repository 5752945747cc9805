import math
import re
import sys
from pathlib import Path
from typing import get_args

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from many_sources import complete
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

from patchperf.plots.figures import FIGURES
from patchperf.plots.outcomes import LOOKS
from patchperf.plots.style import DOUBLE, METRIC_COLOURS, SINGLE, ratio_ticks, save_figure
from patchperf.quality.outcomes import Outcome
from patchperf.stats.schema import typed

METRICS = {"instructions": "cirron", "wall_ns": "perf_counter"}
SOURCES = ("m1", "m2", "ground_truth")
RATIOS = (0.7, 0.99, 1.0, 1.002, 3.0)


def tables(*metrics: str, distinguishable: bool = True) -> dict[str, pd.DataFrame]:
    """A small study's tables, filled in by hand; figures need not know where numbers come from."""
    of = [{"metric": metric, "backend": METRICS[metric]} for metric in metrics]
    cases = [
        one | {"instance_id": f"case_{n}", "k": 3, "rsd": rsd, "p": p, "alpha": 0.05, "repetitions": 10**n, "voids": 0}
        | {"distinguishable": distinguishable and p is not None and p < 0.05, "replicates": 5, "note": ""}
        for one in of
        for n, (rsd, p) in enumerate([(0.2, 0.0), (0.01, 0.03), (0.001, 0.4), (0.0, 1.0), (None, None)], start=1)
    ]  # fmt: skip
    solutions = [
        one | {"instance_id": "case_1", "solution": f"s{n}", "sources": ["m1"], "replicates": 5, "voids": 0, "cv": cv}
        for one in of
        for n, cv in enumerate([0.0, 0.001, 0.02, None])
    ]
    pairs = [
        one | {"instance_id": f"case_{n}", "source_i": source, "source_j": "ground_truth", "ratio": ratio}
        | {"same_solution": ratio == 1, "distinguishable": distinguishable and abs(ratio - 1) > 0.1}
        for one in of
        for source in SOURCES[:2]
        for n, ratio in enumerate(RATIOS)
    ]  # fmt: skip
    contrasts = [
        one | {"instance_id": f"case_{n}", "solution_i": "s1", "solution_j": "s2", "ratio": ratio}
        | {"low": ratio * (0.98 if distinguishable else 0.1), "high": ratio * (1.01 if distinguishable else 10)}
        for one in of
        for n, ratio in enumerate(RATIOS)
    ]  # fmt: skip
    speedups = [
        one | {"setting": setting, "source_i": i, "source_j": j, "n": n}
        | {"geometric_mean": mean if n else None, "low": mean - 0.02 if n else None, "high": mean + 0.01 if n else None}
        for one in of
        for setting, n in (("full", 5), ("distinguishable", 2 * distinguishable))
        for i, j, mean in (("m1", "m2", 0.9), ("m2", "m1", 1.1), ("m1", "ground_truth", 1.005))
    ]  # fmt: skip
    champions = [
        one | {"setting": setting, "source": source, "votes": count / 3, "cases": count}
        for one in of
        for setting, count in (("full", 5), ("distinguishable", 2 * distinguishable))
        for source in SOURCES
    ]
    outcomes = [
        {"instance_id": f"case_{n}", "source": source, "outcome": outcome, "dialect": "swe-bench"}
        for source in SOURCES
        for n, outcome in enumerate(get_args(Outcome))
    ]
    funnel = [
        {"dataset": dataset, "filter": name, "removed": removed, "left": left}
        for dataset in ("live", "verified")
        for name, removed, left in (("input", 0, 9), ("single-test", 2, 7), ("corpus", 0, 7))
    ]
    io = [
        {"repo": f"owner/project-{n}", "instances": 30, "reached": 25, "excluded": 20 - n, "share": (20 - n) / 30}
        for n in range(16)
    ]
    rates = [
        {"source": source, "repo": repo, "instances": 20, "resolved": 9, "resolved_rate": 0.45, "regression": 1}
        | {f"{name}_{bound}": 0.1 for name in ("resolved", "no_op_share") for bound in ("low", "high")}
        for source in SOURCES
        for repo in ("all", *(f"owner/project-{n}" for n in range(16)))
    ]  # fmt: skip
    flows = [
        {"source": source, "previous": f"{source}-old", "before": before, "after": after, "count": 3, "instances": []}
        for source in SOURCES
        for before, after in zip(get_args(Outcome), get_args(Outcome)[1:], strict=False)
    ]
    filled = {
        "outcome_rates": rates, "outcome_repositories": rates, "outcome_flows": flows,
        "funnel": funnel, "io": io, "outcomes": outcomes, "repetitions": cases, "noise": solutions,
        "significance": cases, "metrics": contrasts, "speedups": speedups, "ratios": pairs, "champions": champions,
    }  # fmt: skip
    return {name: complete(rows, FIGURES[name].schema) for name, rows in filled.items()}


def words(figure: Figure) -> str:
    return " ".join(text.get_text() for text in figure.findobj(Text) if isinstance(text, Text))


METRIC_FIGURES = ("noise", "significance", "metrics", "speedups", "ratios", "champions")


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_has_the_width_of_one_or_two_columns(name: str) -> None:
    figure = FIGURES[name].draw(tables(*METRICS)[name])
    assert figure.get_figwidth() in (SINGLE, DOUBLE)
    assert figure.get_figheight() < 9


@pytest.mark.parametrize("name", METRIC_FIGURES)
def test_a_figure_names_the_backend_of_every_metric(name: str) -> None:
    text = words(FIGURES[name].draw(tables(*METRICS)[name]))
    assert "Instructions (cirron)" in text
    assert "Wall clock (perf_counter)" in text
    assert "not measured" not in text


@pytest.mark.parametrize("name", METRIC_FIGURES)
def test_a_metric_that_was_not_measured_is_said_to_be_missing(name: str) -> None:
    text = words(FIGURES[name].draw(tables("wall_ns")[name]))
    assert "Instructions: not measured." in text
    assert ("No two solutions" if name == "metrics" else "Wall clock (perf_counter)") in text


@pytest.mark.parametrize("name", FIGURES)
def test_an_empty_table_makes_a_figure_that_says_what_is_missing(name: str, tmp_path: Path) -> None:
    figure = FIGURES[name].draw(typed([], FIGURES[name].schema))
    assert re.search(r"\bno\b", words(figure), re.IGNORECASE)
    save_figure(figure, tmp_path / "empty.svg")


@pytest.mark.parametrize("name", ["significance", "speedups", "ratios", "champions"])
def test_nothing_distinguishable_can_be_drawn_and_read(name: str, tmp_path: Path) -> None:
    figure = FIGURES[name].draw(tables(*METRICS, distinguishable=False)[name])
    save_figure(figure, tmp_path / "figure.pdf")
    said = {"significance": "0 of 4", "speedups": "No distinguishable cases.", "champions": "distinguishable cases (0)"}
    assert said.get(name, "") in words(figure)


@pytest.mark.parametrize("name", ["io", "outcomes", "repetitions", "noise", "significance", "ratios"])
def test_one_row_is_enough(name: str, tmp_path: Path) -> None:
    table = tables(*METRICS)[name]
    save_figure(FIGURES[name].draw(table.iloc[:1]), tmp_path / "figure.svg")


@pytest.mark.parametrize("name", ["outcomes", "ratios"])
def test_equal_tables_give_equal_bytes_without_dates(name: str, tmp_path: Path) -> None:
    for run in ("one", "two"):
        figure = FIGURES[name].draw(tables(*METRICS)[name])
        save_figure(figure, tmp_path / run / "figure.pdf", tmp_path / run / "figure.svg")
    for kind in ("pdf", "svg"):
        first, second = ((tmp_path / run / f"figure.{kind}").read_bytes() for run in ("one", "two"))
        assert first == second
        assert not re.search(rb"CreationDate|<dc:date>|D:20\d\d", first)


def test_pdf_embeds_truetype_fonts_and_svg_has_outlines(tmp_path: Path) -> None:
    figure = FIGURES["champions"].draw(tables(*METRICS)["champions"])
    save_figure(figure, tmp_path / "figure.pdf", tmp_path / "figure.svg")
    pdf = (tmp_path / "figure.pdf").read_bytes()
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf
    assert "<text" not in (tmp_path / "figure.svg").read_text()


def test_drawing_leaves_the_settings_of_the_process_alone_and_does_without_pyplot(tmp_path: Path) -> None:
    before = dict(mpl.rcParams)
    drawn = [FIGURES[name].draw(table) for name, table in tables(*METRICS).items()]
    save_figure(drawn[0], tmp_path / "figure.svg")
    assert dict(mpl.rcParams) == before
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()


def test_every_outcome_has_a_look_of_its_own() -> None:
    assert set(LOOKS) == set(get_args(Outcome))
    assert len(set(LOOKS.values())) == len(LOOKS)


def test_repositories_beyond_the_largest_contributors_are_counted_not_drawn() -> None:
    axes = FIGURES["io"].draw(tables()["io"]).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == [f"owner/project-{n}" for n in range(15)]
    assert axes.get_xlabel() == "instances (15 of 16 repositories)"
    assert axes.texts[0].get_text() == "20 of 30 (67%)"


def test_metrics_differ_in_lightness_and_so_in_grey() -> None:
    lightness = [
        sum(w * c for w, c in zip((0.299, 0.587, 0.114), to_rgb(colour), strict=True))
        for colour in METRIC_COLOURS.values()
    ]
    assert abs(lightness[0] - lightness[1]) > 0.2


def test_a_source_of_the_speedups_that_is_faster_stands_below_one_in_its_row() -> None:
    figure = FIGURES["speedups"].draw(tables("wall_ns")["speedups"])
    axes = figure.axes[0]
    cells = {tuple(map(int, text.get_position())): text.get_text() for text in axes.texts}
    assert cells[(1, 0)] == "0.900"
    assert [label.get_text() for label in axes.get_yticklabels()] == list(SOURCES)


@pytest.mark.parametrize(
    ("limit", "ticks"),
    [(0.0101, [0.99, 0.995, 1, 1.005, 1.01]), (0.7, [0.5, 0.7, 1, 1.5, 2]), (0.0001, [1])],
)
def test_ratio_ticks_are_round_and_within_the_axis(limit: float, ticks: list[float]) -> None:
    assert ratio_ticks(limit) == ticks


def test_pairs_of_solutions_stand_as_slower_over_faster_by_instructions_and_say_who_tells_them_apart() -> None:
    """By hand: of a pair 2 to 1 by instructions and 1 to 2 by wall clock, one order differs."""
    rows = [
        {"metric": metric, "backend": METRICS[metric], "instance_id": f"case_{n}", "solution_i": "a", "solution_j": "b"}
        | {"ratio": ratio, "low": ratio * low, "high": ratio * 1.1}
        for metric, ratios in (("instructions", (0.5, 2.0, 3.0)), ("wall_ns", (2.0, 2.0, 3.0)))
        for n, (ratio, low) in enumerate(zip(ratios, (0.9, 0.9, 0.1 if metric == "wall_ns" else 0.9), strict=True))
    ]  # fmt: skip
    figure = FIGURES["metrics"].draw(complete(rows, FIGURES["metrics"].schema))
    points = [tuple(point) for drawn in figure.axes[0].collections for point in drawn.get_offsets()]
    expected = [(math.log(3), math.log(3)), (math.log(2), -math.log(2)), (math.log(2), math.log(2))]
    assert np.array(sorted(points)) == pytest.approx(np.array(sorted(expected)))
    for said in ("3 pairs of solutions, 3 cases", "67% in the same order", "both (2)", "instructions only (1)"):
        assert said in words(figure)


def test_one_pair_of_one_case_is_said_in_the_singular() -> None:
    table = tables(*METRICS)["metrics"]
    figure = FIGURES["metrics"].draw(table[table["instance_id"] == "case_0"])
    assert "1 pair of solutions, 1 case\n" in words(figure)
    assert "Wall clock (perf_counter):\nratio of the same two solutions" in words(figure)
