import json
from pathlib import Path
from typing import Any

import pytest

from patchperf.config import Source
from patchperf.errors import InputError
from patchperf.study.predictions import Predictions, count_predictions, load_predictions

KNOWN = ("a__b-1", "a__b-2", "a__b-3")


def put(path: Path, content: str | bytes | Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not isinstance(content, str | bytes):
        content = json.dumps(content)
    path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
    return path


def row(number: int, patch: str | None = "diff", **more: object) -> dict[str, Any]:
    return {"instance_id": f"a__b-{number}", "model_name_or_path": "m", "model_patch": patch, **more}


def lines(*rows: object) -> str:
    return "".join(json.dumps(one) + "\n" for one in rows)


def load(path: Path, resolved: str | tuple[str, ...] | None = None) -> Predictions:
    source = Source(name="model-x", predictions=path.name, resolved=resolved)
    return load_predictions(source, KNOWN, (path.parent,))


def patches(predictions: Predictions) -> dict[str, str]:
    return {candidate.instance_id: candidate.patch for candidate in predictions.candidates}


EXPECTED = {"a__b-1": "one\n", "a__b-2": ""}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.jsonl", lines(row(2, None), row(1, "one\n"))),
        ("p.json", [row(1, "one\n"), {"instance_id": "a__b-2"}]),
        ("p.json", {"a__b-1": row(1, "one\n"), "a__b-2": {"model_patch": None}}),
        ("p.json", {"a__b-2": None, "a__b-1": {"model_patch": "one\n"}}),
        ("run/preds.json", {"a__b-1": row(1, "one\n"), "a__b-2": row(2, "")}),
        ("run/all_preds.jsonl", lines(row(1, "one\n"), row(2, ""))),
    ],
)
def test_every_layout_gives_the_same_candidates_by_instance_id(tmp_path: Path, name: str, content: object) -> None:
    put(tmp_path / name, content)
    loaded = load(tmp_path / name.split("/", maxsplit=1)[0])
    assert list(patches(loaded).items()) == list(EXPECTED.items())
    assert {candidate.source for candidate in loaded.candidates} == {"model-x"}
    assert loaded.outside == 0


def test_an_object_may_hold_bare_patches_and_a_file_a_single_row(tmp_path: Path) -> None:
    both = put(tmp_path / "both.json", {"a__b-1": "one\n", "a__b-2": ""})
    assert patches(load(both)) == EXPECTED
    assert patches(load(put(tmp_path / "single.json", row(1, "one\n")))) == {"a__b-1": "one\n"}


def test_an_agents_folder_has_a_file_per_instance_and_rows_win_over_bare_patches(tmp_path: Path) -> None:
    run = tmp_path / "run"
    put(run / "a__b-1" / "a__b-1.pred", row(1, "from the row\n"))
    put(run / "a__b-1" / "a__b-1.patch", "not this\n")
    put(run / "a__b-1" / "a__b-1.traj", "{}")
    put(run / "patches" / "a__b-2.patch", "bare\r\n")
    put(run / "a__b-3" / "patch.diff", "from the log\n")
    assert patches(load(run)) == {"a__b-1": "from the row\n", "a__b-2": "bare\r\n", "a__b-3": "from the log\n"}


def test_a_merged_file_counts_alone(tmp_path: Path) -> None:
    put(tmp_path / "run" / "preds.json", {"a__b-1": row(1, "merged")})
    put(tmp_path / "run" / "all_preds.jsonl", lines(row(1, "older")))
    put(tmp_path / "run" / "a__b-2" / "a__b-2.pred", row(2))
    assert patches(load(tmp_path / "run")) == {"a__b-1": "merged"}


def test_rows_outside_the_datasets_are_counted(tmp_path: Path) -> None:
    loaded = load(put(tmp_path / "p.jsonl", lines(row(9), row(3), row(8))))
    assert (len(loaded.candidates), loaded.outside) == (1, 2)


def test_predictions_for_no_instance_at_all_are_reported(tmp_path: Path) -> None:
    path = put(tmp_path / "p.jsonl", lines(row(8), row(9)))
    with pytest.raises(InputError) as raised:
        load(path)
    assert str(raised.value) == (
        f"source model-x: {path}: none of its 2 predictions (a__b-8, …) is for an instance of the datasets; "
        "give the predictions for them, or drop the source"
    )


def test_what_the_study_has_no_use_for_is_counted(tmp_path: Path) -> None:
    path = put(tmp_path / "p.jsonl", lines(row(1), row(2), row(7), row(8), row(9)))
    counted = count_predictions({"model-x": load(path)}, studied={"a__b-2", "a__b-3"})
    assert counted.to_dict("records") == [
        {"source": "model-x", "predictions": 5, "outside": 3, "left_out": 1, "candidates": 1}
    ]


def test_two_rows_for_one_instance_are_reported_with_both_places(tmp_path: Path) -> None:
    path = put(tmp_path / "p.jsonl", lines(row(1), row(2), row(1)))
    with pytest.raises(InputError) as raised:
        load(path)
    assert str(raised.value) == f"source model-x: {path}: line 3: a__b-1 is already in {path}: line 1"


def test_bytes_that_are_no_utf_8_survive(tmp_path: Path) -> None:
    garbage = bytes(range(128, 256)) + "é".encode()
    encoded = b'{"instance_id": "a__b-1", "model_patch": "' + garbage + b'"}\n'
    (candidate,) = load(put(tmp_path / "p.jsonl", encoded)).candidates
    assert candidate.patch.encode("utf-8", "surrogateescape") == garbage
    put(tmp_path / "run" / "a__b-1.patch", garbage)
    (same,) = load(tmp_path / "run").candidates
    assert same == candidate


@pytest.mark.parametrize(
    ("escaped", "raw"),
    [(r"\ud800", b"\xed\xa0\x80"), (r"\udfff", b"\xed\xbf\xbf"), (r"\ud83d\ude00", b"\xf0\x9f\x98\x80")],
)
def test_surrogates_that_json_spells_out_become_bytes_that_can_be_written(
    tmp_path: Path, escaped: str, raw: bytes
) -> None:
    text = f'{{"instance_id": "a__b-1", "model_patch": "x{escaped}y"}}'
    (candidate,) = load(put(tmp_path / "p.jsonl", text)).candidates
    assert candidate.patch.encode("utf-8", "surrogateescape") == b"x" + raw + b"y"
    assert len(candidate.digest) == 64


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("p.jsonl", lines(row(1)) + "{", r"p\.jsonl: line 2: no JSON: .* at column 2"),
        ("p.jsonl", "[]\n", r"p\.jsonl: line 1: list, expected an object"),
        ("p.jsonl", lines({"model_patch": "x"}), r"p\.jsonl: line 1: field instance_id is missing or no text"),
        ("p.jsonl", lines(row(1), {**row(2), "model_patch": 5}), r"line 2, a__b-2: field model_patch is int"),
        ("p.jsonl", lines({"instance_id": "a__b-1", "diff": "x"}), "no row has a model_patch; keys of the first row"),
        ("p.jsonl", "", r"p\.jsonl: none of its 0 predictions"),
        ("p.json", "[\n{", r"p\.json: no JSON: .* at line 2, column 2"),
        ("p.json", "5", r"p\.json: int at top level, expected a list or an object"),
        ("p.json", {"a__b-1": row(2)}, r"p\.json: key a__b-1: field instance_id = 'a__b-2' differs from the key"),
        ("p.json", {"a__b-1": [1]}, r"p\.json: key a__b-1: list, expected an object"),
        ("p.csv", "", r"p\.csv: suffix \.csv is not one of \.json, \.jsonl, and it is no folder"),
        ("run/notes.txt", "", r"run: neither preds\.json, .* nor \*\.pred, \*\.patch or \*/patch\.diff files in it"),
    ],
)
def test_what_cannot_be_read_is_reported(tmp_path: Path, name: str, content: object, said: str) -> None:
    put(tmp_path / name, content)
    with pytest.raises(InputError, match=said) as raised:
        load(tmp_path / name.split("/", maxsplit=1)[0])
    assert "\n" not in str(raised.value)


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"p\.jsonl: no such file or folder; looked at"):
        load(tmp_path / "p.jsonl")


@pytest.mark.parametrize(
    "content",
    [
        ["a__b-2", "z__z-1"],
        {"other": ["a__b-1"], "model-x": ["a__b-2"]},
        {"resolved_ids": ["a__b-2"], "resolved_instances": 1, "completed_ids": ["a__b-1", "a__b-2"]},
        {"no_generation": ["a__b-1"], "resolved": ["a__b-2"]},
        {"a__b-1": {"resolved": False}, "a__b-2": {"resolved": True, "patch_exists": True}},
    ],
)
def test_a_list_of_resolved_instances_may_have_any_of_the_official_shapes(tmp_path: Path, content: object) -> None:
    put(tmp_path / "resolved.json", content)
    loaded = load(put(tmp_path / "p.jsonl", lines(row(1), row(2))), "resolved.json")
    assert [candidate.reported_resolved for candidate in loaded.candidates] == [False, True]


def test_resolved_instances_may_stand_in_the_configuration_or_be_unknown(tmp_path: Path) -> None:
    path = put(tmp_path / "p.jsonl", lines(row(1), row(2)))
    assert [candidate.reported_resolved for candidate in load(path, ("a__b-1",)).candidates] == [True, False]
    assert [candidate.reported_resolved for candidate in load(path, ()).candidates] == [False, False]
    assert [candidate.reported_resolved for candidate in load(path).candidates] == [None, None]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"other": []}, r"resolved\.json: no key model-x or resolved_ids or resolved; keys there: other"),
        ({}, "no key model-x or resolved_ids or resolved; keys there: $"),
        ({"model-x": 5}, "the resolved instances are no list of ids"),
        ([1], "the resolved instances are no list of ids"),
        ("{", r"resolved\.json: no JSON"),
    ],
)
def test_a_resolved_file_of_another_shape_is_reported(tmp_path: Path, content: object, said: str) -> None:
    put(tmp_path / "resolved.json", content)
    with pytest.raises(InputError, match=said):
        load(put(tmp_path / "p.jsonl", lines(row(1))), "resolved.json")
