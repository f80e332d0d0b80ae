"""The table of charts: what each chart gives to the page and to papers, and how a chart is added."""

import json
from pathlib import Path

import pytest
import results_folder
from copied_package import CopiedPackage
from markdown_blocks import blocks
from report_page import Page

from taskgrain.answers import data
from taskgrain.answers.data import Results
from taskgrain.answers.sweeps import Sweep
from taskgrain.report import look
from taskgrain.report.charts import swept
from taskgrain.report.charts.table import CHARTS
from taskgrain.report.figures import of_chart

PAGE = Path(__file__).parents[4] / "docs/how-to/add-a-chart.md"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return data.read(results_folder.of_radices(tmp_path_factory.mktemp("study"), (1, 5)))


def test_plots_have_names_of_their_own(results: Results) -> None:
    plots = [plot for chart in CHARTS for plot in chart.plots(results)]
    assert len({plot.id for plot in plots}) == len(plots) >= 5
    assert all(plot.id.replace("-", "").isalnum() for plot in plots)
    figures = [figure.name for chart in CHARTS for figure in of_chart(chart, results)]
    assert len(set(figures)) == len(figures) >= 5


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.__name__.rpartition(".")[2])
def test_specifications_hold_no_data(chart: object, results: Results) -> None:
    for plot in chart.plots(results):  # type: ignore[attr-defined]
        spec = plot.spec()
        assert "datasets" not in spec or not any("system" in str(one) for one in spec["datasets"].values())
        json.dumps([spec, plot.options()], allow_nan=False)


def test_no_untrusted_text_in_expressions(tmp_path: Path) -> None:
    results = data.read(results_folder.hostile(tmp_path))
    specs = [plot.spec() for chart in CHARTS for plot in chart.plots(results)]
    chart = swept.chart(results, look.PAGE, sweep=Sweep("radix", "x", {0: 1, 1: 2}))
    specs.append(look.finish(chart, look.PAGE))

    def expressions(value: object) -> list[str]:
        if isinstance(value, list):
            return [one for item in value for one in expressions(item)]
        if isinstance(value, dict):
            own = [one for key, one in value.items() if key in ("expr", "labelExpr", "filter", "calculate")]
            return [str(one) for one in own] + [one for item in value.values() for one in expressions(item)]
        return []

    found = [one for spec in specs for one in expressions(spec)]
    assert len(found) > 10
    assert not [one for one in found if "alert" in one]


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.__name__.rpartition(".")[2])
def test_nothing_measured_draws_no_curve(chart: object, tmp_path: Path) -> None:
    empty = data.read(results_folder.write(tmp_path, [results_folder.cell_line("mpi", "fft")]))
    assert all(plot.shows == "rows" for plot in chart.plots(empty))  # type: ignore[attr-defined]
    for figure in of_chart(chart, empty):  # type: ignore[attr-defined]
        assert figure.draw(100).to_dict()


@pytest.mark.submission
def test_a_chart_is_added_as_the_page_says(tmp_path: Path) -> None:
    package = CopiedPackage(tmp_path)
    named = {block.title: block.text for block in blocks(PAGE.read_text("utf-8")) if block.title}
    (package.folder / "report/charts/floor.py").write_text(named["floor.py"], "utf-8")
    table = "report/charts/table.py"
    entry = "CHARTS: tuple[Chart, ...] = (program, metg, efficiency, rate, swept, at_swept, scaling)\n"
    package.edit(table, entry, named["table.py"])
    package.edit(table, "import at_swept, efficiency, metg", "import at_swept, efficiency, floor, metg")
    folder = results_folder.of_radices(tmp_path / "study", (1, 5))
    done = package.run("report", folder, "--figures", tmp_path / "figures", "--format", "svg")
    assert done.returncode == 0, done.stderr
    html = (folder / "report.html").read_text("utf-8")
    charts = json.loads(Page(html).blocks["charts"])
    assert charts["specs"]["floor"]
    assert '<h3 id="floor">Floor</h3>' in html
    assert list((tmp_path / "figures").glob("floor-*.svg"))
