"""One browser for the tests of the page that follow each other."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Browser

from tests.browser.browsing import chromium


@pytest.fixture(scope="package")
def browser() -> Generator[Browser]:
    with chromium() as found:
        yield found
