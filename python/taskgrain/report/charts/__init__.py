"""The charts, one module each; the page, the figures for papers and the page's script iterate them.

A chart is a module that has what `chart.Chart` asks for, and an entry of `table.CHARTS`.
"""
