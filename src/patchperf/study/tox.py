"""What tox would run in one of its environments, for trees whose environment has no tox."""

from __future__ import annotations

import configparser
import itertools
import re
import shlex
from pathlib import Path

from patchperf.study import native
from patchperf.study.derivation import Underivable

_FACTORS = re.compile(r"([A-Za-z0-9_.,{}!-]+):\s+(.*)", re.DOTALL)
_PLACE = re.compile(r"\{([^{}]*)\}")


def expand(call: native.Call, tree: Path) -> list[str]:
    """The shell lines that a ``tox … -e ENV … -- ARGUMENTS`` stands for, from the tree's tox.ini or setup.cfg.

    They are the commands of [testenv:ENV], else of [testenv], with {posargs} replaced and the ``setenv`` of the section
    before each; nothing is inherited, so {env:NAME:default} is its default. SWE-bench's images have ``pytest`` in the
    file replaced by ``pytest -rA``, without which the log names no test: the option is put in where it is missing.
    Raises Underivable for anything in those lines that is not understood.
    """
    name = _environment_name(call)
    commands, setenv = _sections(tree, name)
    context = {"posargs": shlex.join(native.posargs(call.arguments)), "name": name}
    assignments = dict(call.environment)
    for line in _lines(setenv, name):
        variable, equals, value = line.partition("=")
        if not equals:
            raise Underivable(f"tox: setenv line not understood: {line}")
        assignments[variable.strip()] = _fill(value.strip(), context)
    prefix = "".join(f"{variable}={shlex.quote(value)} " for variable, value in assignments.items())
    lines = [_fill(line.removeprefix("-").strip(), context) for line in _lines(commands, name)]
    if not lines:
        raise Underivable(f"tox: environment {name} has no commands")
    return [prefix + _report_all(line) for line in lines]


def report_all(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """pytest arguments with ``-rA`` in front unless they have a report option of their own."""
    return arguments if any(re.fullmatch(r"-[a-qs-zA-Z]*r\w*", word) for word in arguments) else ("-rA", *arguments)


def _report_all(line: str) -> str:
    call = native.parse_call(line)
    if call is None or call.runner != "pytest":
        return line
    return str(native.Call("pytest", call.program, report_all(call.arguments), call.environment))


def _environment_name(call: native.Call) -> str:
    words = call.arguments[: call.arguments.index("--")] if "--" in call.arguments else call.arguments
    names = [word[2:] for word in words if re.fullmatch(r"-e.+", word)]
    names += [after for word, after in itertools.pairwise(words) if word == "-e"]
    if len(names) != 1 or "," in names[0]:
        raise Underivable(f"tox: not one environment in: {call}")
    return names[0]


def _sections(tree: Path, name: str) -> tuple[str, str]:
    """``commands`` and ``setenv`` of an environment, as the file has them."""
    for file in ("tox.ini", "setup.cfg"):
        parser = configparser.RawConfigParser(strict=False, comment_prefixes=("#",), inline_comment_prefixes=None)
        try:
            parser.read_string((tree / file).read_text("utf-8"), file)
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError, configparser.Error) as error:
            raise Underivable(f"{file}: {str(error).splitlines()[0]}") from None
        sections = [section for section in (f"testenv:{name}", "testenv") if parser.has_section(section)]
        if sections:
            commands, setenv = (
                next((parser.get(section, key) for section in sections if parser.has_option(section, key)), "")
                for key in ("commands", "setenv")
            )
            return commands, setenv
    raise Underivable(f"tox: no [testenv] for {name}", ("tox.ini", "setup.cfg"))


def _lines(text: str, name: str) -> list[str]:
    """The lines of a setting that hold for an environment: continuations joined, factor conditions applied."""
    factors = set(name.split("-"))
    lines = []
    for line in re.sub(r"\\\s*\n\s*", " ", text).split("\n"):
        held = line.strip()
        if condition := _FACTORS.fullmatch(held):
            if "{" in condition[1]:
                raise Underivable(f"tox: condition not understood: {held}")
            alternatives = [alternative.split("-") for alternative in condition[1].split(",")]
            if not any(all(_holds(term, factors) for term in terms) for terms in alternatives):
                continue
            held = condition[2]
        if held:
            lines.append(held)
    return lines


def _holds(term: str, factors: set[str]) -> bool:
    return term[1:] not in factors if term.startswith("!") else term in factors


def _fill(text: str, context: dict[str, str]) -> str:
    def value(place: re.Match[str]) -> str:
        key, colon, default = place[1].partition(":")
        if key == "posargs":
            return context["posargs"] or default
        if key == "env" and ":" in default:
            return default.partition(":")[2]
        fixed = {"envpython": "python", "envname": context["name"], "toxinidir": ".", "/": "/"}
        if colon or key not in fixed:
            raise Underivable(f"tox: {place[0]} is not understood in: {text}")
        return fixed[key]

    return _PLACE.sub(value, text).strip()
