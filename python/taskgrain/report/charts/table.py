"""The table of charts, in the order of the page."""

from __future__ import annotations

from taskgrain.report.charts import dependences, efficiency, metg, rate
from taskgrain.report.charts.chart import Chart

CHARTS: tuple[Chart, ...] = (metg, efficiency, rate, dependences)
