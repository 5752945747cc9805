import subprocess
import sys

import pytest

from trellis.pipeline import quoted, through


def test_words_with_spaces_are_quoted():
    assert quoted(["sort", "-t", "a b"]) == "sort -t 'a b'"


def test_text_goes_through_a_command():
    upper = "import sys; sys.stdout.write(sys.stdin.read().upper())"
    assert through([sys.executable, "-c", upper], "moss") == "MOSS"


def test_a_command_that_fails_is_an_error():
    with pytest.raises(subprocess.CalledProcessError):
        through([sys.executable, "-c", "raise SystemExit(3)"], "")
