"""Machines and studies on which time only passes in the program, so that the truth is known."""
