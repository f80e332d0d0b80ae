"""Becomes a driver on simulated nodes: `simulate.py DESCRIPTION NETWORK DRIVER NODES CORES`."""

from __future__ import annotations

import os
import sys
from xml.etree import ElementTree

DESCRIPTION, NETWORK, DRIVER, *REST = sys.argv[1:]
_FOUND = ElementTree.parse(DESCRIPTION)
_NODES, _NETWORK = _FOUND.find("cluster"), _FOUND.find(f"network[@name='{NETWORK}']")
if _NODES is None or _NETWORK is None:
    sys.exit(f"{DESCRIPTION}: has no <cluster>, or no <network name={NETWORK!r}>")
_NODES.attrib |= {name: value for name, value in _NETWORK.attrib.items() if name != "name"}
_PLATFORM = f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">{ElementTree.tostring(_NODES, "unicode")}</platform>
"""
# SimGrid reads a file, and nobody has to take this one away.
_FILE = os.memfd_create("platform", 0)
os.write(_FILE, _PLATFORM.encode())
os.execv(DRIVER, [DRIVER, f"/proc/self/fd/{_FILE}", *REST])
