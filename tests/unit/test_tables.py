import math
import re
from pathlib import Path

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from patchperf.errors import InputError
from patchperf.tables import latex_table, read_table, write_table

SCHEMA = {
    "instance_id": "str",
    "sources": "object",
    "n": "int64",
    "repetitions": "Int64",
    "rsd": "float64",
    "distinguishable": "bool",
    "reported": "boolean",
}


def example() -> pd.DataFrame:
    rows = [
        ("a_b__c-1", ["m1", "m_2"], 5, 7, 0.1 + 0.2, True, None),
        ("NA", ["m1"], 6, None, math.nan, False, True),
        ("007", ["m1"], 7, 1, math.inf, False, False),
        ("100 % {x} $y$ #~^\\&", [], 8, 1, 1.5e-21, True, None),
    ]
    return pd.DataFrame(rows, columns=list(SCHEMA)).astype(SCHEMA)


def test_a_csv_reads_back_to_the_same_bits_types_and_texts(tmp_path: Path) -> None:
    write_table(example(), tmp_path / "t.csv", tmp_path / "t.tex", "caption")
    back = read_table(tmp_path / "t.csv", SCHEMA)
    assert_frame_equal(back.drop(columns="sources"), example().drop(columns="sources"), check_exact=True)


def test_lists_are_joined_by_a_space(tmp_path: Path) -> None:
    write_table(example(), tmp_path / "t.csv", tmp_path / "t.tex", "caption")
    assert read_table(tmp_path / "t.csv", SCHEMA)["sources"].tolist() == ["m1 m_2", "m1", "m1", ""]


def test_equal_tables_give_equal_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_table(example(), tmp_path / name / "t.csv", tmp_path / name / "t.tex", "caption")
    for kind in ("csv", "tex"):
        assert (tmp_path / f"one/t.{kind}").read_bytes() == (tmp_path / f"two/t.{kind}").read_bytes()


def test_an_empty_table_has_its_headers(tmp_path: Path) -> None:
    write_table(example().iloc[:0], tmp_path / "t.csv", tmp_path / "t.tex", "caption")
    assert (tmp_path / "t.csv").read_text() == ",".join(SCHEMA) + "\n"
    assert_frame_equal(
        read_table(tmp_path / "t.csv", SCHEMA).drop(columns="sources"), example().iloc[:0].drop(columns="sources")
    )
    assert r"instance\_id" in (tmp_path / "t.tex").read_text()


@pytest.mark.parametrize(
    ("text", "complaint"), [("a,b\n1,2\n", "columns"), (",".join(SCHEMA) + "\nx,y,many,1,1,True,\n", "many")]
)
def test_a_file_of_another_kind_is_one_line_that_names_it(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "t.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=re.escape(str(file))) as caught:
        read_table(file, SCHEMA)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_numbers_in_latex_have_four_digits_and_people_s_signs() -> None:
    text = latex_table(example(), "caption", "tab:t")
    for cell in ("0.3", r"$\infty$", r"$1.5\times10^{-21}$", "--", "yes", "no"):
        assert re.search(rf"& {re.escape(cell)} (&|\\\\)", text), cell


def test_p_values_have_four_decimals_down_to_a_bound() -> None:
    levels = pd.DataFrame({"p": [0.04999, 1.0, 1e-30, math.nan], "p_blocks": [0.0001, 0.00009, 0.5, 0.25]})
    rows = [line for line in latex_table(levels, "caption", "tab:t").splitlines() if line.endswith(r"\\")][1:]
    assert rows == [r"0.0500 & 0.0001 \\", r"1.0000 & $<0.0001$ \\", r"$<0.0001$ & 0.5000 \\", r"-- & 0.2500 \\"]


def test_only_the_named_columns_are_printed_and_long_tables_break_over_pages(tmp_path: Path) -> None:
    long = pd.concat([example()] * 11)
    write_table(long, tmp_path / "t.csv", tmp_path / "t.tex", "caption", ["instance_id", "n"])
    text = (tmp_path / "t.tex").read_text()
    assert r"\begin{longtable}{lr}" in text
    assert "distinguishable" not in text


def test_text_that_latex_would_act_on_is_escaped() -> None:
    rows = [line for line in latex_table(example(), "caption", "tab:t").splitlines() if line.endswith(r"\\")]
    assert len(rows) == 1 + len(example())
    for row in rows:
        assert len(re.findall(r"(?<!\\)&", row)) == len(SCHEMA) - 1
        assert not re.search(r"(?<!\\)[_%#]", row)
    assert r"100 \% \{x\} \$y\$ \#" in rows[-1]


def test_a_huge_table_is_set_in_part_and_says_so() -> None:
    source = latex_table(pd.DataFrame({"n": range(2500)}), "Numbers.", "tab:n")
    assert r"\caption{Numbers. The first 1000 of 2500 rows; all are in the CSV file.}" in source
    assert "\n999 " in source
    assert "\n1000 " not in source
