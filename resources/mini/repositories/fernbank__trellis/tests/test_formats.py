import pytest

from trellis import formats


def test_a_registered_format_is_listed():
    formats.register("json", "{")
    assert "json" in formats.registered()


def test_a_character_opens_one_format():
    formats.register("xml", "<")
    with pytest.raises(ValueError, match="already opens xml"):
        formats.register("html", "<")


def test_an_unknown_format_is_none():
    assert formats.guess("plain words") is None
