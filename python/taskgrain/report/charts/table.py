"""The table of charts, in the order of the page."""

from __future__ import annotations

from taskgrain.report.charts import at_swept, efficiency, metg, program, rate, scaling, swept
from taskgrain.report.charts.chart import Chart

CHARTS: tuple[Chart, ...] = (program, metg, efficiency, rate, swept, at_swept, scaling)
