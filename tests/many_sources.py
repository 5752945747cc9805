"""Tables of studies with as many sources as wanted, for figures that must stay legible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import get_args

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from patchperf.plots.style import STYLE
from patchperf.quality.correctness_by_size import correctness_by_size
from patchperf.quality.generation_speed import generation_speed_table
from patchperf.quality.index import Ratings, quality_table
from patchperf.quality.outcomes import Outcome
from patchperf.quality.schema import SPEEDS
from patchperf.stats.schema import (
    CASES,
    CHAMPIONS,
    CONTRASTS,
    OUTCOME_FLOWS,
    OUTCOME_RATES,
    OUTCOMES,
    PAIRS,
    SPEEDUPS,
    Schema,
    typed,
)

METRICS = {"instructions": "qemu", "wall_ns": "perf_counter_ns"}
TOUCH = 0.5
"""Points by which the boxes of two texts may overlap, for boxes have room around what is drawn."""


def names(count: int, length: int) -> list[str]:
    """Names of a length, different at their ends as versions of one model are."""
    return [f"{'a-model-of-many-billions-' * 3}"[: length - 3] + f"-{number:02d}" for number in range(count)]


def source_tables(sources: Sequence[str]) -> dict[str, pd.DataFrame]:
    """The tables that figures of these sources and the ground truth are drawn from, by the tables' names."""
    everyone = [*sources, "ground_truth"]
    of = [{"metric": metric, "backend": backend} for metric, backend in METRICS.items()]
    settings = (("full", 500), ("distinguishable", 312))
    outcomes = get_args(Outcome)
    rows: dict[str, tuple[Schema, list[dict[str, object]]]] = {
        "champions": (
            CHAMPIONS,
            [
                one | {"setting": setting, "source": source, "votes": cases / 3, "cases": cases}
                for one in of
                for setting, cases in settings
                for source in everyone
            ],
        ),
        "speedups": (
            SPEEDUPS,
            [
                one
                | {"setting": setting, "source_i": i, "source_j": j, "n": cases}
                | {"geometric_mean": 0.9 + 0.01 * place, "low": 0.8, "high": 0.95}
                for one in of
                for setting, cases in settings
                for place, i in enumerate(everyone)
                for j in everyone
                if i != j
            ],
        ),
        "pairs": (
            PAIRS,
            [
                one
                | {"instance_id": f"case_{number}", "source_i": source, "source_j": "ground_truth"}
                | {"ratio": 1 + 0.1 * number, "same_solution": number == 0, "distinguishable": number > 1}
                for one in of
                for source in sources
                for number in range(4)
            ],
        ),
        "outcome_rates": (
            OUTCOME_RATES,
            [
                {"source": source, "repo": repo, "instances": 120, "resolved": 120, "regression": 9, "unresolved": 80}
                | {"resolved_rate": 0.98, "resolved_low": 0.9, "resolved_high": 1.0}
                | {"regression_rate": 0.1, "regression_low": 0.0, "regression_high": 0.2}
                | {"no_op_share": 0.3, "no_op_share_low": 0.2, "no_op_share_high": 0.4}
                | {"regression_share": 0.2, "regression_share_low": 0.1, "regression_share_high": 0.3}
                for source in everyone
                for repo in ("all", *(f"an-owner/project-{number}" for number in range(16)))
            ],
        ),
        "outcomes": (
            OUTCOMES,
            [
                {"instance_id": f"case_{number}", "source": source, "outcome": outcome, "dialect": "swe-bench"}
                for source in everyone
                for number, outcome in enumerate(outcomes)
            ],
        ),
        "outcome_flows": (
            OUTCOME_FLOWS,
            [
                {"source": source, "previous": f"{source}-old", "before": before, "after": after, "count": 1}
                | {"instances": []}
                for source in sources
                for before, after in zip(outcomes, outcomes[::-1], strict=True)
            ],
        ),
        "contrasts": (
            CONTRASTS,
            [
                one
                | {"instance_id": f"case_{i[-2:]}", "solution_i": i, "solution_j": j}
                | {"ratio": 0.9, "low": 0.8, "high": 0.95}
                for one in of
                for i, j in combinations(everyone, 2)
            ],
        ),
        "cases": (
            CASES,
            [
                one
                | {"instance_id": f"case_{number}", "k": 3, "rsd": 0.01, "p": 0.01, "alpha": 0.05, "repetitions": 100}
                | {"distinguishable": True}
                for one in of
                for number in range(3)
            ],
        ),
    }
    found = {name: complete(of_table, schema) for name, (schema, of_table) in rows.items()}
    return found | _quality_tables(everyone)


def complete(rows: Sequence[dict[str, object]], schema: Schema) -> pd.DataFrame:
    """A table of the schema; columns that no row has are false, 1 or missing."""
    frame = pd.DataFrame(rows, columns=list(schema))
    for column, kind in schema.items():
        if frame[column].isna().all() and kind in ("bool", "int64", "float64"):
            frame[column] = kind != "bool"
    return typed(frame, schema)


def drawn_ratings(sources: Sequence[str]) -> Ratings:
    """Ratings of thirty instances, the same every time for as many sources."""
    count = len(sources)
    random = np.random.default_rng(count)
    full = np.ones((30, count))
    return Ratings(
        instances=tuple(f"i{number:02}" for number in range(30)),
        sources=tuple(sources),
        correct=(np.arange(30)[:, np.newaxis] < random.integers(4, 26, count)).astype(float),
        maintainability=full * random.uniform(0.5, 1, count),
        security=full * random.uniform(0.5, 1, count),
        tokens_per_second=full * random.uniform(10, 100, count),
        runtime=full * np.nan,
        patches=np.full(count, 30),
        lines=np.arange(30) % 9 + 1.0,
    )


def _quality_tables(sources: Sequence[str]) -> dict[str, pd.DataFrame]:
    rated = drawn_ratings(sources)
    speeds = [
        {"source": source, "tokens_per_second": 10.0 + number, "total_parameters": 3.0 + number}
        | {"active_parameters": 1.0 + number}
        for number, source in enumerate(sources)
    ]
    return {
        "quality": quality_table(rated, "generation", 1, {"mine": {"correctness": 0.9, "security": 0.1}}, 20),
        "correctness_by_size": correctness_by_size(rated.correct, rated.sources, rated.lines),
        "generation_speed": generation_speed_table(typed(speeds, SPEEDS)),
    }


def illegible(figure: Figure) -> list[str]:
    """What cannot be read in a figure: texts that overlap another's, and those that leave the canvas.

    Of slanted texts only that they leave the canvas: what they cover is less than the box around them.
    """
    figure.set_dpi(100)
    with mpl.rc_context(STYLE):
        FigureCanvasAgg(figure).draw()
    texts = list(_shown(figure))
    boxes = [(text.get_text(), text.get_rotation() % 90 == 0, text.get_window_extent()) for text in texts]
    slack = TOUCH * figure.dpi / 72
    found = [
        f"{name!r} leaves the canvas"
        for name, _, box in boxes
        if min(box.x0, box.y0) < -1 or box.x1 > figure.bbox.x1 + 1 or box.y1 > figure.bbox.y1 + 1
    ]
    for (a, straight, one), (b, other_straight, other) in combinations(boxes, 2):
        wide = min(one.x1, other.x1) - max(one.x0, other.x0)
        high = min(one.y1, other.y1) - max(one.y0, other.y0)
        if straight and other_straight and min(wide, high) > slack:
            found.append(f"{a!r} overlaps {b!r}")
    return found


def _shown(figure: Figure) -> Iterator[Text]:
    """All texts that are drawn: neither hidden nor ticks beyond an axis' ends."""
    off = {id(text) for axes in figure.axes if not axes.axison for text in _tick_labels(axes)}
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            room = 1e-9 * (high - low)
            ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            for tick in ticks:
                if not low - room <= tick.get_loc() <= high + room:
                    off |= {id(tick.label1), id(tick.label2)}
    for text in figure.findobj(Text):
        if isinstance(text, Text) and text.get_visible() and text.get_text().strip() and id(text) not in off:
            yield text


def _tick_labels(axes: Axes) -> Iterator[Text]:
    for axis in (axes.xaxis, axes.yaxis):
        for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
            yield from (tick.label1, tick.label2)
