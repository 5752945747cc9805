from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from patchperf.csv_rows import read_csv_rows
from patchperf.errors import InputError


def read(folder: Path, content: bytes) -> pd.DataFrame:
    file = folder / "given.csv"
    file.write_bytes(content)
    return read_csv_rows(file)


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b"a,b\n1,2\n", {2: ["1", "2"]}),
        (b"a,b\n1,2", {2: ["1", "2"]}),
        (b"\xef\xbb\xbfa,b\r\n1,2\r\n", {2: ["1", "2"]}),
        (b"a,b\r1,2\r3,4\r", {2: ["1", "2"], 3: ["3", "4"]}),
        (b"a,b\n\n1,2\n  \n\n3,4\n", {3: ["1", "2"], 6: ["3", "4"]}),
        (b'a,b\n1,"x\ny"\n3,4\n', {2: ["1", "x\ny"], 4: ["3", "4"]}),
        (b'a,b\n"1,5","say ""x"""\n', {2: ["1,5", 'say "x"']}),
        (b"a,b\n01,NA\n,nan\n", {2: ["01", "NA"], 3: ["", "nan"]}),
        (b"a,b\n", {}),
    ],
)
def test_every_cell_is_text_and_has_its_line(tmp_path: Path, content: bytes, rows: dict[int, list[str]]) -> None:
    table = read(tmp_path, content)
    assert table.columns.tolist() == ["a", "b"]
    assert dict(zip(table.index, table.to_numpy().tolist(), strict=True)) == rows


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "given.csv: empty"),
        (b"\n\n", "given.csv: empty"),
        (b"a,b\n1,2\n1,2,3\n", "given.csv, line 3: 3 fields, 2 columns"),
        (b'a,b\n1,"x\ny"\n\n1\n', "given.csv, line 5: 1 fields, 2 columns"),
        (b"a,\n1,2\n", "column 2 has no name"),
        (b"a,a\n1,2\n", "two columns a: leave one of them out"),
        (b"a,b\n1,caf\xe9\n", "line 2: no UTF-8 text: save the table as CSV in UTF-8"),
        ("a,b\n1,2\n".encode("utf-16"), "line 1: no UTF-8 text: save the table as CSV in UTF-8"),
        (b"a,b\n1,2\x00\n", "line 2: a NUL character: save the table as CSV in UTF-8"),
        (b'a,b\n1,"2\n3,4\n', "line 2: no CSV: unexpected end of data: check the row's quotes"),
        (b'a,b\n1,2\n1,"2"x\n', "line 3: no CSV: ',' expected after '\"'"),
        (b"a,b\n1," + b"x" * 200_000, "line 2: no CSV: field larger than field limit"),
    ],
)
def test_what_is_no_table_is_refused_with_its_line(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(InputError) as told:
        read(tmp_path, content)
    assert reason in str(told.value)
    assert len(str(told.value).splitlines()) == 1


@pytest.mark.parametrize(("name", "reason"), [("none.csv", "No such file"), (".", "Is a directory")])
def test_what_is_no_file_is_named(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(InputError, match=f"{reason}.*: name a CSV file"):
        read_csv_rows(tmp_path / name)
