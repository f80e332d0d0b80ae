"""Tests of what a reader of the report can choose: systems, a task time, a cell. In a real browser."""

from pathlib import Path

import pytest
import results_folder

from taskgrain.answers import data, task_times
from taskgrain.report.page import write

pytest.importorskip("selenium", reason="the browser tests need the Python package selenium")
import chromium
from browser_page import (
    ask,
    axis_labels,
    choose_first,
    coloured,
    column,
    complaints,
    drawn,
    marks,
    numbers,
    open_all,
    shown_rows,
    until,
    write_filter,
)
from chromium import show
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

pytestmark = [chromium.NEEDED, pytest.mark.submission]


def choose(browser: webdriver.Chrome, system: str) -> None:
    browser.find_element(By.CSS_SELECTOR, f"#matrix .system[data-system='{system}']").send_keys(Keys.ENTER)


def test_few_systems_are_drawn_and_others_at_a_click(browser: webdriver.Chrome, report: str) -> None:
    show(browser, report)
    first = drawn(browser)
    assert len(first) == 5
    assert coloured(browser, "efficiency-0") == 5
    button = browser.find_element(By.CSS_SELECTOR, "#matrix .system[data-system='dask']")
    assert button.get_dom_attribute("aria-pressed") == "false"
    button.send_keys(Keys.ENTER)
    until(browser, lambda: coloured(browser, "efficiency-0") == 6)
    assert button.get_dom_attribute("aria-pressed") == "true"
    assert drawn(browser) == [*first, "dask"]
    choose(browser, "tbb")
    until(browser, lambda: coloured(browser, "efficiency-0") == 7)
    choose(browser, "ray")  # the eighth takes a place
    until(browser, lambda: len(drawn(browser)) == 7 and "ray" in drawn(browser))
    assert f"{first[0]} is grey now" in browser.find_element(By.ID, "drawn-said").text
    browser.find_element(By.CSS_SELECTOR, "#drawn-systems button[data-system='dask']").send_keys(Keys.ENTER)
    until(browser, lambda: coloured(browser, "efficiency-0") == 6)
    assert complaints(browser) == []


def test_no_two_systems_have_one_colour_and_mark(browser: webdriver.Chrome, report: str) -> None:
    show(browser, report)
    looks = """return [...document.querySelectorAll('#drawn-systems path')]
        .map(path => [getComputedStyle(path).fill, path.getAttribute('d')].join())"""
    found = browser.execute_script(looks)
    assert len(set(found)) == len(found) == 5


def test_all_systems_have_a_row_if_you_wish(browser: webdriver.Chrome, report: str) -> None:
    """The axis of METG is around the rows that there are, and those drawn have the colours of the list."""
    show(browser, report)
    height = "return document.querySelector('#metg-0 svg').clientHeight"
    few, axis = browser.execute_script(height), axis_labels(browser, "metg-0")
    listed = """return [...document.querySelectorAll('#drawn-systems path')]
        .map(path => getComputedStyle(path).fill)"""
    assert len(set(marks(browser, "metg-0")) & set(browser.execute_script(listed))) >= 4
    browser.find_element(By.ID, "all-rows").send_keys(Keys.SPACE)
    until(browser, lambda: browser.execute_script(height) >= few + 15 * 19)
    assert axis and axis != axis_labels(browser, "metg-0")


def test_the_table_of_systems_sorts_within_kinds_and_without(browser: webdriver.Chrome, report: str) -> None:
    show(browser, report)
    kinds = len(browser.find_elements(By.CSS_SELECTOR, "#matrix .kind"))
    assert kinds > 1
    browser.find_element(By.ID, "grouped").send_keys(Keys.SPACE)
    assert not browser.find_element(By.CSS_SELECTOR, "#matrix .kind").is_displayed()
    browser.find_element(By.CSS_SELECTOR, "#matrix thead th:nth-child(2) button").send_keys(Keys.ENTER)
    known = [one for one in numbers(browser, 1, "#matrix") if one is not None]
    assert known == sorted(known) and len(known) > 10
    browser.find_element(By.ID, "grouped").send_keys(Keys.SPACE)
    assert len(browser.find_elements(By.CSS_SELECTOR, "#matrix tbody")) == kinds
    assert browser.find_element(By.CSS_SELECTOR, "#matrix .kind").is_displayed()
    again = [one for one in numbers(browser, 1, "#matrix") if one is not None]
    assert sorted(again) == known and again != known


def test_a_task_time_is_answered_as_by_advise(browser: webdriver.Chrome, tmp_path: Path) -> None:
    results = data.read(results_folder.big(tmp_path, ["limit", "mpi", "dask"], ["fft", "dom"]))
    show(browser, write(results).as_uri())
    before = column(browser, 1, "#matrix")
    entries = [one.text for one in browser.find_elements(By.CSS_SELECTOR, "#matrix td[data-cell]")]
    ask(browser, "20 us")
    until(browser, lambda: "20 µs alone" in browser.find_element(By.ID, "task-said").text)
    for index, cell in enumerate(results.cells):
        found = task_times.at(cell, 20e-6)
        entry = browser.find_element(By.CSS_SELECTOR, f"#matrix td[data-cell='{index}']")
        if found is None:
            assert entry.text in entries
            continue
        verdict, efficiency = entry.text.split("\n")
        highest = max((place for place, one in enumerate(found.verdicts) if one == "yes"), default=0)
        assert verdict == f"{('50 %', '80 %', '90 %')[highest]}: {found.words[highest]}"
        assert efficiency == found.text
    assert len(browser.find_elements(By.CSS_SELECTOR, "#efficiency-0 .mark-line path")) > 3
    for chart in ("metg-0", "efficiency-0"):
        until(browser, lambda at=chart: "your tasks" in browser.find_element(By.ID, at).text)  # type: ignore[misc]
    browser.find_element(By.ID, "task-off").send_keys(Keys.ENTER)
    until(browser, lambda: column(browser, 1, "#matrix") == before)
    ask(browser, "a while")
    assert "a time with its unit" in browser.find_element(By.ID, "task-said").text
    assert browser.find_element(By.ID, "task").get_dom_attribute("aria-invalid") == "true"
    assert complaints(browser) == []


def test_a_study_of_task_times_opens_with_its_answer(browser: webdriver.Chrome, tmp_path: Path) -> None:
    lines: list[results_folder.Line] = []
    for system, metg in (("mpi", 1e-6), ("dask", 1e-3)):
        ended = results_folder.metg_line(results_folder.cell_name(system, "fft"), metg)
        curve = [one | {"asked": 20e-6} for one in ended["curve"][4:5]]  # type: ignore[index]
        ended |= {"ending": "at", "metg": None, "low": None, "high": None, "curve": curve}
        lines += [results_folder.cell_line(system, "fft"), ended]
    show(browser, write(data.read(results_folder.write(tmp_path, lines))).as_uri())
    assert browser.find_element(By.ID, "task").get_property("value") == "20 µs"
    assert "Tasks of 20 µs" in browser.find_element(By.ID, "best").find_element(By.XPATH, "..").text
    entry = browser.find_element(By.CSS_SELECTOR, "#matrix td[data-cell='0']")
    assert ": yes" in entry.text
    assert complaints(browser) == []


def test_filters_the_table_of_cells(browser: webdriver.Chrome, report: str) -> None:
    show(browser, report)
    open_all(browser)
    assert len(shown_rows(browser)) == 160
    for words, count in (("FFT mpi", 2), ("fft mpi -rma", 1), ("failed", 7), ("no such cell", 0), ("", 160)):
        write_filter(browser, words)
        until(browser, lambda count=count: len(shown_rows(browser)) == count)  # type: ignore[misc]
        assert browser.find_element(By.ID, "shown").text == f"{count} of 160 cells"
    assert complaints(browser) == []


def test_columns_are_chosen(browser: webdriver.Chrome, report: str) -> None:
    show(browser, report)
    open_all(browser)
    header = browser.find_element(By.XPATH, "//th[button='Width']")
    rounds = browser.find_element(By.XPATH, "//th[button='Rounds']")
    assert not header.is_displayed()
    browser.find_element(By.XPATH, "//label[normalize-space()='Width']/input").click()
    browser.find_element(By.XPATH, "//label[normalize-space()='Rounds']/input").send_keys(Keys.SPACE)
    assert header.is_displayed()
    assert not rounds.is_displayed()
    index = browser.execute_script("return arguments[0].cellIndex", header)
    assert set(column(browser, index)) == {"16"}
    row = browser.find_element(By.CSS_SELECTOR, "#table tbody tr")
    seen = [one for one in row.find_elements(By.CSS_SELECTOR, "th, td") if one.is_displayed()]
    assert len(seen) == 11


def test_a_mark_shows_its_cell(browser: webdriver.Chrome, report: str) -> None:
    show(browser, report)
    panel = browser.find_element(By.ID, "chosen")
    assert not panel.is_displayed()
    mark = browser.find_element(By.CSS_SELECTOR, "#metg-5 .mark-symbol path")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", mark)
    ActionChains(browser).move_to_element(mark).click().perform()
    assert panel.is_displayed()
    assert "/fft/width=16" in panel.text
    assert "taskgrain metg --system" in panel.text
    until(browser, lambda: len(marks(browser, "chosen-curve")) > 10)
    ActionChains(browser).send_keys(Keys.ESCAPE).perform()
    assert not panel.is_displayed()
    assert browser.find_elements(By.CSS_SELECTOR, ".chosen") == []
    assert complaints(browser) == []


def test_a_number_shows_its_cell_by_the_keyboard(browser: webdriver.Chrome, report: str) -> None:
    show(browser, report)
    link = browser.find_element(By.XPATH, "//table[@id='matrix']//td[contains(., 'crash')]/a")
    link.send_keys(Keys.ENTER)
    panel = browser.find_element(By.ID, "chosen")
    assert browser.switch_to.active_element == panel
    cell = link.find_element(By.XPATH, "..").get_dom_attribute("data-cell")
    row = browser.find_element(By.CSS_SELECTOR, f"#table tr[data-cell='{cell}']")
    name = "/".join(
        str(one.get_property("textContent")) for one in row.find_elements(By.CSS_SELECTOR, "th, td")[:2]
    )
    assert panel.find_element(By.TAG_NAME, "h2").text == name
    assert "the driver ended with signal 11" in panel.text
    failure = panel.find_element(By.LINK_TEXT, "crash")
    target = browser.find_element(By.CSS_SELECTOR, str(failure.get_dom_attribute("href")))
    failure.send_keys(Keys.ENTER)  # opens where it leads to
    until(browser, lambda: "line 29 of the log" in target.text)
    panel.find_element(By.ID, "close").send_keys(Keys.ENTER)
    assert browser.switch_to.active_element == link


def test_the_cell_chosen_stands_beside_the_page(browser: webdriver.Chrome, report: str) -> None:
    show(browser, report, 1440)
    browser.find_element(By.CSS_SELECTOR, "#matrix td[data-cell] a").send_keys(Keys.ENTER)
    edges = """const right = one => document.querySelector(one).getBoundingClientRect().right;
        return [right('main'), document.getElementById('chosen').getBoundingClientRect().left]"""
    main, panel = browser.execute_script(edges)
    assert main <= panel


def test_hovering_tells_what_a_point_is(browser: webdriver.Chrome, report: str) -> None:
    show(browser, report)
    mark = browser.find_element(By.CSS_SELECTOR, "#efficiency-0 .mark-symbol path:nth-child(5)")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", mark)
    ActionChains(browser).move_to_element(mark).perform()
    visible = (By.CSS_SELECTOR, "#vg-tooltip-element.visible")
    tooltip = WebDriverWait(browser, 10).until(lambda one: one.find_element(*visible))
    for word in ("system", "iterations", "granularity", "efficiency", "GFLOP/s", "repeats"):
        assert word in tooltip.text


def test_pointing_at_a_grey_line_tells_its_system(browser: webdriver.Chrome, report: str) -> None:
    """Where it has a point, and no other line lies on it."""
    show(browser, report)
    place = browser.execute_script("""
        const lines = [...document.querySelectorAll("#efficiency-0 .mark-line path")];
        const line = lines.filter(one => getComputedStyle(one).opacity === "0").at(-1);
        line.scrollIntoView({block: "center"});
        return line.getAttribute("d").slice(1).split("L").map(at => {
            const {x, y} = new DOMPoint(...at.split(",")).matrixTransform(line.getScreenCTM());
            return [Math.round(x), Math.round(y)];
        }).find(at => document.elementFromPoint(...at) === line);""")
    move = ActionBuilder(browser)
    move.pointer_action.move_to_location(*place)
    move.perform()
    visible = (By.CSS_SELECTOR, "#vg-tooltip-element.visible")
    tooltip = WebDriverWait(browser, 10).until(lambda one: one.find_element(*visible))
    system = tooltip.text.split()[-1]
    assert tooltip.text.startswith("system") and system in results_folder.SYSTEMS
    assert system not in drawn(browser)


def test_disturbed_samples_are_grey(browser: webdriver.Chrome, tmp_path: Path) -> None:
    cell = results_folder.cell_name("mpi", "fft")
    ended = results_folder.metg_line(cell, 1e-6) | {"disturbed_runs": 10}
    runs = [line | {"disturbed": at < 10} for at, line in enumerate(results_folder.run_lines(ended, 3))]
    folder = results_folder.write(tmp_path, [results_folder.cell_line("mpi", "fft"), *runs, ended])
    show(browser, write(data.read(folder)).as_uri())
    choose_first(browser)
    muted = browser.execute_script("return getComputedStyle(document.querySelector('.note')).color")
    found = marks(browser, "chosen-curve")
    assert found.count(muted) == 10 * 2
    assert len(set(found)) == 2
    assert len(found) == 10 + 30 * 2


def test_a_study_of_the_radix(browser: webdriver.Chrome, tmp_path: Path) -> None:
    show(browser, write(data.read(results_folder.of_radices(tmp_path))).as_uri())
    assert len(marks(browser, "swept-0")) == 9  # 2 systems, 4 radices; an arrow from one never reached
    text = browser.find_element(By.ID, "swept-0").text
    assert "dependences per task (radix)" in text
    browser.find_element(By.CSS_SELECTOR, "#drawn-systems button[data-system='limit']").send_keys(Keys.ENTER)
    until(browser, lambda: len(marks(browser, "swept-0")) == 5)
    assert (
        len(browser.find_elements(By.CSS_SELECTOR, "#swept-0 .mark-line path")) == 3
    )  # one of them grey, and easy to point at
    assert complaints(browser) == []
