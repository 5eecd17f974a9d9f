"""Pictures of each screen, from the page on a real server: `make shots`. The understudy speaks."""

import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from tests.browser.browsing import CHROMIUM
from tests.served import Served, served

from moot.models.understudy import Understudy
from moot.store import examples

HERE = Path(__file__).parent / "shots"
WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 780}
MOTION = "Should a small team write tests before it writes code?"
PROBLEM = "Should the order service move from SQLite to Postgres this quarter?"


def main() -> None:
    HERE.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as home,
        sync_playwright() as playwright,
        served(Path(home), Understudy(0.03), model="local:understudy") as server,
    ):
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        council, live = _debates(server)
        wide = chromium.new_page(base_url=server.url, viewport=WIDE, reduced_motion="reduce")
        phone = chromium.new_page(
            base_url=server.url, viewport=PHONE, color_scheme="dark", reduced_motion="reduce"
        )
        _shoot(wide, f"/d/{live}", "arena")
        _shoot(phone, f"/d/{live}", "arena-phone")
        _shoot(wide, "/example", "example")
        _shoot(wide, "/new", "setup")
        _shoot(wide, f"/d/{council}/outcome", "outcome")
        _shoot(wide, f"/d/{council}/replay", "replay")
        _shoot(phone, "/", "list-phone")
        station = _station(server)
        _shoot(wide, f"/air/{station}", "on-air")
        _shoot(phone, f"/air/{station}", "on-air-phone")
        _shoot(wide, f"/studio/stations/{station}", "station")
        chromium.close()


def _debates(server: Served) -> tuple[str, str]:
    """A council that has decided, a duel that is over, and a debate that is under way."""
    asked = {"problem": PROBLEM, "output_type": "decision", "constraints": ["no downtime"]}
    council = server.http.post("/debates/council", json=asked).json()["id"]
    server.create("Is remote work better than the office?", format="duel")
    server.wait(council)
    seats = [{"name": "Ada", "stance": "pro"}, {"name": "Ben", "stance": "con"}]
    live = server.create(MOTION, format="classic", participants=seats)["id"]
    while server.http.get(f"/debates/{live}").json()["progress"]["done"] < 9:
        time.sleep(0.1)
    return council, live


def _station(server: Served) -> str:
    """One of the examples, that has aired one conversation and is in the midst of another."""
    text = examples.stations()
    server.post("/stations/import", toml=text).raise_for_status()
    station = server.http.get("/stations").json()["items"][0]["id"]
    for turns in (6, 3):
        aired = server.post(f"/stations/{station}/air").json()["id"]
        while server.http.get(f"/debates/{aired}").json()["progress"]["done"] < turns:
            time.sleep(0.1)
    return station


def _shoot(page: Page, path: str, name: str) -> None:
    page.goto(path)
    page.wait_for_selector("h1")
    page.wait_for_timeout(1200)
    page.screenshot(path=HERE / f"{name}.png")


if __name__ == "__main__":
    main()
