"""The pages as a reader's browser gets them: parsed as HTML, not as text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pandas as pd
import pytest
from synthetic_study import Wanted, write_records

from patchperf.errors import InputError
from patchperf.recompute import write_site, write_tables

HOSTILE = """\
diff --git a/pkg/"><script>alert(1)</script>.py b/pkg/"><script>alert(1)</script>.py
--- a/pkg/"><script>alert(1)</script>.py
+++ b/pkg/"><script>alert(1)</script>.py
@@ -1,2 +1,5 @@
 def double(x):
+    </td></table></script><script>alert(2)</script>
+    <a href="javascript:alert(3)" onclick='alert(4)'>x</a> {{ 7 * 7 }} {% raw %}
+    <img src=x onerror=alert(5)> <!-- ]]> &amp; &#60;script&#62;
-    return x
+    return "\u202eab\x00\udcff"
"""


class Page(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    @property
    def anchors(self) -> set[str | None]:
        return {attributes.get("id") for _, attributes in self.tags}

    @property
    def links(self) -> list[str]:
        return [attributes.get("href") or "" for tag, attributes in self.tags if tag == "a"]

    def count(self, tag: str) -> int:
        return sum(one == tag for one, _ in self.tags)


def site(folder: Path, wanted: Wanted, more: Mapping[str, pd.DataFrame] | None = None) -> Path:
    """The pages of a made study, with more tables."""
    raw, out = write_records(folder / "raw", wanted), folder / "out"
    tables = dict(write_tables(raw, out / "tables"))
    for name, table in (more or {}).items():
        tables[name] = out / "tables" / f"{name}.csv"
        table.to_csv(tables[name], index=False)
    write_site(raw, tables, out)
    return out / "pages"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return site(tmp_path_factory.mktemp("site"), Wanted(cases=4))


def everything(pages: Path) -> dict[str, Page]:
    return {path.name: Page(path) for path in pages.glob("*.html")}


def test_every_link_leads_to_a_place_in_the_folder(pages: Path) -> None:
    found = everything(pages)
    assert len(found) == 5
    for name, page in found.items():
        for link in page.links:
            parts = urlsplit(link)
            assert (parts.scheme, parts.netloc) == ("", "")
            target = found[unquote(parts.path) or name]
            assert not parts.fragment or unquote(parts.fragment) in target.anchors, link


def test_numbers_of_the_index_lead_to_the_metric_of_their_case(pages: Path) -> None:
    links = Page(pages / "index.html").links
    for metric in ("instructions", "wall_ns"):
        assert links.count(f"owner1__project-1.html#{metric}") == 2
    page = Page(pages / "owner1__project-1.html")
    assert {"instructions", "wall_ns", "instructions-replicates", "wall_ns-tests"} <= page.anchors


def test_every_replicate_has_its_row_with_value_and_conditions(pages: Path) -> None:
    raw = pd.read_parquet(pages.parents[1] / "raw" / "measurements.parquet")
    mine = raw[raw.instance_id == "owner0__project-0"]
    page = Page(pages / "owner0__project-0.html")
    for row in mine.itertuples():
        assert f"{row.metric}-{row.solution}-{row.replicate}-{row.attempt}" in page.anchors
        assert f"{int(row.value):,}".replace(",", "\u202f") in page.words
    assert page.count("circle") == len(mine)


def test_all_of_a_page_comes_from_its_folder(pages: Path) -> None:
    for name, page in everything(pages).items():
        policies = [
            one for tag, one in page.tags if tag == "meta" and one.get("http-equiv") == "Content-Security-Policy"
        ]
        assert len(policies) == 1
        assert (policies[0]["content"] or "").startswith("default-src 'none'; style-src 'self'; script-src 'self'")
        loaded = [
            one.get("src") or one.get("href") for tag, one in page.tags if tag in {"script", "link", "img", "iframe"}
        ]
        assert loaded == (["pages.css", "pages.js"] if name == "index.html" else ["pages.css"])
        assert not any(key == "style" or key.startswith("on") for _, one in page.tags for key in one)
    assert not re.search(r"https?://|url\(|@import", (pages / "pages.css").read_text("utf-8"))


def test_the_index_has_a_row_for_every_case_with_its_numbers(pages: Path) -> None:
    cases = pd.read_csv(pages.parent / "tables" / "cases.csv")
    page = Page(pages / "index.html")
    keys = [float(one["data-key"]) for tag, one in page.tags if tag == "td" and "." in (one.get("data-key") or "")]
    expected = [
        float(row[column])
        for name in sorted(set(cases.instance_id))
        for _, row in cases[cases.instance_id == name].sort_values("metric").iterrows()
        for column in ("rsd", "p")
    ]
    assert keys == expected


def test_a_hostile_patch_is_shown_and_does_nothing(pages: Path, tmp_path: Path) -> None:
    hostile = site(tmp_path, Wanted(cases=1, patches={"model-a": HOSTILE}))
    page, plain = (Page(folder / "owner0__project-0.html") for folder in (hostile, pages))
    for tag in ("script", "img", "iframe", "link", "meta", "td"):
        more = {"td": page.count("td") - plain.count("td")}.get(tag, 0)
        assert page.count(tag) - more == plain.count(tag)
    assert not any(link.startswith("javascript") for link in page.links)
    assert not any(key.startswith("on") for _, one in page.tags for key in one)
    shown = page.text
    for line in ("</td></table></script><script>alert(2)</script>", "{{ 7 * 7 }} {% raw %}", "&amp; &#60;script&#62;"):
        assert line in shown
    assert '"\\u202eab\\x00\\udcff"' in shown


def test_the_same_records_give_the_same_bytes(pages: Path, tmp_path: Path) -> None:
    again = site(tmp_path, Wanted(cases=4))
    assert {path.name: path.read_bytes() for path in again.iterdir()} == {
        path.name: path.read_bytes() for path in pages.iterdir()
    }


def test_a_void_replicate_is_shown_with_its_reason_and_moves_no_mean(tmp_path: Path) -> None:
    raw = write_records(tmp_path / "raw", Wanted(cases=1))
    measured = pd.read_parquet(raw / "measurements.parquet")
    place = measured.index[(measured.metric == "wall_ns") & (measured.order == 4)][0]
    again = measured.loc[[place]].assign(attempt=2)
    measured.loc[place, ["void", "reason"]] = [True, "wrong-cpus: <0-1> & more"]
    pd.concat([measured, again], ignore_index=True).to_parquet(raw / "measurements.parquet")
    write_site(raw, write_tables(raw, tmp_path / "tables"), tmp_path)
    page = Page(tmp_path / "pages" / "owner0__project-0.html")
    assert "void: wrong-cpus: <0-1> & more" in page.words
    assert sum(one.get("class") == "void" for tag, one in page.tags if tag == "circle") == 1
    assert sum(one.get("class") == "void" for tag, one in page.tags if tag == "tr") == 1
    assert "void replicates 1" in page.text
    assert "<td>void replicates</td>" in (tmp_path / "pages" / "index.html").read_text("utf-8")


def test_patches_stand_beside_that_of_the_ground_truth(pages: Path) -> None:
    page = Page(pages / "owner0__project-0.html")
    assert page.words.count("+    return 2 * x") == 3
    assert page.words.count("+    return 3 * x") == 1
    assert "model-a" in page.text


def test_more_columns_and_contrasts_are_shown_where_there_are_any(tmp_path: Path) -> None:
    row = {"instance_id": "owner0__project-0", "metric": "instructions", "backend": "qemu", "ratio": 0.98765}
    row |= {"solution_i": "00ab34cd56", "solution_j": "01ab34cd56", "low": 0.95, "high": 1.01, "t": 2.5, "df": 4.0}
    contrasts = pd.DataFrame([row | {"p": 0.0321, "p_blocks": 0.0123}])
    pages = site(tmp_path, Wanted(cases=1), {"contrasts": contrasts})
    text = Page(pages / "owner0__project-0.html").text
    assert "ground_truth (00ab34c) model-a (01ab34c) 0.98765 0.95 1.01 2.5 4 0.0321 0.0123" in text


def test_a_case_without_its_patches_is_told_in_one_line(tmp_path: Path) -> None:
    raw = write_records(tmp_path / "raw", Wanted(cases=1))
    tables = write_tables(raw, tmp_path / "tables")
    (raw / "instances" / "owner0__project-0.json").unlink()
    with pytest.raises(InputError, match=r"owner0__project-0\.json is missing or cut short"):
        write_site(raw, tables, tmp_path)


def test_provenance_tells_what_the_records_say(pages: Path) -> None:
    known = json.loads((pages.parent / "provenance.json").read_bytes())
    assert known["inputs"]["datasets"][0]["revision"] == "r7"
    assert known["measuring"]["backends"] == {"instructions": ["qemu"], "wall_ns": ["perf_counter_ns"]}
    assert known["measuring"]["hash_seeds"] == [0, 1, 2, 3, 4]
    assert known["host"]["kernel"] == "6.1"
    assert known["settings"]["seed"] == 1
    for page in (Page(pages.parent / "provenance.html"), Page(pages / "index.html")):
        for told in ("d1" * 32, "revision: r7", "qemu: qemu counts, hardware does not", "2026-01-01T00:00:00+00:00"):
            assert told in page.text


def test_provenance_has_the_image_of_each_case(tmp_path: Path) -> None:
    pages = site(tmp_path, Wanted(cases=2, images=True))
    known = json.loads((pages.parent / "provenance.json").read_bytes())
    first, second = known["images"]
    assert first == {
        "reference": "made/images:owner0__project-0",
        "id": f"sha256:{0:064x}",
        "repo_digest": f"made/images@sha256:0{'d' * 63}",
        "cases": ["owner0__project-0"],
    }
    assert (second["id"], second["repo_digest"]) == (f"sha256:{1:064x}", None)
    for page in (Page(pages.parent / "provenance.html"), Page(pages / "index.html")):
        assert f"made/images:owner0__project-0 id: sha256:{0:064x}; repo_digest: made/images@sha256:0dd" in page.text


def test_without_images_provenance_says_nothing_of_them(pages: Path) -> None:
    assert json.loads((pages.parent / "provenance.json").read_bytes())["images"] == []
    assert "Images of the cases" not in Page(pages.parent / "provenance.html").text


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "no record of image made/images:owner0__project-0"), ("{", "cut short"), ('{"image": {}}', "no record")],
)
def test_an_image_without_its_record_is_told_in_one_line(tmp_path: Path, content: str | None, reason: str) -> None:
    raw = write_records(tmp_path / "raw", Wanted(cases=1, images=True))
    (record,) = (raw / "environments").iterdir()
    record.unlink() if content is None else record.write_text(content)
    with pytest.raises(InputError, match=reason):
        write_site(raw, write_tables(raw, tmp_path / "tables"), tmp_path)
