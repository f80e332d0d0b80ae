"""This machine, and how quiet it is: facts, topology, other processes, memory."""
