"""The answers that follow from results: pure, without a driver, a clock or a terminal."""
