# SPDX-License-Identifier: Apache-2.0
"""Debian's Chromium without a window, driven by Debian's chromedriver. It can reach loopback alone."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

TIMEOUT_S = 120  # only a failure takes that long
FLAGS = (
    "--headless",
    "--no-sandbox",  # as root there is none
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--screen-info={1600x1200}",  # else that of a tablet, for which LuCI has another style
    "--force-color-profile=srgb",
    "--force-prefers-reduced-motion",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


class Page:
    """What is shown, and what a person does with it."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(self, url: str, ready: str) -> None:
        """Opens a page and waits until an element is there, given by a CSS selector."""
        self.driver.get(url)
        self.wait(lambda: self.all(f"{ready}, pre.alert-message, .alert-message pre"))

    def all(self, selector: str) -> list[WebElement]:
        """The elements of a CSS selector."""
        found: list[WebElement] = self.driver.find_elements(By.CSS_SELECTOR, selector)
        return found

    def one(self, selector: str) -> WebElement:
        """The only element of a CSS selector."""
        (element,) = self.all(selector)
        return element

    def text(self, selector: str = "#view") -> str:
        """The text that is visible in the only element of a CSS selector."""
        (text,) = self.texts(selector)
        return text

    def texts(self, selector: str) -> list[str]:
        """The visible texts of the elements of a CSS selector, at one moment: the page replaces what it shows."""
        found: list[str] = self.script(
            "return Array.from(document.querySelectorAll(arguments[0]), e => e.innerText.trim())", selector
        )
        return found

    def rows(self, table: str) -> list[list[str]]:
        """The texts of the cells of a table, without its titles, at one moment."""
        found: list[list[str]] = self.script(
            "return Array.from(document.querySelectorAll(arguments[0] + ' tr:not(.table-titles)'),"
            " row => Array.from(row.querySelectorAll('td'), cell => cell.innerText.trim()))",
            table,
        )
        return found

    def titles(self) -> list[str]:
        """The titles of the messages above the tables."""
        return self.texts("#view .alert-message h4")

    def wait(self, condition: Any) -> None:
        """Waits until a condition is true."""
        WebDriverWait(self.driver, TIMEOUT_S, poll_frequency=0.05).until(lambda _: condition())

    def script(self, source: str, *values: Any) -> Any:
        """Runs a script in the page."""
        return self.driver.execute_script(source, *values)

    def set_option(self, option: str, value: str | list[str]) -> None:
        """Sets an option's value through LuCI's own interface of a form."""
        self.script(
            "const map = L.dom.findClassInstance(document.querySelector('.cbi-map'));"
            "map.lookupOption(arguments[0], 'main', 'airbound')[0].getUIElement('main').setValue(arguments[1]);",
            option,
            value,
        )

    def field(self, option: str, widget: str) -> WebElement:
        """A widget of an option."""
        return self.one(f".cbi-value[data-name='{option}'] {widget}")

    def type(self, option: str, text: str) -> None:
        """Types a text into an option's field, over what is there."""
        element = self.field(option, "input")
        self.show(element)
        element.send_keys(Keys.CONTROL + "a", Keys.DELETE)
        element.send_keys(text, Keys.TAB)

    def add(self, option: str, text: str) -> None:
        """Types an item of a list, with Enter."""
        element = self.field(option, ".add-item input")
        self.show(element)
        element.send_keys(text, Keys.ENTER)

    def show(self, element: WebElement) -> None:
        """Opens the tab that an element is in."""
        if not element.is_displayed():
            for tab in self.all("ul.cbi-tabmenu > li > a"):
                if not element.is_displayed():
                    tab.click()

    def click(self, selector: str) -> None:
        """Clicks on the only element of a CSS selector."""
        self.one(selector).click()

    def picture(self, path: Path, width: int) -> None:
        """Draws the whole page as a PNG."""
        self.driver.set_window_size(width, 400)
        height = self.script("return document.documentElement.scrollHeight")
        self.driver.set_window_size(width, height + self.driver.get_window_size()["height"] - self._inner_height())
        path.write_bytes(self.driver.get_screenshot_as_png())

    def _inner_height(self) -> int:
        height: int = self.script("return window.innerHeight")
        return height


@contextmanager
def browser(profile: Path, width: int = 1200, height: int = 900) -> Iterator[Page]:
    """Starts a browser with an empty profile directory and ends it."""
    found = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        raise FileNotFoundError(f"{' and '.join(missing)} missing; run 'make setup'")
    options = Options()
    options.binary_location = str(found["chromium"])
    for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    # With both paths given, Selenium looks for nothing and fetches nothing.
    driver = webdriver.Chrome(options=options, service=Service(executable_path=str(found["chromedriver"])))
    try:
        yield Page(driver)
    finally:
        driver.quit()
