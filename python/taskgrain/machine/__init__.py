"""What this machine is, and how quiet: facts, topology, other processes, memory."""
