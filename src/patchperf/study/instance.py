"""The study's inputs as values: instances (benchmark rows) and candidates (patches to judge)."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

GROUND_TRUTH = "ground_truth"
INSTANCE_ID = r"[A-Za-z0-9][A-Za-z0-9._+-]{0,199}"
"""What an instance id has to look like: it becomes part of file names, and a wildcard of the workflow."""

Dialect = Literal["swe-bench", "swe-bench-live"]


class Instance(BaseModel):
    """One benchmark row, whatever benchmark and file version it came from.

    ``test_commands`` is the native test command as the row states it (SWE-bench 5: the lines between the
    output marks of ``eval_script``; SWE-bench-Live: ``test_cmds``); empty for older files, where
    ``study.commands`` derives it from the repository. ``log_parser`` is the row's own value, or empty.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    instance_id: str
    dataset: str
    dialect: Dialect
    repo: str
    base_commit: str
    version: str = ""
    patch: str
    test_patch: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...] = ()
    test_commands: tuple[str, ...] = ()
    log_parser: str = ""
    image: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 over all that can change a verdict or a measurement of this instance."""
        content = self.model_dump(mode="json", exclude={"dataset"})
        return content_digest(content)


class Candidate(BaseModel):
    """One source's patch for one instance, before grading."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    instance_id: str
    source: str
    patch: str
    reported_resolved: bool | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of the patch text: equal patches are graded once, whoever wrote them."""
        return hashlib.sha256(self.patch.encode("utf-8", "surrogateescape")).hexdigest()


def content_digest(content: Any) -> str:
    """SHA-256 of a JSON value in canonical form (sorted keys, no spaces)."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
