"""Git on the host, on trees that untrusted code has written to: it reads no configuration and runs no other program."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from patchperf.errors import MachineError

# what a tree's own .gitattributes could ask for is off: bytes are kept, and equal digests mean equal bytes
ATTRIBUTES = "* -text -eol -ident -filter -working-tree-encoding !merge !diff !whitespace\n"
_SETTINGS = {
    "core.attributesFile": os.devnull,
    "core.autocrlf": "false",
    "core.excludesFile": os.devnull,
    "core.fileMode": "true",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.protectHFS": "false",
    "core.protectNTFS": "false",
    "core.symlinks": "true",
    "core.untrackedCache": "false",
    "gc.auto": "0",
    "protocol.allow": "never",
    "submodule.recurse": "false",
}
_ENVIRONMENT = {
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
    "PATH": os.defpath,
}


def run_git(
    git_dir: Path,
    *arguments: str | bytes,
    work_tree: Path | None = None,
    index: Path | None = None,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """A finished git command, whatever its exit code; it runs in ``work_tree`` if there is one.

    The environment is made from nothing: no variable of ours reaches git. Raises MachineError where git is missing,
    subprocess.TimeoutExpired after ``timeout`` seconds.
    """
    program = shutil.which("git")
    if program is None:
        raise MachineError("git is not installed or not on PATH: install the package git")
    settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
    where = [] if work_tree is None else [f"--work-tree={work_tree}"]
    return subprocess.run(
        [program, *settings, f"--git-dir={git_dir}", *where, *arguments],
        cwd=work_tree or "/",
        env={**_ENVIRONMENT, **({"GIT_INDEX_FILE": str(index)} if index else {}), **(environment or {})},
        input=stdin,
        capture_output=True,
        check=False,
        timeout=timeout,
    )


def git(
    git_dir: Path,
    *arguments: str | bytes,
    work_tree: Path | None = None,
    index: Path | None = None,
    stdin: bytes = b"",
) -> bytes:
    """The output of a git command that has to succeed; raises MachineError with git's own word if it does not."""
    done = run_git(git_dir, *arguments, work_tree=work_tree, index=index, stdin=stdin)
    if done.returncode:
        raise MachineError(f"{work_tree or git_dir}: git {os.fsdecode(arguments[0])}: {first_error(done.stderr)}")
    return done.stdout


def first_error(stderr: bytes) -> str:
    """The line of a git message that tells what is wrong."""
    lines = [line.strip() for line in stderr.decode("utf-8", errors="replace").splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("fatal:", "error:")) and "while searching for" not in line]
    return (telling or lines or ["git ended with an error and no word"])[0]
