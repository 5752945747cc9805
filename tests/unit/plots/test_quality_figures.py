from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from many_sources import drawn_ratings
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from patchperf.plots.figures import QUALITY_FIGURES
from patchperf.plots.quality import region_look
from patchperf.plots.style import DOUBLE, SINGLE, save_figure, source_line, source_look
from patchperf.quality.correctness_by_size import correctness_by_size
from patchperf.quality.generation_speed import generation_speed_table
from patchperf.quality.index import Ratings, quality_table
from patchperf.quality.schema import SPEEDS
from patchperf.stats.schema import typed

SOURCES = ("fast", "sound", "neither")
SIZED = [
    {"source": "fast", "tokens_per_second": 100, "total_parameters": 16, "active_parameters": 2.4},
    {"source": "sound", "tokens_per_second": 40, "total_parameters": 14.8, "active_parameters": 14.8},
    {"source": "neither", "tokens_per_second": 90, "total_parameters": 3.1},
]


def ratings() -> Ratings:
    full = np.ones((30, 3))
    return Ratings(
        instances=tuple(f"i{number:02}" for number in range(30)),
        sources=SOURCES,
        correct=(np.arange(30)[:, np.newaxis] < np.array([5, 20, 4])).astype(float),
        maintainability=full * [0.8, 0.9, 0.7],
        security=full * [0.9, 0.95, 0.8],
        tokens_per_second=full * [100, 40, 90],
        runtime=full * np.nan,
        patches=np.full(3, 30),
        lines=np.arange(30) % 9 + 1.0,
    )


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    rated = ratings()
    return {
        "quality": quality_table(rated, "generation", 1, {"mine": {"correctness": 0.9, "security": 0.1}}, 200),
        "correctness_by_size": correctness_by_size(rated.correct, rated.sources, rated.lines),
        "generation_speed": generation_speed_table(typed(SIZED, SPEEDS)),
    }


def texts(figure: Figure) -> str:
    figure.canvas.draw()
    return "\n".join(text.get_text() for text in figure.findobj(Text) if text.get_text())


@pytest.mark.parametrize("name", QUALITY_FIGURES)
def test_equal_tables_give_equal_bytes_within_the_pages_widths(name, tables, tmp_path):
    plot = QUALITY_FIGURES[name]
    for run in ("a", "b"):
        figure = plot.draw(tables[plot.table])
        save_figure(figure, tmp_path / f"{run}.pdf", tmp_path / f"{run}.svg")
    assert figure.get_figwidth() in (SINGLE, DOUBLE)
    for kind in ("pdf", "svg"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


@pytest.mark.parametrize("name", QUALITY_FIGURES)
def test_without_rows_a_figure_says_so(name):
    plot = QUALITY_FIGURES[name]
    assert "." in texts(plot.draw(typed([], plot.schema)))


def test_every_scheme_and_source_is_shown(tables):
    shown = texts(QUALITY_FIGURES["quality"].draw(tables["quality"]))
    for word in (*SOURCES, "equal", "correctness-priority", "other-priority", "mine", "1.", "3."):
        assert word in shown


def test_only_sources_that_rank_first_somewhere_are_in_the_triangles_legend(tables):
    shown = texts(QUALITY_FIGURES["quality_weights"].draw(tables["quality"]))
    assert "fast" in shown
    assert "sound" in shown
    assert "neither" not in shown
    for word in ("correctness", "maintainability", "security", "weight of efficiency 0.5", "other-priority"):
        assert word in shown


@pytest.mark.parametrize("count", [2, 4, 12])
@pytest.mark.parametrize("efficiency", ["generation", "none"])
def test_no_names_of_schemes_or_corners_overlap(count, efficiency):
    rated = drawn_ratings([f"source-{number}" for number in range(count)])
    near = {"correctness": 0.34, "maintainability": 0.33, "security": 0.33}
    user = {"near": near, "nearer-and-with-a-long-name": near, "fixes": {"correctness": 1.0}}
    figure = QUALITY_FIGURES["quality_weights"].draw(quality_table(rated, efficiency, 1, user, 20))
    figure.set_dpi(300)
    FigureCanvasAgg(figure).draw()
    boxes = [(text.get_text(), text.get_window_extent()) for axes in figure.axes for text in axes.texts]
    assert {"equal", "other-priority", "near", "nearer-and…long-name"} < {name for name, _ in boxes}
    assert [(a, b) for (a, one), (b, other) in combinations(boxes, 2) if one.overlaps(other)] == []
    assert all(figure.bbox.containsx(edge) for _, box in boxes for edge in (box.x0, box.x1))


def test_sources_with_equal_scores_share_a_region():
    table = quality_table(ratings(), "none", 1, resamples=50)
    table = pd.concat([table, table[table["source"] == "sound"].assign(source="twin")])
    assert "sound, twin" in texts(QUALITY_FIGURES["quality_weights"].draw(table))


def test_min_max_is_shown_beside_the_ratio(tables):
    figure = QUALITY_FIGURES["normalisation"].draw(tables["quality"])
    lines = {line.get_label().split()[0]: list(line.get_ydata()) for line in figure.axes[0].get_lines()}
    assert lines == {"fast": [1, 1], "sound": [0.4, 0], "neither": [0.9, pytest.approx(50 / 60)]}


def test_without_efficiency_there_is_one_triangle_and_nothing_normalised():
    table = quality_table(ratings(), "none", 1, resamples=50)
    assert len(QUALITY_FIGURES["quality_weights"].draw(table).axes) == 1
    assert "nothing is normalised" in texts(QUALITY_FIGURES["normalisation"].draw(table))


def test_classes_of_sizes_are_in_order_of_size(tables):
    axes = QUALITY_FIGURES["correctness_by_size"].draw(tables["correctness_by_size"]).axes[0]
    assert [label.get_text().split("\n")[0] for label in axes.get_xticklabels()] == ["1", "2", "3", "4–7", "8–15"]


def test_speed_stands_against_both_numbers_of_parameters(tables):
    total, active = QUALITY_FIGURES["generation_speed"].draw(tables["generation_speed"]).axes
    assert {axes.get_xscale() + axes.get_yscale() for axes in (total, active)} == {"loglog"}
    points = {line.get_label(): (*line.get_xdata(), *line.get_ydata()) for line in total.get_lines()}
    assert points == {"fast": (16, 100), "sound": (14.8, 40), "neither": (3.1, 90)}
    assert total.get_title(loc="left") == "Spearman's ρ = 0.50, n = 3"
    assert active.get_title(loc="left") == "n = 2"


@pytest.mark.parametrize(("kind", "shown"), [("active", "No active parameters"), ("total", "No total parameters")])
def test_one_number_of_parameters_is_enough(kind, shown):
    table = generation_speed_table(typed(SIZED, SPEEDS).assign(**{f"{kind}_parameters": np.nan}))
    assert shown in texts(QUALITY_FIGURES["generation_speed"].draw(table))


def test_without_parameters_the_figure_says_so():
    table = generation_speed_table(typed(SIZED, SPEEDS)[["source", "tokens_per_second"]].reindex(columns=list(SPEEDS)))
    assert texts(QUALITY_FIGURES["generation_speed"].draw(table)) == "No numbers of parameters are given."


def test_forty_sources_look_different_also_in_grey():
    looks = [source_look(number) for number in range(40)]
    shapes = {(look["marker"], look["fillstyle"], look["markerfacecolor"] == "white") for look in looks}
    assert len(shapes) == 40
    assert len({(look["marker"], look["color"]) for look in looks}) == 40
    assert len({(source_look(number)["color"], str(source_line(number))) for number in range(40)}) == 40


def test_forty_regions_look_different_the_first_twelve_also_in_grey():
    looks = [region_look(place) for place in range(40)]
    assert len({(look["facecolor"], look["hatch"]) for look in looks}) == 40
    assert len({look["hatch"] for look in looks[:12]}) == 12
