import pytest

from trellis.tables import format_row, save


def test_cells_are_separated_by_commas():
    assert format_row(["oak", "beech", "elm"]) == "oak,beech,elm"


def test_a_row_of_one_cell_has_no_comma():
    assert format_row(["oak"]) == "oak"


def test_save_replaces_no_file(tmp_path):
    path = tmp_path / "trees.csv"
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        save([["oak"]], path)
    assert path.read_text() == "mine"
