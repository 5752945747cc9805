"""What static analysers find in code that may be a weakness."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from xml.etree import ElementTree

from patchperf.errors import InputError, MachineError

SEVERITIES = ("low", "medium", "high")
UNREADABLE = "unreadable"
"""The rule of a file that could not be analysed."""

_SECONDS = 600.0
_NOWHERE = ":no path has this in it:"


@dataclass(frozen=True)
class Finding:
    """One finding: the file and line it is in, the analyser's rule, and how severe that says it is."""

    path: str
    line: int
    rule: str
    severity: str


class Analyser(Protocol):
    """Tells the findings in one version of some code.

    A place is what the analyser reads: a folder of sources, or a report that was made elsewhere.
    """

    @property
    def name(self) -> str:
        """The analyser's name, as it stands in tables."""
        ...

    def findings(self, place: Path) -> tuple[Finding, ...]:
        """All findings at a place, by path and line."""
        ...


@dataclass(frozen=True)
class Bandit:
    """bandit, run on all Python files below a folder; paths are relative to it.

    Every rule counts, from ``severity`` on. ``# nosec`` comments are not followed, they are the patch's own words; nor
    are settings and exclusions of bandit's. A file that it cannot read has one finding, ``UNREADABLE``, of high
    severity: what no analyser gets to see is not safe. Raises MachineError where bandit fails.
    """

    severity: str = "low"
    name: str = "bandit"

    def findings(self, place: Path) -> tuple[Finding, ...]:
        """All findings below a folder, by path and line."""
        files = sorted(str(path.relative_to(place)) for path in place.rglob("*.py") if path.is_file())
        if not files:
            return ()
        options = ["--format", "json", "--quiet", "--exit-zero", "--ignore-nosec", "--exclude", _NOWHERE]
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-m", "bandit", *options, "--", *files],
                cwd=place,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise MachineError(f"bandit did not end within {_SECONDS:.0f} s on {len(files)} files") from None
        try:
            told = json.loads(done.stdout)
        except ValueError:
            last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no message"]
            raise MachineError(f"bandit failed with exit code {done.returncode}: {last[0]}") from None
        found = [Finding(error["filename"].removeprefix("./"), 0, UNREADABLE, "high") for error in told["errors"]]
        found += [
            Finding(
                path=result["filename"].removeprefix("./"),
                line=result["line_number"],
                rule=result["test_id"],
                severity=result["issue_severity"].lower(),
            )
            for result in told["results"]
        ]
        return _in_order(found, self.severity)


@dataclass(frozen=True)
class SpotBugs:
    """A reader of SpotBugs' XML reports (``-xml`` or ``-xml:withMessages``), with FindSecBugs' rules in them or not.

    The place is the report; its schema is SpotBugs' bugcollection.xsd, which FindBugs' reports have as well. Only the
    category SECURITY counts, in which are all of FindSecBugs' rules; priorities 1 to 3 are high to low, and what is
    less is low. In a report of several analyses, findings that the last did not have any more are left out. Raises
    InputError for a file that is no such report, or whose analysis had errors.
    """

    severity: str = "low"
    name: str = "spotbugs"

    def findings(self, place: Path) -> tuple[Finding, ...]:
        """All findings in a report, by path and line."""
        try:
            root = ElementTree.parse(place).getroot()
        except (OSError, ElementTree.ParseError, LookupError, ValueError) as error:
            raise InputError(f"{place}: no XML report: {error}") from None
        if root.tag != "BugCollection":
            raise InputError(f"{place}: its root is {root.tag}, not BugCollection: make it with spotbugs -xml")
        errors = root.find("Errors")
        try:
            failed = 0 if errors is None else int(errors.get("errors", "0"))
            found = [_finding(bug) for bug in root.iter("BugInstance") if _is_weakness(bug)]
        except ValueError as error:
            raise InputError(f"{place}: no report of SpotBugs: {error}") from None
        if failed:
            raise InputError(f"{place}: SpotBugs met {failed} errors: mend them and run it again")
        return _in_order(found, self.severity)


def _is_weakness(bug: ElementTree.Element) -> bool:
    return bug.get("category") == "SECURITY" and "last" not in bug.attrib


def _finding(bug: ElementTree.Element) -> Finding:
    lines = bug.findall("SourceLine") or list(bug.iter("SourceLine"))
    where = next((line for line in lines if line.get("primary") == "true"), lines[0] if lines else None)
    priority = min(max(int(bug.get("priority", "2")), 1), 3)
    return Finding(
        path="" if where is None else where.get("sourcepath", ""),
        line=0 if where is None else int(where.get("start", "0")),
        rule=bug.get("type", ""),
        severity=SEVERITIES[3 - priority],
    )


def _in_order(found: list[Finding], severity: str) -> tuple[Finding, ...]:
    """Those of a severity or above; bandit's "undefined" stays, for it says nothing less."""
    below = SEVERITIES[: SEVERITIES.index(severity)]
    kept = [finding for finding in found if finding.severity not in below]
    return tuple(sorted(kept, key=lambda finding: (finding.path, finding.line, finding.rule)))
