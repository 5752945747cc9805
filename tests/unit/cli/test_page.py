from __future__ import annotations

import pytest

from patchperf.cli.page import LABEL_WIDTH, LEAST_WIDTH, Paragraph, Section, lines, show
from patchperf.text import printable

LONG = " ".join(f"--option-{number}=value" for number in range(40))


def page(*sections: Section, headline: str = "name: kept", width: int = 60) -> list[str]:
    return [line.plain for line in lines(headline, sections, width)]


def test_paragraphs_stand_in_two_columns_below_their_title() -> None:
    section = Section("Instance", (Paragraph("dataset", "mini"), Paragraph("repository", "owner/project")))
    assert page(section) == [
        "name: kept",
        "",
        "Instance",
        "  dataset     mini",
        "  repository  owner/project",
    ]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_wide_command_is_wrapped_at_spaces_and_nothing_of_it_is_lost(width: int) -> None:
    shown = page(Section("Run", (Paragraph("command", LONG),)), width=width)
    assert max(map(len, shown)) <= width
    assert " ".join(line.removeprefix("  command").strip() for line in shown[3:]) == LONG


def test_a_word_wider_than_the_terminal_goes_on_in_the_next_line() -> None:
    shown = page(Section("Run", (Paragraph("test", "x" * 300),)), width=50)
    assert max(map(len, shown)) <= 50
    assert "".join(line.removeprefix("  test").strip() for line in shown[3:]) == "x" * 300


def test_a_very_narrow_terminal_gets_readable_pieces() -> None:
    shown = page(Section("Run", (Paragraph("test", "y" * 90),)), width=5)
    assert max(line.count("y") for line in shown) == LEAST_WIDTH


def test_a_long_label_has_a_line_of_its_own() -> None:
    label = "l" * (LABEL_WIDTH + 1)
    assert page(Section("Run", (Paragraph("a", "one"), Paragraph(label, "two"))))[3:] == [
        "  a  one",
        f"  {label}",
        "     two",
    ]


def test_line_ends_of_a_command_are_kept() -> None:
    assert page(Section("Run", (Paragraph("command", "first\nsecond"),)))[3:] == [
        "  command  first",
        "           second",
    ]


def test_a_programs_output_is_shown_as_it_is() -> None:
    text = "=" * 120 + "\n\n    indented [bold] :smile:\n"
    assert page(Section("Output", verbatim=text), width=40)[3:] == [
        "  | " + "=" * 120,
        "  |",
        "  |     indented [bold] :smile:",
    ]


def test_what_would_steer_a_terminal_is_shown_as_an_escape() -> None:
    assert printable("a\x1b[31mred\x07\r\u202e\udcff\n\tb") == "a\\x1b[31mred\\x07\\r\\u202e\\udcff\n    b"


def test_a_page_has_no_colours_where_it_is_not_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show("[id]: kept", [Section("Ünï [bold]", (Paragraph("test", "test_x[a-1] :smile: äöü"),))])
    assert capsys.readouterr().out == "[id]: kept\n\nÜnï [bold]\n  test  test_x[a-1] :smile: äöü\n"
