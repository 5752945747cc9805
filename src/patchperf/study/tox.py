"""What tox would run in one of its environments, for trees whose environment has no tox."""

from __future__ import annotations

import configparser
import itertools
import re
import shlex
import tomllib
from dataclasses import replace
from pathlib import Path

from patchperf.study.calls import Call, parse_call, posargs
from patchperf.study.derivation import Underivable

_FACTORS = re.compile(r"([A-Za-z0-9_.,{}!-]+):\s+(.*)", re.DOTALL)
_PLACE = re.compile(r"\{([^{}]*)\}")


def expand(call: Call, tree: Path) -> list[str]:
    """The shell lines that a ``tox … -e ENV … -- ARGUMENTS`` stands for, from the tree's configuration of tox.

    That is tox.ini, setup.cfg, or the ini text in pyproject.toml. The lines are the commands of [testenv:ENV], else of
    [testenv], with {posargs} replaced and the ``setenv`` of the section before each; nothing is inherited, so
    {env:NAME:default} is its default. SWE-bench's images have ``pytest`` in the
    file replaced by ``pytest -rA``, without which the log names no test: the option is put in where it is missing.
    Raises Underivable for anything in those lines that is not understood.
    """
    name = _environment_name(call)
    commands, setenv, folder = _settings(tree, name, "commands", "setenv", "changedir")
    if folder.strip() not in ("", ".", "{toxinidir}", "{tox_root}"):
        raise Underivable(f"tox: changedir is not understood: {folder.strip()}")
    context = {"posargs": shlex.join(posargs(call.arguments)), "name": name}
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
    return arguments if any(re.fullmatch(r"-[lqsvx]*r\w+", word) for word in arguments) else ("-rA", *arguments)


def _report_all(line: str) -> str:
    call = parse_call(line)
    if call is None or call.runner != "pytest":
        return line
    return str(replace(call, arguments=report_all(call.arguments)))


def _environment_name(call: Call) -> str:
    words = call.arguments[: call.arguments.index("--")] if "--" in call.arguments else call.arguments
    names = [word[2:] for word in words if re.fullmatch(r"-e.+", word)]
    names += [after for word, after in itertools.pairwise(words) if word == "-e"]
    if len(names) != 1 or "," in names[0]:
        raise Underivable(f"tox: not one environment in: {call}")
    return names[0]


def _settings(tree: Path, name: str, *keys: str) -> list[str]:
    """Settings of an environment, as the configuration has them; "" for those that it does not have."""
    for file in ("tox.ini", "setup.cfg", "pyproject.toml"):
        parser = configparser.RawConfigParser(strict=False, comment_prefixes=("#",), inline_comment_prefixes=None)
        try:
            text = (tree / file).read_text("utf-8")
            parser.read_string(_ini_text(text) if file.endswith(".toml") else text, file)
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError, configparser.Error, tomllib.TOMLDecodeError) as error:
            raise Underivable(f"{file}: {str(error).splitlines()[0]}") from None
        own = [s for s in parser.sections() if s.startswith("testenv:") and f"testenv:{name}" in _alternatives(s)]
        sections = [section for section in (*own, "testenv") if parser.has_section(section)]
        if sections:
            values = [
                next((parser.get(section, key) for section in sections if parser.has_option(section, key)), "")
                for key in keys
            ]
            return [_referred(parser, value) for value in values]
    raise Underivable(f"tox: no [testenv] for {name}", ("tox.ini", "setup.cfg", "pyproject.toml"))


def _ini_text(text: str) -> str:
    return str(tomllib.loads(text).get("tool", {}).get("tox", {}).get("legacy_tox_ini", ""))


def _alternatives(text: str) -> list[str]:
    """A name with braces written out: "py{38,39}-x" is "py38-x" and "py39-x"."""
    before, brace, rest = text.partition("{")
    if not brace:
        return [text]
    inside, _, after = rest.partition("}")
    return [before + one.strip() + tail for one in inside.split(",") for tail in _alternatives(after)]


def _referred(parser: configparser.RawConfigParser, value: str, depth: int = 5) -> str:
    """A setting with each {[section]key} replaced by that setting; what leads nowhere stays."""

    def setting(place: re.Match[str]) -> str:
        return parser.get(place[1], place[2], fallback=place[0])

    filled = re.sub(r"\{\[([^\[\]{}]+)\](\w+)\}", setting, value)
    return filled if filled == value or not depth else _referred(parser, filled, depth - 1)


def _lines(text: str, name: str) -> list[str]:
    """The lines of a setting that hold for an environment: continuations joined, factor conditions applied."""
    factors = set(name.split("-"))
    lines = []
    for line in re.sub(r"\\\s*\n\s*", " ", text).split("\n"):
        held = line.strip()
        if condition := _FACTORS.fullmatch(held):
            written = ",".join(_alternatives(condition[1]))
            alternatives = [alternative.split("-") for alternative in written.split(",")]
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
        name = context["name"]
        fixed = {"envpython": "python", "env_python": "python", "envname": name, "env_name": name, "/": "/"}
        fixed |= {"toxinidir": ".", "tox_root": "."}
        if colon or key not in fixed:
            raise Underivable(f"tox: {place[0]} is not understood in: {text}")
        return fixed[key]

    return _PLACE.sub(value, text).strip()
