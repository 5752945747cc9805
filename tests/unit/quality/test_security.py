from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import patchperf
from patchperf.errors import InputError
from patchperf.quality.security import UNREADABLE, Analyser, Bandit, Finding, SpotBugs

PACKAGE = Path(patchperf.__file__).parent
TEN = sorted([*PACKAGE.glob("counters/*.py"), *PACKAGE.glob("sandbox/*.py")])[:10]

REPORT = """\
<?xml version="1.0" encoding="UTF-8"?>
<BugCollection version="4.10.4" sequence="0" timestamp="0" analysisTimestamp="0" release="">
  <Project projectName="demo"><Plugin id="com.h3xstream.findsecbugs" enabled="true"/></Project>
  <BugInstance type="SQL_INJECTION_JDBC" priority="1" rank="4" abbrev="SECSQLIJDBC" category="SECURITY">
    <Class classname="demo.Store"><SourceLine start="1" end="40" sourcepath="demo/Store.java"/></Class>
    <SourceLine classname="demo.Store" start="21" end="21" sourcefile="Store.java" sourcepath="demo/Store.java"/>
  </BugInstance>
  <BugInstance type="PREDICTABLE_RANDOM" priority="2" rank="12" abbrev="SECPR" category="SECURITY">
    <Class classname="demo.Id"><SourceLine classname="demo.Id" start="3" end="9" sourcepath="demo/Id.java"/></Class>
  </BugInstance>
  <BugInstance type="HARD_CODE_KEY" priority="3" rank="17" abbrev="SECHCK" category="SECURITY"/>
  <BugInstance type="DM_DEFAULT_ENCODING" priority="1" rank="19" abbrev="Dm" category="I18N"/>
  <BugInstance type="EI_EXPOSE_REP" priority="2" rank="18" abbrev="EI" category="MALICIOUS_CODE"/>
  <Errors errors="0" missingClasses="0"></Errors>
</BugCollection>
"""


WITH_MESSAGES = """\
<?xml version="1.0" encoding="UTF-8"?>

<BugCollection version="4.8.3" sequence="1" timestamp="1" analysisTimestamp="2" release="">
  <Project projectName="shop">
    <Jar>classes</Jar>
    <SrcDir>src</SrcDir>
  </Project>
  <BugInstance type="SQL_NONCONSTANT_STRING_PASSED_TO_EXECUTE" priority="1" rank="10" abbrev="SQL" category="SECURITY"
      instanceHash="1f" instanceOccurrenceNum="0" instanceOccurrenceMax="0" cweid="89">
    <ShortMessage>A query is put together from text</ShortMessage>
    <LongMessage>shop.Orders.find(String) puts a query together from text</LongMessage>
    <Class classname="shop.Orders" primary="true">
      <SourceLine classname="shop.Orders" start="9" end="26" sourcefile="Orders.java" sourcepath="shop/Orders.java">
        <Message>At Orders.java:[lines 9-26]</Message>
      </SourceLine>
      <Message>In class shop.Orders</Message>
    </Class>
    <Method classname="shop.Orders" name="find" signature="(Ljava/lang/String;)V" isStatic="false" primary="true">
      <SourceLine classname="shop.Orders" start="17" end="18" sourcefile="Orders.java" sourcepath="shop/Orders.java"/>
      <Message>In method shop.Orders.find(String)</Message>
    </Method>
    <SourceLine classname="shop.Names" start="4" end="4" sourcefile="Names.java" sourcepath="shop/Names.java"
        role="SOURCE_LINE_PATH_CONTINUES"/>
    <SourceLine classname="shop.Orders" primary="true" start="18" end="18" startBytecode="32" endBytecode="32"
        sourcefile="Orders.java" sourcepath="shop/Orders.java" relSourcepath="src/shop/Orders.java">
      <Message>At Orders.java:[line 18]</Message>
    </SourceLine>
    <String role="Sink method" value="java/sql/Statement.executeQuery"><Message>Sink</Message></String>
  </BugInstance>
  <BugInstance type="HARD_CODE_PASSWORD" priority="4" abbrev="SECHCP" category="SECURITY">
    <Class classname="shop.Orders">
      <SourceLine classname="shop.Orders" sourcefile="Orders.java" sourcepath="shop/Orders.java"/>
    </Class>
  </BugInstance>
  <BugInstance type="PREDICTABLE_RANDOM" priority="2" abbrev="SECPR" category="SECURITY" first="0" last="0">
    <SourceLine classname="shop.Orders" start="7" end="7" sourcefile="Orders.java" sourcepath="shop/Orders.java"/>
  </BugInstance>
  <BugCategory category="SECURITY"><Description>Security</Description></BugCategory>
  <Errors errors="0" missingClasses="1"><MissingClass>shop.Gone</MissingClass></Errors>
  <FindBugsSummary total_classes="1" total_bugs="2" priority_1="1"><FileStats path="shop/Orders.java" bugCount="2"/>
  </FindBugsSummary>
  <History><AppVersion sequence="0" timestamp="0" release=""/></History>
</BugCollection>
"""
"""As FindBugs writes it with -xml:withMessages, and with what else its schema allows."""


def test_both_keep_the_protocol():
    analysers: list[Analyser] = [Bandit(), SpotBugs()]
    assert [analyser.name for analyser in analysers] == ["bandit", "spotbugs"]


def test_ten_files_have_the_findings_of_bandits_own_command(tmp_path):
    assert len(TEN) == 10
    for number, file in enumerate(TEN):
        shutil.copy(file, tmp_path / f"{number}_{file.name}")
    told = subprocess.run(
        [sys.executable, "-m", "bandit", "--recursive", "--format", "json", "--exit-zero", tmp_path],
        capture_output=True,
        check=True,
        timeout=300,
    ).stdout
    theirs = Counter(
        (Path(found["filename"]).name, found["line_number"], found["test_id"]) for found in json.loads(told)["results"]
    )
    ours = Counter((found.path, found.line, found.rule) for found in Bandit().findings(tmp_path))
    assert ours == theirs
    assert theirs.total() > 5


def test_comments_settings_and_folders_hide_nothing(tmp_path):
    hidden = tmp_path / ".tox" / "-odd name"
    hidden.mkdir(parents=True)
    (hidden / "a.py").write_text("import os\nos.system(input())  # nosec\n")
    (tmp_path / ".bandit").write_text("[bandit]\nskips: B605\nexclude: a.py\n")
    found = Bandit().findings(tmp_path)
    assert found == (Finding(".tox/-odd name/a.py", 2, "B605", "high"),)


def test_severity_is_a_lower_bound(tmp_path):
    (tmp_path / "a.py").write_text("import os\nassert input()\nos.system(input())\n")
    assert [found.rule for found in Bandit().findings(tmp_path)] == ["B101", "B605"]
    assert [found.rule for found in Bandit(severity="high").findings(tmp_path)] == ["B605"]


def test_a_folder_without_python_has_no_findings(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    assert Bandit().findings(tmp_path) == ()


def test_a_file_that_bandit_cannot_read_is_a_finding_and_others_are_read(tmp_path):
    (tmp_path / "a.py").write_text("def f(:\n")
    (tmp_path / "b.py").write_text("assert input()\n")
    found = [(finding.path, finding.rule) for finding in Bandit().findings(tmp_path)]
    assert found == [("a.py", UNREADABLE), ("b.py", "B101")]


def test_spotbugs_report_gives_its_security_findings(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    assert SpotBugs().findings(report) == (
        Finding("", 0, "HARD_CODE_KEY", "low"),
        Finding("demo/Id.java", 3, "PREDICTABLE_RANDOM", "medium"),
        Finding("demo/Store.java", 21, "SQL_INJECTION_JDBC", "high"),
    )
    assert len(SpotBugs(severity="medium").findings(report)) == 2


def test_a_report_with_messages_and_a_history_gives_what_its_last_analysis_found(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(WITH_MESSAGES)
    assert SpotBugs().findings(report) == (
        Finding("shop/Orders.java", 0, "HARD_CODE_PASSWORD", "low"),
        Finding("shop/Orders.java", 18, "SQL_NONCONSTANT_STRING_PASSED_TO_EXECUTE", "high"),
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<BugCollection>", "no XML report"),
        (REPORT.replace('errors="0"', 'errors="none"'), "no report of SpotBugs: .*none"),
        (REPORT.replace('priority="1"', 'priority="high"'), "no report of SpotBugs: .*high"),
        ("<checkstyle/>", "not BugCollection"),
        (REPORT.replace('errors="0"', 'errors="2"'), "met 2 errors"),
    ],
)
def test_what_is_no_whole_report_is_refused(tmp_path, text, reason):
    report = tmp_path / "report.xml"
    report.write_text(text)
    with pytest.raises(InputError, match=reason):
        SpotBugs().findings(report)
    with pytest.raises(InputError, match="no XML report"):
        SpotBugs().findings(tmp_path / "none.xml")
