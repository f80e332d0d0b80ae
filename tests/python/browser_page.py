"""The actions of the browser tests on the report's page, and what they see there."""

from collections.abc import Callable
from typing import Any

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait


def complaints(browser: webdriver.Chrome) -> list[Any]:
    log = browser.get_log("browser")  # type: ignore[no-untyped-call]
    return [entry for entry in log if "favicon" not in entry["message"]]


ROWS = """const [place, table] = arguments;
    return [...document.querySelectorAll(`${table} tbody tr:not(.kind)`)].map(row => row.cells[place]"""


def head(browser: webdriver.Chrome, title: str) -> tuple[WebElement, int]:
    """The head of a column of the table of cells, and its place."""
    heads = browser.find_elements(By.CSS_SELECTOR, "#table thead th")
    return next((one, place) for place, one in enumerate(heads) if one.get_property("textContent") == title)


def column(browser: webdriver.Chrome, index: int, table: str = "#table") -> list[str]:
    texts: list[str] = browser.execute_script(f"{ROWS}.textContent)", index, table)
    return texts


def numbers(browser: webdriver.Chrome, index: int, table: str = "#table") -> list[float | None]:
    values = browser.execute_script(f"{ROWS}.dataset.value)", index, table)
    return [None if text is None else float(text) for text in values]


def open_all(browser: webdriver.Chrome) -> None:
    browser.execute_script("document.querySelectorAll('details').forEach(one => { one.open = true; })")


def marks(browser: webdriver.Chrome, chart: str) -> list[str]:
    """The colours in which the drawn marks appear in the end."""
    script = """return [...document.querySelectorAll(`#${arguments[0]} .mark-symbol path`)]
        .map(mark => getComputedStyle(mark).fill)"""
    colours: list[str] = browser.execute_script(script, chart)
    return colours


def axis_labels(browser: webdriver.Chrome, chart: str) -> list[str]:
    """The labels of the ticks of the axis across."""
    script = """return [...document.querySelectorAll(`#${arguments[0]} .role-axis-label`)].at(-1)
        .textContent"""
    return str(browser.execute_script(script, chart)).split()


def luminance(colour: str) -> float:
    red, green, blue = (int(part.strip(" rgba()")) for part in colour.split(",")[:3])
    return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255


def until(browser: webdriver.Chrome, condition: Callable[[], object]) -> None:
    WebDriverWait(browser, 10, 0.05).until(lambda _: condition())


def shown_rows(browser: webdriver.Chrome) -> list[str]:
    """The cells of the table's rows that can be seen: system and workload."""
    script = """return [...document.querySelectorAll('#table tbody tr')].filter(row => row.offsetParent)
        .map(row => `${row.cells[0].textContent.trim()} ${row.cells[1].textContent.trim()}`)"""
    rows: list[str] = browser.execute_script(script)
    return rows


def write_filter(browser: webdriver.Chrome, words: str) -> None:
    box = browser.find_element(By.ID, "filter")
    box.clear()
    box.send_keys(words or " ", *([] if words else [Keys.BACKSPACE]))


def coloured(browser: webdriver.Chrome, chart: str) -> int:
    """The number of systems that have a line with a colour."""
    script = """const rest = getComputedStyle(document.documentElement).getPropertyValue('--rest').trim();
        const probe = document.createElement('i'); probe.style.color = rest; document.body.append(probe);
        const grey = getComputedStyle(probe).color; probe.remove();
        return [...document.querySelectorAll(`#${arguments[0]} .mark-line path`)]
            .filter(line => getComputedStyle(line).stroke !== grey).length"""
    return int(browser.execute_script(script, chart))


def drawn(browser: webdriver.Chrome) -> list[str]:
    return [one.text.split()[0] for one in browser.find_elements(By.CSS_SELECTOR, "#drawn-systems button")]


def ask(browser: webdriver.Chrome, time: str) -> None:
    box = browser.find_element(By.ID, "task")
    box.clear()
    box.send_keys(time, Keys.ENTER)


def choose_first(browser: webdriver.Chrome) -> None:
    browser.find_element(By.CSS_SELECTOR, "#matrix td[data-cell] a").send_keys(Keys.ENTER)
    until(browser, lambda: marks(browser, "chosen-curve"))
