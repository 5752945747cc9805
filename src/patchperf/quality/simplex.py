"""All weights that there are: who ranks first where, and how far a scheme is from another ranking."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, HalfspaceIntersection

from patchperf.quality.dimensions import Weights
from patchperf.quality.index import index
from patchperf.quality.schema import WEIGHTS
from patchperf.stats.layout import DECIMALS, Floats
from patchperf.stats.schema import typed

_THINNEST = 1e-9
"""The radius up to which a region of weights is a face, without volume."""

_EQUAL = 1e-12
_TOLD_APART = 9
"""Decimals to which scores are told apart: below, a plane between two of them is rounding."""

_INFEASIBLE = 2
"""scipy's status of a linear program that nothing solves."""


def shares(scores: Floats) -> Floats:
    """Share of the simplex of weights in which each source ranks first, to ``DECIMALS``; the sum is 1.

    ``scores`` has shape (sources, dimensions), three dimensions or more. Where a source is first is a polytope: the
    simplex cut by one half-space per rival. Its volume over the simplex' is the chance to rank first under weights
    drawn evenly. Sources with equal scores share theirs.
    """
    scores = np.round(scores, _TOLD_APART)
    distinct, member, sizes = np.unique(scores, axis=0, return_inverse=True, return_counts=True)
    volumes = np.array([_volume(distinct, number) for number in range(len(distinct))])
    of_simplex = 1 / math.factorial(scores.shape[1] - 1)
    found = np.clip(volumes / of_simplex / sizes, 0.0, 1.0)
    return np.asarray(np.round(found, DECIMALS)[member.ravel()])


def least_move(weights: Floats, ahead: Floats, behind: Floats) -> tuple[float, Floats]:
    """The least total weight that must move for a source to draw level with one ahead of it, and the weights then.

    Weight moves from some dimensions to others, so what moves is Σ max(0, w′ − w) = ½ Σ |w′ − w|, least over all w′ of
    the simplex with w′·behind ≥ w′·ahead: a linear program. Infinite, with NaN for weights, if there is no such w′.
    """
    size = len(weights)
    identity = np.eye(size)
    solved = linprog(
        np.concatenate([np.zeros(size), np.ones(size)]),
        A_ub=np.block([[identity, -identity], [(ahead - behind)[np.newaxis], np.zeros((1, size))]]),
        b_ub=np.append(weights, 0.0),
        A_eq=np.append(np.ones(size), np.zeros(size))[np.newaxis],
        b_eq=[1.0],
        bounds=(0, None),
        method="highs",
    )
    if solved.status == _INFEASIBLE:
        return math.inf, np.full(size, np.nan)
    if solved.x is None or solved.fun is None:
        raise ArithmeticError(f"no least move of weights: {solved.message}")
    return max(0.0, float(solved.fun)), np.abs(solved.x[:size])


def weights_table(
    scores: Floats, sources: tuple[str, ...], rated: tuple[str, ...], given: Mapping[str, Weights]
) -> pd.DataFrame:
    """How firm each scheme's ranking is: one row per scheme and source, in the ranking's order.

    ``share`` is of ``shares``. ``to_first`` is the weight that must move for the source to be level with the first; for
    the first itself, the least with which any ``rival`` is level with it. ``first_…`` are the weights at that point.
    ``to_next`` is the weight with which it is level with the ``next`` below: the smallest in a scheme changes the
    ranking. Infinite where no weights do. Sources without a score on a dimension are left out, for weights of all kinds
    are looked at.
    """
    known = ~np.isnan(scores).any(axis=1)
    names = [sources[number] for number in np.flatnonzero(known)]
    scores = scores[known]
    if not names:
        return typed([], WEIGHTS)
    share = shares(scores)
    rows: list[dict[str, object]] = []
    for scheme, of_scheme in given.items():
        weights = np.array([of_scheme[dimension] for dimension in rated])
        values = index(scores, of_scheme, rated)
        order = sorted(range(len(names)), key=lambda number: (-values[number], names[number]))
        top = order[0]
        moves = {other: least_move(weights, scores[top], scores[other]) for other in order[1:]}
        nearest = min(moves, key=lambda other: (moves[other][0], names[other]), default=None)
        if nearest is not None:
            moves[top] = moves[nearest]
        for place, number in enumerate(order):
            move, at = moves.get(number, (math.inf, np.full(len(rated), np.nan)))
            below = order[place + 1] if place + 1 < len(order) else None
            rival = top if number != top else nearest
            rows.append(
                {
                    "scheme": scheme,
                    "rank": 1 + int((values > values[number] + _EQUAL).sum()),
                    "source": names[number],
                    "index": values[number],
                    "share": share[number],
                    "to_first": move,
                    "rival": "" if rival is None or math.isinf(move) else names[rival],
                    "to_next": math.inf if below is None else least_move(weights, scores[number], scores[below])[0],
                    "next": "" if below is None else names[below],
                    **{f"first_{dimension}": value for dimension, value in zip(rated, at, strict=True)},
                }
            )
    return typed(pd.DataFrame(rows).reindex(columns=list(WEIGHTS)), WEIGHTS)


def first_region(values: Floats, number: int) -> Floats:
    """The part of a triangle of weights in which a source ranks first, as a polygon, shape (corners, 3); none: (0, 3).

    ``values`` has the index of every source at the triangle's three corners, shape (3, sources); in between it is
    linear. Points are shares of the three corners. The triangle is cut along the line of equal values with each rival
    (Sutherland and Hodgman, 1974).
    """
    polygon = np.eye(3)
    for rival in np.delete(values, number, axis=1).T:
        behind = polygon @ (rival - values[:, number])
        following, next_behind = np.roll(polygon, -1, axis=0), np.roll(behind, -1)
        kept: list[Floats] = []
        for point, gap, after, gap_after in zip(polygon, behind, following, next_behind, strict=True):
            if gap <= 0:
                kept.append(point)
            if (gap < 0 < gap_after) or (gap_after < 0 < gap):
                kept.append(point + (after - point) * gap / (gap - gap_after))
        polygon = np.array(kept).reshape(-1, 3)
        if len(polygon) < 3:
            return np.empty((0, 3))
    return polygon


def _volume(scores: Floats, number: int) -> float:
    """Volume of the weights (all but the last, which is the rest) under which a source is first."""
    size = scores.shape[1] - 1
    gains = np.delete(scores, number, axis=0) - scores[number]
    simplex = np.vstack([np.hstack([-np.eye(size), np.zeros((size, 1))]), np.append(np.ones(size), -1.0)])
    rivals = np.hstack([gains[:, :-1] - gains[:, -1:], gains[:, -1:]])
    planes = np.vstack([simplex, rivals])
    norms = np.linalg.norm(planes[:, :-1], axis=1)
    if (planes[norms <= _EQUAL, -1] > _EQUAL).any():
        return 0.0
    planes = planes[norms > _EQUAL] / norms[norms > _EQUAL, np.newaxis]
    inner = linprog(
        np.append(np.zeros(size), -1.0),
        A_ub=np.hstack([planes[:, :-1], np.ones((len(planes), 1))]),
        b_ub=-planes[:, -1],
        bounds=[(None, None)] * size + [(None, None)],
        method="highs",
    )
    if inner.x is None or (-planes[:, -1] - planes[:, :-1] @ inner.x[:-1]).min() <= _THINNEST:
        return 0.0
    corners = HalfspaceIntersection(planes, inner.x[:-1]).intersections
    return float(ConvexHull(corners).volume)
