import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow  # type: ignore[import-untyped]
import pyarrow.parquet  # type: ignore[import-untyped]
import pytest

from patchperf.config import Dataset
from patchperf.errors import InputError
from patchperf.study.datasets import load_instances, parse_row, select_instances
from patchperf.study.instance import Instance

SCRIPT = """\
#!/bin/bash
git apply -v - <<'EOF'
+: '>>>>> Start Test Output of another kind'
EOF
: '>>>>> Start Test Output'
PYTHONWARNINGS=ignore  bin/test -C --verbose pkg/tests/test_a.py
: '>>>>> End Test Output'
git checkout abc1234 pkg/tests/test_a.py
"""
OLD: dict[str, Any] = {
    "instance_id": "a__b-1",
    "repo": "a/b",
    "base_commit": "abc1234" * 5 + "01234",
    "version": "1.2",
    "patch": "the patch",
    "test_patch": "the test patch",
    "FAIL_TO_PASS": '["test_a (pkg.tests.A)", "test_b[(1,"]',
    "PASS_TO_PASS": "[]",
    "problem_statement": "not kept",
}
NEW = {**OLD, "eval_script": SCRIPT, "log_parser": "parse_log_sympy", "image": "swebench/image:latest"}
LIVE = {
    **{key: value for key, value in OLD.items() if key != "version"},
    "instance_id": "Own__Name-7",
    "FAIL_TO_PASS": ["tests/test_a.py::test_a"],
    "PASS_TO_PASS": ["tests/test_a.py::test_b"],
    "test_cmds": ["pytest -rA", "pytest -rA extra"],
    "log_parser": "pytest",
}


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def parquet(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def load(path: Path, split: str = "test") -> list[Instance]:
    return load_instances(Dataset(name="mine", path=path.name, split=split), (path.parent,))


def test_a_row_of_swe_bench_5_has_its_native_command_from_the_script(tmp_path: Path) -> None:
    (instance,) = load(put(tmp_path / "rows.jsonl", lines(NEW)))
    assert instance == Instance(
        instance_id="a__b-1",
        dataset="mine",
        dialect="swe-bench",
        repo="a/b",
        base_commit="abc1234" * 5 + "01234",
        version="1.2",
        patch="the patch",
        test_patch="the test patch",
        fail_to_pass=("test_a (pkg.tests.A)", "test_b[(1,"),
        test_commands=("PYTHONWARNINGS=ignore  bin/test -C --verbose pkg/tests/test_a.py",),
        log_parser="parse_log_sympy",
        image="swebench/image:latest",
    )


def test_an_older_row_leaves_commands_parser_and_image_empty(tmp_path: Path) -> None:
    (instance,) = load(put(tmp_path / "rows.json", json.dumps([OLD])))
    assert (instance.test_commands, instance.log_parser, instance.image) == ((), "", "")
    assert instance.fail_to_pass == ("test_a (pkg.tests.A)", "test_b[(1,")


def test_a_live_row_has_its_commands_dialect_and_the_default_image(tmp_path: Path) -> None:
    (instance,) = load(put(tmp_path / "rows.jsonl", lines(LIVE)))
    assert instance.dialect == "swe-bench-live"
    assert instance.test_commands == ("pytest -rA", "pytest -rA extra")
    assert instance.pass_to_pass == ("tests/test_a.py::test_b",)
    assert instance.version == ""
    assert instance.image == "starryzhang/sweb.eval.x86_64.own_1776_name-7"
    assert parse_row({**LIVE, "docker_image": "mine/own:1"}, "mine", "here").image == "mine/own:1"


def test_all_formats_of_the_same_rows_give_the_same_instances(tmp_path: Path) -> None:
    second = {**NEW, "instance_id": "a__b-2"}
    by_id = {row["instance_id"]: {k: v for k, v in row.items() if k != "instance_id"} for row in (NEW, second)}
    expected = load(put(tmp_path / "rows.jsonl", lines(NEW, second)))
    assert [instance.instance_id for instance in expected] == ["a__b-1", "a__b-2"]
    assert load(put(tmp_path / "windows.jsonl", "\ufeff\r\n" + lines(NEW, second).replace("\n", "\r\n"))) == expected
    assert load(put(tmp_path / "list.json", json.dumps([NEW, second]))) == expected
    assert load(put(tmp_path / "object.json", json.dumps(by_id))) == expected
    assert load(parquet(tmp_path / "rows.parquet", [NEW, second])) == expected
    as_lists = [{**row, "FAIL_TO_PASS": json.loads(row["FAIL_TO_PASS"]), "PASS_TO_PASS": []} for row in (NEW, second)]
    assert load(parquet(tmp_path / "lists.parquet", as_lists)) == expected


def test_a_text_line_separator_inside_a_json_line_does_not_end_it(tmp_path: Path) -> None:
    row = {**OLD, "patch": "one\u2028two"}
    (instance,) = load(put(tmp_path / "rows.jsonl", json.dumps(row, ensure_ascii=False)))
    assert instance.patch == "one\u2028two"


def test_of_a_folder_of_parquet_files_those_of_the_split_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "hub"
    for name, number in (("data/test-00000-of-00002", 1), ("data/test-00001-of-00002", 2), ("data/dev", 3)):
        parquet(folder / f"{name}.parquet", [{**NEW, "instance_id": f"a__b-{number}"}])
    assert [i.instance_id for i in load(folder)] == ["a__b-1", "a__b-2"]
    assert [i.instance_id for i in load(folder, "dev")] == ["a__b-3"]
    assert [i.instance_id for i in load(folder, "train")] == ["a__b-3", "a__b-1", "a__b-2"]


def test_a_live_column_that_is_null_makes_no_live_row(tmp_path: Path) -> None:
    both = [{**NEW, "test_cmds": None}, {**LIVE, "FAIL_TO_PASS": '["x"]', "PASS_TO_PASS": "[]"}]
    assert [i.dialect for i in load(parquet(tmp_path / "rows.parquet", both))] == ["swe-bench", "swe-bench-live"]


@pytest.mark.parametrize("field", ["base_commit", "repo", "patch", "test_patch", "FAIL_TO_PASS"])
@pytest.mark.parametrize("value", [None, "", "gone"])
def test_a_missing_or_empty_field_is_reported_with_file_row_and_instance(
    tmp_path: Path, field: str, value: str | None
) -> None:
    row = {key: old for key, old in NEW.items() if key != field}
    row |= {} if value == "gone" else {field: value}
    path = put(tmp_path / "rows.jsonl", lines({**NEW, "instance_id": "a__b-0"}, row))
    with pytest.raises(InputError) as raised:
        load(path)
    assert str(raised.value) == f"{path}: line 2, a__b-1: field {field} is missing or empty"


@pytest.mark.parametrize("value", ["[]", []])
def test_a_row_that_says_it_has_no_fail_to_pass_test_is_left_to_the_single_test_rule(value: object) -> None:
    assert parse_row({**NEW, "FAIL_TO_PASS": value}, "mine", "here").fail_to_pass == ()


def test_half_a_character_in_a_tests_name_is_reported() -> None:
    with pytest.raises(InputError, match="here, a__b-1: field FAIL_TO_PASS holds half a character: 'test_"):
        parse_row({**NEW, "FAIL_TO_PASS": ["test_\ud83d"]}, "mine", "here")


def test_json_nested_too_deeply_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("[" * 100_000 + "\n")
    with pytest.raises(InputError, match="line 1: nested too deeply"):
        load(path)


def test_a_row_without_instance_id_is_reported_by_its_number(tmp_path: Path) -> None:
    path = parquet(tmp_path / "rows.parquet", [NEW, {**NEW, "instance_id": None}])
    with pytest.raises(InputError) as raised:
        load(path)
    assert str(raised.value) == f"{path}: row 2: field instance_id is missing or empty"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"instance_id": "a/../b"}, "field instance_id = 'a/../b' is not of the form"),
        ({"instance_id": ".."}, "field instance_id = '..' is not of the form"),
        ({"repo": "b"}, "field repo = 'b' is not of the form"),
        ({"repo": "../b"}, "field repo = '../b' is not of the form"),
        ({"base_commit": "--upload-pack=x"}, "field base_commit = '--upload-pack=x' is not of the form"),
        ({"patch": 3}, "field patch is int, expected text"),
        ({"FAIL_TO_PASS": "test_a"}, "field FAIL_TO_PASS is no JSON list"),
        ({"FAIL_TO_PASS": '{"a": 1}'}, "field FAIL_TO_PASS is dict, expected a list"),
        ({"PASS_TO_PASS": [1]}, "field PASS_TO_PASS holds something else than non-empty texts"),
        ({"PASS_TO_PASS": 1}, "field PASS_TO_PASS is int, expected a list"),
        ({"test_cmds": []}, "field test_cmds is empty"),
        ({"eval_script": "pytest\n"}, "field eval_script lacks the lines : '>>>>> Start Test Output'"),
        ({"eval_script": SCRIPT.replace(">>>>> End", "End")}, "field eval_script lacks the lines"),
        ({"eval_script": ": '>>>>> Start Test Output'\n\n: '>>>>> End Test Output'\n"}, "eval_script has no command"),
    ],
)
def test_a_field_of_another_form_is_reported(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_row({**NEW, **change}, "mine", "here")
    assert said in str(raised.value)
    assert str(raised.value).startswith("here")


def test_an_instance_id_that_occurs_twice_is_reported_with_both_places(tmp_path: Path) -> None:
    path = put(tmp_path / "rows.jsonl", lines(NEW, {**NEW, "instance_id": "a__b-2"}, NEW))
    with pytest.raises(InputError) as raised:
        load(path)
    assert str(raised.value) == f"{path}: line 3: instance_id a__b-1 is already in line 1"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("rows.jsonl", b'{"instance_id": "x"\n', r"rows\.jsonl: line 1: no JSON: .* at column"),
        ("rows.jsonl", b"\n[1]\n", r"rows\.jsonl: line 2: list, expected an object"),
        ("rows.jsonl", b'"\xff"\n', r"rows\.jsonl: line 1: no UTF-8: invalid start byte at byte 2"),
        ("rows.jsonl", b"\n", r"rows\.jsonl: no rows; see dataset mine"),
        ("rows.json", b"{", r"rows\.json: not readable as JSON: .*line 1 column 2"),
        ("rows.json", b'"text"', r"rows\.json: str at top level, expected a list of rows or an object by id"),
        ("rows.json", b'{"a__b-1": []}', r"rows\.json: row 1, key a__b-1: list, expected an object"),
        ("rows.json", b'{"a__b-1": {"instance_id": "x"}}', r"field instance_id = 'x' differs from the key"),
        ("rows.parquet", b"PAR", r"rows\.parquet: not readable as parquet: "),
        ("rows.csv", b"", r"rows\.csv: suffix \.csv is not one of \.parquet, \.json, \.jsonl"),
        ("rows", b"", r"rows: suffix \(none\) is not one of"),
    ],
)
def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=said) as raised:
        load(tmp_path / name)
    assert "\n" not in str(raised.value)


def test_a_missing_file_is_reported_with_every_place_looked_at(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"rows\.jsonl: no such file or folder; looked at .*/one/rows\.jsonl, .*/two/"):
        load_instances(Dataset(name="mine", path="rows.jsonl"), (tmp_path / "one", tmp_path / "two"))


def test_a_folder_without_parquet_files_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a folder without parquet files; give a file"):
        load(tmp_path)


def test_selected_instances_keep_the_datasets_order() -> None:
    instances = [parse_row({**NEW, "instance_id": f"a__b-{number}"}, "mine", "here") for number in range(4)]
    assert select_instances(instances, ("a__b-3", "a__b-1")) == [instances[1], instances[3]]
    assert select_instances(instances, None) == instances


def test_selected_instances_that_no_dataset_has_are_reported() -> None:
    with pytest.raises(InputError, match="instances: in no dataset: c__d-1, c__d-2"):
        select_instances([parse_row(NEW, "mine", "here")], ("c__d-2", "a__b-1", "c__d-1"))


HUB = """
import sys
from pathlib import Path
from patchperf.config import Dataset
from patchperf.errors import InputError
from patchperf.study.datasets import load_instances
try:
    for hub in sys.argv[1:]:
        print([i.instance_id for i in load_instances(Dataset(name="mine", hub=hub), (Path(),))])
except InputError as error:
    print(error)
"""


def test_a_hub_id_goes_through_the_datasets_library_and_offline_the_error_says_how_to_pass_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet(tmp_path / "local" / "data" / "test-00000-of-00001.parquet", [NEW])
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    said = subprocess.check_output(
        [sys.executable, "-c", HUB, str(tmp_path / "local"), "nobody/nothing"], text=True, stderr=subprocess.DEVNULL
    )
    loaded, error = said.splitlines()
    assert loaded == "['a__b-1']"
    assert error.startswith("dataset mine: nobody/nothing (split test) cannot be loaded: ")
    assert error.endswith("or pass a file instead: path: FILE (.parquet, .json, .jsonl) in place of hub")


def test_without_the_datasets_library_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InputError, match=r"hub needs the datasets library: install patchperf\[hub\], or pass a file"):
        load_instances(Dataset(name="mine", hub="nobody/nothing"), (Path(),))
