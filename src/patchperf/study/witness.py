"""What the probed process saw beyond its self-report: where a call failed, and what it had before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from patchperf.measure.self_report import SelfReport, parse_report


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Belongings(_Part):
    """How many threads, child processes and open descriptors a process had; None where /proc did not tell."""

    threads: int | None
    children: int | None
    descriptors: int | None


class Raised(_Part):
    """Where an exception was raised: file, line and function; the last line of the test's file on the way there.

    Lines are those of the decorated file. ``errno`` is the name of an OSError's number.
    """

    place: tuple[str, int, str] | None
    test_line: int | None
    errno: str | None


class Witness(_Part):
    """``before`` the first call and ``after`` the last."""

    before: Belongings
    after: Belongings | None
    raised: Raised | None

    def grown(self, name: str) -> int:
        """How many more of something (a field of Belongings) there were after the calls; 0 where unknown."""
        before, after = getattr(self.before, name), getattr(self.after, name, None)
        return 0 if before is None or after is None else after - before


class Account(NamedTuple):
    """All that a probed process tells of one invocation of the test."""

    report: SelfReport
    witness: Witness


def read_account(record: Mapping[str, Any]) -> Account | str:
    """The account in a record of the modes "probe" and "lines", or in one line why it is none."""
    report = parse_report({key: value for key, value in record.items() if key != "witness"} | _AS_PROBE)
    if isinstance(report, str):
        return report
    try:
        return Account(report, Witness.model_validate(record.get("witness")))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(['witness', *map(str, first['loc'])])}: {first['msg']}"


_AS_PROBE = {"mode": "probe"}
