from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_security import REPORT

from patchperf.errors import InputError
from patchperf.quality.decay import Decay
from patchperf.quality.patches import ratings_of, read_patches, read_speeds

HEADER = "instance_id,source,correct,compiles,complexity,complexity_reference,findings,findings_reference,lines\n"
ROWS = """\
b,one,1,1,10,10,0,0,2
a,one,0,1,20,10,1,0,7
a,two,yes,true,9,10,0,0,7
b,ground_truth,1,1,10,10,0,0,2
a,ground_truth,1,1,10,10,0,0,7
c,two,0,0,,,,,
"""

SOURCES = ("3B", "ground_truth", "lite")


def read(folder: Path, text: str, decay: Decay | None = None):
    file = folder / "patches.csv"
    file.write_text(text)
    return read_patches(file, decay or Decay())


def test_patches_are_scored_and_in_order(tmp_path):
    table = read(tmp_path, HEADER + ROWS)
    rows = table.set_index(["instance_id", "source"])
    assert table["instance_id"].tolist() == ["a", "a", "a", "b", "b", "c"]
    assert rows.loc[("a", "one"), ["maintainability", "security"]].tolist() == [0.5, 0.5]
    assert rows.loc[("a", "two"), ["correct", "maintainability", "security"]].tolist() == [True, 1, 1]


def test_a_patch_that_does_not_compile_has_0_on_both(tmp_path):
    rows = read(tmp_path, HEADER + ROWS).set_index(["instance_id", "source"])
    assert rows.loc[("c", "two"), ["maintainability", "security"]].tolist() == [0, 0]
    table = read(tmp_path, "instance_id,source,correct,compiles,maintainability,security\na,x,0,0,0.9,0.8\n")
    assert table[["maintainability", "security"]].to_numpy().tolist() == [[0, 0]]


def test_scores_that_are_given_stay(tmp_path):
    table = read(tmp_path, "instance_id,source,correct,maintainability,security\na,x,0,0.9,0.8\n")
    assert table[["maintainability", "security"]].to_numpy().tolist() == [[0.9, 0.8]]
    assert table["compiles"].all()


def test_the_ground_truth_is_not_rated_and_a_source_without_a_patch_has_0(tmp_path):
    ratings = ratings_of(read(tmp_path, HEADER + ROWS))
    assert ratings.sources == ("one", "two")
    assert ratings.instances == ("a", "b", "c")
    assert ratings.correct.tolist() == [[0, 1], [1, 0], [0, 0]]
    assert ratings.maintainability.tolist() == [[0.5, 1], [1, 0], [0, 0]]
    assert ratings.patches.tolist() == [2, 2]
    assert ratings.lines[:2].tolist() == [7, 2]
    assert np.isnan(ratings.lines[2])
    assert np.isnan(ratings.runtime).all()


def test_what_no_source_answered_counts_against_all(tmp_path):
    truth = "".join(f"{name},ground_truth,1,1,10,10,0,0,{lines}\n" for lines, name in enumerate("abcd", 1))
    ratings = ratings_of(read(tmp_path, HEADER + truth + "a,one,1,1,10,10,0,0,\n"))
    assert ratings.instances == ("a", "b", "c", "d")
    assert ratings.correct.tolist() == [[1], [0], [0], [0]]
    assert ratings.lines.tolist() == [1, 2, 3, 4]


def test_the_order_of_rows_changes_nothing(tmp_path):
    turned = "".join(line + "\n" for line in reversed(ROWS.splitlines()))
    assert read(tmp_path, HEADER + ROWS).equals(read(tmp_path, HEADER + turned))


def test_speeds_stand_with_sources_or_with_patches_but_not_with_both(tmp_path):
    table = read(tmp_path, HEADER + ROWS)
    assert ratings_of(table, {"one": 5.0}).tokens_per_second[0, :1].tolist() == [5.0]
    assert np.isnan(ratings_of(table, {"one": 5.0}).tokens_per_second[:, 1:]).all()
    with pytest.raises(InputError, match="leave one of them out"):
        ratings_of(table.assign(tokens_per_second=4.0), {"one": 5.0})


def test_a_file_of_speeds(tmp_path):
    file = tmp_path / "sources.csv"
    file.write_text("source,tokens_per_second,active_parameters\nlite,81,2.4\n3B,100,\n")
    table = read_speeds(file, SOURCES)
    assert table["tokens_per_second"].tolist() == [81, 100]
    assert table["active_parameters"].isna().tolist() == [False, True]
    assert table["total_parameters"].isna().all()
    file.write_text("source,total_parameters\nlite,16\n")
    assert read_speeds(file, SOURCES)["tokens_per_second"].isna().all()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("tokens_per_second\n81\n", "no column source"),
        ("source,tokens_per_second\n", "no source in it: give each a row"),
        ("source,tokens_per_second\n,81\n", "line 2: no source"),
        ("source,tokens_per_second\n,\n", "line 2: no source"),
        ("source,total_parameters\nlite,\n", "only names of sources: give tokens_per_second"),
        ("source\nlite\n", "only names of sources: give tokens_per_second"),
        ("source,tokens_per_second\nlite,81,16\n", "line 2: 3 fields, 2 columns"),
        ("source,tokens_per_second,parameters\nlite,81,16\n", "unknown column parameters"),
        ("source,tokens_per_second\nlite,81\nlite,82\n", "line 3: a second row"),
        ("source,tokens_per_second\nlite,81\n3B,\n", "line 3: tokens_per_second is blank"),
        ("source,tokens_per_second\nlite,NaN\n", "line 2: tokens_per_second is no number"),
        ("source,tokens_per_second\nlite,1e308\n", "line 2: tokens_per_second is no number from 0 to 1e"),
        ("source,tokens_per_second\nlite,0\n", "line 2: tokens_per_second is 0"),
        ("source,tokens_per_second\nlite,81\nlight,9\n", "line 3: light is no source with patches; there are 3B, lite"),
        ("source,tokens_per_second\nground_truth,9\n", "line 2: ground_truth is no source with patches"),
        ("source,tokens_per_second,total_parameters\nlite,81,0\n", "line 2: total_parameters is 0"),
        (
            "source,tokens_per_second,total_parameters,active_parameters\nlite,81,2,3\n",
            "line 2: more active_parameters than total_parameters",
        ),
    ],
)
def test_speeds_that_cannot_be_are_refused_with_their_line(tmp_path, text, reason):
    (tmp_path / "sources.csv").write_text(text)
    with pytest.raises(InputError, match=reason):
        read_speeds(tmp_path / "sources.csv", SOURCES)


def test_spotbugs_reports_are_counted(tmp_path):
    (tmp_path / "mine.xml").write_text(REPORT)
    (tmp_path / "fixed.xml").write_text(REPORT.replace('category="SECURITY"', 'category="STYLE"'))
    header = "instance_id,source,correct,complexity,complexity_reference,report,report_reference\n"
    table = read(tmp_path, header + "Lang-1,x,1,4,4,mine.xml,fixed.xml\n")
    assert table[["findings", "findings_reference", "security"]].to_numpy().tolist() == [[3, 0, 0.25]]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("instance_id,source\na,x\n", "no column correct"),
        ("instance_id,source,correct,complexty\na,x,1,3\n", "unknown column complexty"),
        (HEADER + "a,x,maybe,1,1,1,0,0,1\n", "line 2: correct is neither 1 nor 0"),
        (HEADER + "a,x,1,1,1,1,0,0,1\na,x,1,1,1,1,0,0,1\n", "line 3: a second patch"),
        (HEADER + "a,x,1,1,1,1,0,0,1\na,y,1,1,1,1,0,0,2\n", "line 3: lines differ"),
        (HEADER + "a,x,1,0,1,1,0,0,1\n", "line 2: correct, but does not compile"),
        (HEADER + "a,x,1,1,,1,0,0,1\n", "neither maintainability nor complexity"),
        (HEADER + "a,x,1,1,1,1,,0,1\n", "neither security nor findings"),
        (HEADER + "a,x,1,1,-1,1,0,0,1\n", "complexity is no number from 0 to 1e"),
        (HEADER + ",x,1,1,1,1,0,0,1\n", "no instance"),
        (HEADER + "a,x,1,1,1,1,0,0,3.5\n", "line 2: lines is no whole number from 0 to 1e"),
        (HEADER + "a,x,1,1,1,1,0,0,1e300\n", "line 2: lines is no whole number from 0 to 1e"),
        (HEADER + "a,x,1,1,1,1,0,0,-1\n", "line 2: lines is no whole number"),
        (HEADER + "a,x,1,1,inf,1,0,0,1\n", "line 2: complexity is no number from 0 to 1e"),
        (HEADER + "a,x,1,1,1,1,0,0,1,7\n", "line 2: 10 fields, 9 columns"),
        (HEADER + "a,x,1,1,1,1,0,0,1\na,y,1,1,1,1\n", "line 3: 6 fields, 9 columns"),
        (HEADER + "\n\na,x,maybe,1,1,1,0,0,1\n", "line 4: correct is neither 1 nor 0"),
        (HEADER + '"a\nb",x,1,1,1,1,0,0,1\na,x,1,1,,1,0,0,1\n', "line 4: neither maintainability"),
        (
            "instance_id,source,correct,maintainability,security\na,x,1,1.2,1\n",
            "maintainability is no number from 0 to 1",
        ),
        ("instance_id,source,correct,maintainability,security,runtime\na,x,1,1,1,0\n", "runtime is 0"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(tmp_path, text, reason):
    with pytest.raises(InputError, match=reason):
        read(tmp_path, text)


def test_a_table_without_rows_has_nothing_to_rate(tmp_path):
    with pytest.raises(InputError, match="no patches"):
        ratings_of(read(tmp_path, HEADER))
