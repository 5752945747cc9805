"""Which test an identifier stands for that the tree alone does not settle: what the runner itself lists decides.

pytest lists the node ids of one test function. The other runners are run with the native command: a bare name of
sympy's, or a docstring's first line, may stand for several tests, and the benchmark has the status of the last one
printed.
"""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from patchperf.study.commands import ShellCommand, collect_command, suite_command
from patchperf.study.derivation import Underivable
from patchperf.study.identifiers import Target, Undecided, find_target
from patchperf.study.instance import Instance
from patchperf.study.logs import logged_name, parse_log
from patchperf.study.native import runner_of

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def listing_command(instance: Instance, question: Undecided, tree: Path, executables: Collection[str]) -> ShellCommand:
    """What to run in a tree with ground truth and test patch; its output is for ``settle``."""
    if question.scope is not None:
        return collect_command(instance, question.scope, tree, executables)
    return suite_command(instance, tree, executables)


def settle(instance: Instance, test_id: str, question: Undecided, tree: Path, listed: str) -> Target:
    """The one test that an identifier stands for; raises Underivable, with what came into question."""
    lines = _COLOUR.sub("", listed).splitlines()
    if question.scope is not None:
        return _parameter_set(instance, test_id, question.scope, lines)
    if runner_of(instance) == "sympy":
        file = _last_file(instance, test_id, lines)
        if file in question.tried:
            return Target("sympy", file, test_id, test_id)
    elif named := _last_named(test_id, lines):
        return find_target(instance, named, tree)
    raise Underivable(f"{question.reason}, and the native command does not print which", question.tried)


def _parameter_set(instance: Instance, test_id: str, scope: Target, lines: list[str]) -> Target:
    """The node id, among those that pytest lists for a function, whose name in the benchmark's lists this is.

    Failing that, the one that begins with an identifier cut within its brackets, as the benchmark's own grading has it.
    """
    file, _, function = scope.selector.partition("::")
    listed = [line.partition("::") for line in lines]
    nodes = [
        f"{file}::{inside}"
        for path, _, inside in listed
        if posixpath.basename(path) == posixpath.basename(file) and inside.startswith(f"{function}[")
    ]
    found = [node for node in nodes if logged_name(node, instance) == test_id]
    if not found and test_id.count("[") > test_id.count("]"):
        found = [node for node in nodes if node.startswith(test_id)]
    if len(found) != 1:
        what = "stands for several tests" if found else "pytest lists no test that it may stand for"
        raise Underivable(f"{test_id}: {what}", found or nodes or lines[-3:])
    return replace(scope, selector=found[0])


def _last_file(instance: Instance, name: str, lines: list[str]) -> str | None:
    """The file whose heading, ``a/test_b.py[7]``, is above the last verdict on a test of sympy's."""
    file = last = None
    for line in lines:
        if heading := re.match(r"(\S+\.py)\[\d+\]", line):
            file = heading[1]
        elif name in parse_log(line, instance):
            last = file
    return last


def _last_named(docstring: str, lines: list[str]) -> str | None:
    """The test, as in ``test_x (module.Class)``, above the last line that begins with a docstring and its dots."""
    last = None
    for above, line in itertools.pairwise(lines):
        if line.strip().startswith(f"{docstring} ...") and (named := re.search(r"\w+ \([\w.]+\)$", above.strip())):
            last = named[0]
    return last
