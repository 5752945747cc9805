import pytest

from trellis.durations import UNITS, parse, show


@pytest.mark.parametrize("unit", sorted(UNITS))
def test_a_unit_can_be_parsed(unit):
    assert parse("2" + unit) == 2 * UNITS[unit]


@pytest.mark.parametrize("text", ["h", "3x", "3"])
def test_what_is_no_duration_is_an_error(text):
    with pytest.raises(ValueError, match="not a duration"):
        parse(text)


def test_show_leaves_out_empty_units():
    assert show(7203) == "2h 3s"
