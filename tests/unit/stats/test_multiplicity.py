import numpy as np
import pingouin
import pytest

from patchperf.stats.multiplicity import false_discovery, holm

P = np.array([0.04, 0.001, 0.2, 0.011, 0.04, 0.9])


def test_both_equal_pingouins() -> None:
    assert false_discovery(P).tolist() == pytest.approx(pingouin.multicomp(P, method="fdr_bh")[1])
    assert holm(P).tolist() == pytest.approx(pingouin.multicomp(P, method="holm")[1])


def test_by_hand() -> None:
    three = np.array([0.03, 0.01, 0.02])
    assert false_discovery(three).tolist() == pytest.approx([0.03, 0.03, 0.03])
    assert holm(three).tolist() == pytest.approx([0.04, 0.03, 0.04])


def test_what_was_not_tested_does_not_count() -> None:
    with_gaps = np.insert(P, [0, 3], np.nan)
    known = ~np.isnan(with_gaps)
    for adjust in (false_discovery, holm):
        assert np.isnan(adjust(with_gaps)).tolist() == (~known).tolist()
        assert adjust(with_gaps)[known].tolist() == pytest.approx(adjust(P).tolist())
        assert np.isnan(adjust(np.array([np.nan, np.nan]))).all()
        assert len(adjust(np.array([]))) == 0


def test_rows_are_adjusted_one_by_one() -> None:
    table = np.array([P, P[::-1], np.full(6, np.nan)])
    assert holm(table)[0].tolist() == holm(P).tolist()
    assert holm(table)[1].tolist() == holm(P[::-1]).tolist()
