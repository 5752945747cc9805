"""Instances as small as a test needs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from patchperf.study.instance import Instance


def make_instance(*commands: str, **fields: Any) -> Instance:
    """An instance with these native commands; every other field is given by name or plain."""
    plain: dict[str, Any] = {
        "instance_id": "owner__project-1",
        "dataset": "small",
        "dialect": "swe-bench",
        "repo": "owner/project",
        "base_commit": "0" * 40,
        "patch": "",
        "test_patch": "",
        "fail_to_pass": ("tests/test_a.py::test_x",),
        "test_commands": commands,
    }
    return Instance(**{**plain, **fields})


def new_file(path: str, text: str) -> str:
    """A patch that adds a file."""
    lines = text.splitlines()
    added = "".join(f"+{line}\n" for line in lines)
    header = f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
    return f"{header}@@ -0,0 +1,{len(lines)} @@\n{added}"


def write_tree(root: Path, files: dict[str, str]) -> Path:
    """A folder with these files."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root


STEADY = ("-p", "no:randomly", "-p", "no:random_order")
"""What pytest is given in a single point beside the native options, where nothing uses a plugin of these names."""


def steady(*words: str) -> tuple[str, ...]:
    """A single point of pytest with those options before its selector; any other command as it is."""
    return (*words[:-1], *STEADY, words[-1]) if "pytest" in words else words
