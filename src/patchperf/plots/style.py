"""One look for all figures: sizes, fonts, colours, words, and files that come out equal every time."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, BinaryIO, ParamSpec

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

SINGLE, DOUBLE = 3.35, 6.9
"""Widths in inches of one and of two columns of a journal page."""

BLUE, ORANGE, GREEN, RED, SKY, PURPLE = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7"
DARK, GREY, PALE = "#333333", "#8C8C8C", "#D9D9D9"
"""Okabe and Ito's colours, which people with any colour vision tell apart, and three greys."""

SOURCE_COLOURS = (BLUE, ORANGE, GREEN, RED, SKY, PURPLE, DARK, GREY)
SOURCE_MARKERS = "osD^vP*X"
SOURCE_FILLS = ("full", "hollow", "left", "bottom", "right", "top")
SOURCE_LINES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
"""What changes from one round of markers to the next."""

LONGEST = 24
"""Characters of a source's name beyond which a figure leaves out its middle."""

SLANTED, LONGEST_SLANTED = 8, 16
"""Most names, and most characters of one, that stand aslant below columns; else all stand upright."""

METRIC_NAMES = {"instructions": "Instructions", "wall_ns": "Wall clock"}
SETTING_NAMES = {"full": "all cases", "distinguishable": "distinguishable cases"}
METRIC_COLOURS = {"instructions": BLUE, "wall_ns": ORANGE}

STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 7,
    "axes.titlesize": 7,
    "axes.labelsize": 7,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.titlelocation": "left",
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.2,
    "hatch.linewidth": 0.4,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "patchperf",
}

P = ParamSpec("P")


def styled(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Draw in the study's style without touching the settings of the process."""

    @wraps(draw)
    def in_style(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with mpl.rc_context(STYLE):
            return draw(*args, **kwargs)

    return in_style


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of a size in inches that is laid out when it is drawn; no pyplot, no global state."""
    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Figure, *paths: str | Path | BinaryIO, kind: str = "") -> None:
    """Write a figure to files of any format, without dates or versions: equal figures give equal bytes.

    The suffix of a path is its format; ``kind`` is that of an open file.

    A character that the font has not, such as a Chinese one, is a box, without a warning.

    PDF embeds its fonts as TrueType; SVG has its text as outlines, so that it looks the same everywhere.
    """
    undated = {"pdf": {"CreationDate": None, "Creator": None, "Producer": None}, "svg": {"Date": None, "Creator": None}}
    for path in paths:
        if isinstance(path, str | Path):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            kind = Path(path).suffix.removeprefix(".")
        with mpl.rc_context(STYLE), warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font", UserWarning)
            figure.savefig(path, format=kind, metadata=undated.get(kind), dpi=300)


def metric_label(metric: str, backend: str) -> str:
    """A metric's name with the counter behind it, e.g. "Instructions (cirron)"."""
    name = METRIC_NAMES.get(metric, metric)
    return f"{name} ({backend})" if backend else name


def source_look(number: int) -> dict[str, Any]:
    """Marker and colour of a figure's n-th source.

    The first 48 are told apart in grey too: every round of eight markers is filled in its own way. Its colours also
    move on, so that equal shapes have different colours.
    """
    rounds, place = divmod(number, len(SOURCE_MARKERS))
    fill = SOURCE_FILLS[rounds % len(SOURCE_FILLS)]
    colour = SOURCE_COLOURS[(place + 3 * rounds) % len(SOURCE_COLOURS)]
    return {
        "marker": SOURCE_MARKERS[place],
        "color": colour,
        "fillstyle": "full" if fill == "hollow" else fill,
        "markerfacecolor": "white" if fill == "hollow" else colour,
        "markerfacecoloralt": "white",
    }


def source_line(number: int) -> Any:
    """The line style of a figure's n-th source: solid for the first eight, another for each further eight."""
    return SOURCE_LINES[number // len(SOURCE_MARKERS) % len(SOURCE_LINES)]


def short_names(names: Sequence[str], most: int = LONGEST) -> list[str]:
    """Shortened names to be drawn: their dollars are escaped, so that they do not begin a formula."""
    return [name.replace("$", r"\$") for name in shortened(names, most)]


def shortened(names: Sequence[str], most: int = LONGEST) -> list[str]:
    """Names of at most some characters, an ellipsis for the middles of longer ones.

    Where different names would come out equal, all get more characters until they do not.
    """
    ends = (most - 1) // 2
    short = [name if len(name) <= most else f"{name[: most - 1 - ends]}…{name[-ends:]}" for name in names]
    return short if len(set(short)) == len(set(names)) else shortened(names, most + 4)


def is_upright(names: Sequence[str]) -> bool:
    """Whether names below columns stand upright, for they are many or long, or else aslant."""
    return len(names) > SLANTED or max(map(len, names)) > LONGEST_SLANTED


def name_columns(axes: Axes, names: Sequence[str], first: float = 0.0) -> None:
    """Names of columns below an axis, the first at a place, each of the others 1 to the right."""
    places = [first + place for place in range(len(names))]
    if is_upright(names):
        axes.set_xticks(places, names, rotation=90)
    else:
        axes.set_xticks(places, names, rotation=40, ha="right", rotation_mode="anchor")


def text_width(names: Iterable[str], size: float = 6.5) -> float:
    """About the width in inches of the longest of some texts in a font size in points."""
    return max(map(len, names), default=0) * size * 0.6 / 72


def listed_height(entries: int) -> float:
    """The height in inches of a figure that has room for a legend of so many lines at its side."""
    return 0.3 + 0.15 * entries


def say(axes: Axes, text: str) -> None:
    """Let an empty panel say why it is empty."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, text, ha="center", va="center", color=GREY, transform=axes.transAxes)


def empty_figure(text: str) -> Figure:
    """A figure that only says why there is nothing to draw."""
    figure = new_figure(SINGLE, 1.0)
    say(figure.add_subplot(), text)
    return figure


def say_missing(figure: Figure, metrics: Iterable[str]) -> None:
    """A foot line that names each usual metric which is not among those drawn."""
    missing = [name for metric, name in METRIC_NAMES.items() if metric not in set(metrics)]
    if missing:
        figure.supxlabel(f"{', '.join(missing)}: not measured.", x=0.01, ha="left", fontsize=6, color=GREY)


def mark_distinguishable(figure: Figure) -> None:
    """The legend of point clouds: filled points are distinguishable cases."""
    looks: Any = {"marker": "o", "linestyle": "none", "markersize": 3.5, "markeredgewidth": 0.6}
    handles = [
        Line2D([], [], color=DARK, label="distinguishable", **looks),
        Line2D([], [], markeredgecolor=DARK, markerfacecolor="none", label="not distinguishable", **looks),
    ]
    figure.legend(handles=handles, loc="outside upper right", ncols=2, handletextpad=0.2)


def strip_axis(axes: Axes) -> None:
    """A categorical y axis read from the top: no ticks, no spine."""
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def decade_axis(axes: Axes, low: float, high: float) -> None:
    """A logarithmic x axis of whole decades around two positive values, labelled at its decades."""
    axes.set(xlim=(10.0 ** math.floor(math.log10(low)), 10.0 ** (math.floor(math.log10(high)) + 1)), xscale="log")
    axes.xaxis.set_minor_formatter(NullFormatter())


def ratio_ticks(limit: float) -> list[float]:
    """Round ratios for an axis of ln r from -limit to limit: 1 and up to two on either side."""
    above = (1.001, 1.002, 1.005, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 5.0, 10.0, 100.0, 1000.0)
    below = (0.999, 0.998, 0.995, 0.99, 0.98, 0.95, 0.9, 0.8, 0.7, 0.5, 0.2, 0.1, 0.01, 0.001)
    within = [[ratio for ratio in side if abs(math.log(ratio)) <= limit] for side in (above, below)]
    return sorted([1.0, *within[0][-2:], *within[1][-2:]])
