"""A real Chromium before a real server: what the browser tests share."""

import asyncio
import json
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect, sync_playwright

from moot.api.app import serve
from moot.api.server import listen
from moot.core.debate import Usage
from moot.errors import ProviderError
from moot.ports.model_call import Call, ModelCard, Reply, Say
from moot.settings import Settings
from tests.patience import milliseconds

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "src/moot/api/static"
AXE = ROOT / "web/node_modules/axe-core/axe.min.js"
CHROMIUM = which("chromium-headless-shell") or which("chromium")
"""Without its window where there is that package: a page costs a quarter of the time."""
NARROW_OR_WIDE = (360, pytest.param(1280, marks=pytest.mark.stress("a width of 360")))
"""Of what a page does with text, the narrow one asks more."""


@contextmanager
def chromium() -> Generator[Browser]:
    """A browser."""
    assert (STATIC / "index.html").exists(), "the page is not built: make web"
    assert CHROMIUM, "the tests of the page need Chromium: make chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"], timeout=milliseconds()
        )
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Visit:
    """A context of its own, with all that went wrong or went elsewhere."""

    context: BrowserContext
    url: str
    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def open(self, path: str = "/", script: str | None = None) -> Page:
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._heard)
        if script:
            page.add_init_script(script)
        page.goto(path if ":" in path else self.url + path)
        return page

    def _heard(self, message: Any) -> None:
        offline = "ERR_CONNECTION" in message.text or "ERR_INCOMPLETE" in message.text
        refused = "Failed to load resource" in message.text
        if message.type == "error" and not offline and not refused:
            self.errors.append(message.text)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith((self.url, "blob:", "about:")):
            self.foreign.append(request.url)


@contextmanager
def visit(browser: Browser, url: str, **options: Any) -> Generator[Visit]:
    """Look around; at the end nothing may have gone wrong, nor to any other host."""
    wanted: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}, **options}
    context = browser.new_context(**wanted)
    context.set_default_timeout(milliseconds())
    expect.set_options(timeout=milliseconds())
    seen = Visit(context, url)
    context.on("request", seen._asked)
    try:
        yield seen
        assert not seen.errors, seen.errors
        assert not seen.foreign, seen.foreign
    finally:
        context.close()


ONLY = {"resultTypes": ["violations"]}  # axe need not describe what is well


@cache
def _axe() -> str:
    return AXE.read_text()


def violations(page: Page) -> list[str]:
    """What axe finds, in a line each."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(_axe())  # past the policy: it is the test's own
    found = page.evaluate("async (only) => (await axe.run(document, only)).violations", ONLY)
    return [
        f"{one['id']}: {one['help']} at {json.dumps([node['target'] for node in one['nodes']])}"
        for one in found
    ]


class Stage:
    """A speaker whose pace the test sets: words one by one, as many a second as it is told."""

    def __init__(self, says: Callable[[Call], str | ProviderError], a_second: float = 0) -> None:
        self.says = says
        self.a_second = a_second
        self.calls: list[Call] = []
        self.held = False  # as long as it is, nobody comes to an end
        self.silent = False  # as long as it is, nobody says a word
        self.breaks: list[ProviderError] = []  # each comes after the words, in place of the end

    def card(self, model: str) -> ModelCard:
        return ModelCard(model, 100_000, 1e-6, 2e-6)

    async def speak(self, call: Call, say: Say) -> Reply:
        self.calls.append(call)
        while self.silent:
            await asyncio.sleep(0.02)
        said = self.says(call)
        if isinstance(said, ProviderError):
            raise said
        for word in said.split(" ") if self.a_second else [said]:
            say(word + " ")
            if self.a_second:
                await asyncio.sleep(1 / self.a_second)
        while self.held:
            await asyncio.sleep(0.02)
        if self.breaks:
            raise self.breaks.pop()
        return Reply(said, call.model, Usage(10, 5, 0.001))


def line(call: Call) -> str:
    """The same for the same step, ever."""
    step = call.step
    return f"{step.actor} in round {step.round}, {step.stage}, to {step.target}."


@contextmanager
def tasks(browser: Browser, page: Page) -> Generator[list[float]]:
    """How long the page's main thread was busy with each task, in milliseconds, longest first.

    In its own processor time: a machine with other work to do cannot make a task long.
    """
    found: list[float] = []
    browser.start_tracing(page=page, categories=["toplevel"])
    try:
        yield found
    finally:
        events: list[dict[str, Any]] = json.loads(browser.stop_tracing())["traceEvents"]
        mains = {
            (event["pid"], event["tid"])
            for event in events
            if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
        }
        found += sorted(
            (
                event["tdur"] / 1000
                for event in events
                if (event["pid"], event["tid"]) in mains and "tdur" in event
            ),
            reverse=True,
        )


def before_verdicts(route: Route) -> None:
    """The same debate, as if it had begun before there were verdicts."""
    debate = route.fetch().json()
    debate["rules"].pop("edition", None)
    debate["outcome"].pop("outcome")
    route.fulfill(json=debate)


def assert_shows(page: Page, turns: list[dict[str, Any]]) -> None:
    """Nothing is missing, nothing is there twice. (What is off the screen is drawn in time.)"""
    page.bring_to_front()
    expect(page.locator("article.turn")).to_have_count(len(turns))
    assert spoken(page) == [f"turn-{turn['number']}" for turn in turns]


def spoken(page: Page) -> list[str]:
    """The ids of the turns that the page shows, in its order."""
    return page.eval_on_selector_all("article.turn", "all => all.map(one => one.id)")


def _slow_server(home: str, port: str, a_second: str) -> None:
    """A server to be killed: `python -m tests.browser.browsing HOME PORT WORDS_A_SECOND`."""
    settings = Settings(home=Path(home), lease_seconds=1, sweep_seconds=0.2, rate_per_second=0)
    speaker = Stage(lambda call: f"{line(call)} {'and so on ' * 12}", float(a_second))
    asyncio.run(serve(settings, listen("127.0.0.1", int(port)), speaker=speaker))


if __name__ == "__main__":
    _slow_server(*sys.argv[1:])
