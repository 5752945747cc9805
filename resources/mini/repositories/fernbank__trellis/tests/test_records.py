from trellis.records import load, parse


def test_a_record_is_a_block_of_fields():
    assert parse("name: oak\nage: 30\n") == [{"name": "oak", "age": "30"}]


def test_an_empty_line_separates_records():
    assert parse("name: oak\n\nname: elm\n") == [{"name": "oak"}, {"name": "elm"}]


def test_a_value_may_hold_a_colon():
    assert parse("note: see: moss") == [{"note": "see: moss"}]


def test_load_reads_a_file(tmp_path):
    path = tmp_path / "trees.txt"
    path.write_text("name: oak\n")
    assert load(path) == [{"name": "oak"}]
