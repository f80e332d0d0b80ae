"""The report of a results folder: one HTML file that needs no network, and its plots as files for papers."""
