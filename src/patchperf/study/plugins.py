"""pytest plugins that draw at random or hand tests to other processes, and the options that keep them from it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class _Plugin:
    """A plugin by its distribution and its names for ``-p``; ``options`` are its own, which pytest knows with it only.

    ``unused`` are options for where nothing mentions it (it may be absent there), ``used`` for where something does.
    """

    distribution: str
    names: tuple[str, ...]
    options: re.Pattern[str]
    unused: tuple[str, ...]
    used: tuple[str, ...]

    def is_used(self, words: Sequence[str], required: Collection[str]) -> bool:
        """Whether options name the plugin or one of its own options, or the settings require it."""
        mentioned = any(map(self.options.fullmatch, words)) or any(name in self.names for name in _loaded(words))
        return mentioned or self.distribution in required


_PLUGINS = (
    _Plugin(
        "pytest-randomly",
        ("randomly", "pytest_randomly"),
        re.compile(r"--randomly-.*"),
        unused=("-p", "no:randomly"),
        used=("--randomly-seed=0",),
    ),
    _Plugin(
        "pytest-random-order",
        ("random_order", "random_order.plugin"),
        re.compile(r"--random-order(?:-.*|=.*)?"),
        unused=("-p", "no:random_order"),
        used=("--random-order-seed=0",),
    ),
    _Plugin(
        "pytest-xdist",
        (),
        re.compile(r"-[hlqsvx]*n.*|--(?:numprocesses|dist|tx)(?:=.*)?"),
        unused=(),
        used=("-n0", "--dist=no"),
    ),
)


def steady_options(words: Sequence[str], required: Collection[str]) -> tuple[str, ...]:
    """What to add to pytest's options so that one test is run by itself and draws nothing at random.

    ``words`` are all options that hold (of the command line, of the tree's settings, of PYTEST_ADDOPTS), ``required``
    the distributions without which the tree's settings let pytest not start.

    pytest-randomly and pytest-random-order are not even loaded: ``-p no:NAME`` also fits where there is no such
    plugin. It would make their own options unknown, so where one of these is used, a fixed seed is given instead.
    pytest-xdist does nothing without options of its own, and its fixtures may be used all the same: it stays, told to
    start no workers where something tells it to. pytest-rerunfailures stays as well: a test that passes is not run
    again, and a second run of a measured test is told by its record.
    """
    return tuple(
        itertools.chain.from_iterable(
            plugin.used if plugin.is_used(words, required) else plugin.unused for plugin in _PLUGINS
        )
    )


def _loaded(words: Sequence[str]) -> Iterator[str]:
    """The names that ``-p`` is given, joined to it or not."""
    for word, following in itertools.zip_longest(words, words[1:], fillvalue=""):
        if word == "-p":
            yield following
        elif word.startswith("-p"):
            yield word[2:]
