"""A real Chromium without a screen, and what it asks for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from debian_packages import need
from playwright.sync_api import Page, sync_playwright

PROGRAM = "/usr/bin/chromium"
QUIET = (
    "--no-sandbox",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
"""Only pages of these tests are opened, as root maybe, where Chromium's own sandbox refuses to start."""


@dataclass
class Visit:
    """A page that is open, with all it has asked for, and all that it reported."""

    page: Page
    requests: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@contextmanager
def visiting(start: Path) -> Iterator[Visit]:
    """A page opened from a file; installs Chromium where it may."""
    need({"chromium": "chromium"})
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=list(QUIET))
        try:
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            visit = Visit(page)
            page.on("request", lambda request: visit.requests.append(request.url))
            page.on("pageerror", lambda error: visit.problems.append(str(error)))
            page.on("console", lambda message: visit.problems.append(message.text))
            page.on("dialog", lambda dialog: visit.problems.append(f"dialog: {dialog.message}"))
            page.goto(start.as_uri())
            yield visit
        finally:
            browser.close()
