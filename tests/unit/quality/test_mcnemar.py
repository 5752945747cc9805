from __future__ import annotations

import numpy as np
import pytest
from seed_paper import seed_paper
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests

from patchperf.quality.mcnemar import mcnemar, mcnemar_table


def test_p_equals_that_of_statsmodels():
    counts = [(b, c) for b in range(0, 40, 3) for c in range(0, 40, 4) if b + c]
    only_i, only_j = np.array(counts).T
    theirs = [statsmodels_mcnemar([[5, b], [c, 9]], exact=True).pvalue for b, c in counts]
    assert mcnemar(only_i, only_j) == pytest.approx(theirs, rel=1e-12)


def test_pairs_and_holms_adjustment_equal_statsmodels():
    ratings = seed_paper()
    table = mcnemar_table(ratings.correct, ratings.sources)
    assert len(table) == 6
    theirs = []
    for row in table.itertuples():
        i, j = (ratings.correct[:, ratings.sources.index(name)] == 1 for name in (row.source_i, row.source_j))
        cells = [[(i & j).sum(), (i & ~j).sum()], [(~i & j).sum(), (~i & ~j).sum()]]
        assert [[row.both, row.only_i], [row.only_j, row.neither]] == cells
        assert row.n == np.sum(cells) == 130
        theirs.append(statsmodels_mcnemar(cells, exact=True).pvalue)
    assert table["p"].to_numpy() == pytest.approx(theirs, rel=1e-12)
    assert table["p_holm"].to_numpy() == pytest.approx(multipletests(theirs, method="holm")[1], rel=1e-12)


def test_sources_that_never_differ_have_p_1():
    table = mcnemar_table(np.array([[1.0, 1.0], [0.0, 0.0]]), ("a", "b"))
    assert table["p"].tolist() == [1.0] == table["p_holm"].tolist()


def test_one_source_has_no_pair():
    assert mcnemar_table(np.ones((3, 1)), ("a",)).empty
