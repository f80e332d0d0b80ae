"""Becomes `spark-submit`, as Spark's documentation wants applications to be launched; on several nodes a
master and their workers are started first. With `worker MASTER ADDRESS` it becomes the worker of a node."""

from __future__ import annotations

import importlib.util
import os
import shlex
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from taskgrain.system import cores, elsewhere

MAINS = {"process": "Spark", "cluster": "Cluster"}
place = os.environ.get("TASKGRAIN_SPARK", "process")
if place not in MAINS:
    print(f"TASKGRAIN_SPARK: '{place}' is not allowed; allowed: {', '.join(MAINS)}", file=sys.stderr)
    sys.exit(2)
spark = importlib.util.find_spec("pyspark")
assert spark is not None and spark.origin is not None
installed = home = Path(spark.origin).parent
here = Path(__file__).absolute().parent  # may be a link to the source; what is built lies beside the link
jars = ":".join(map(str, [here / "spark.jar", here.parents[1] / "jvm" / "taskgrain.jar"]))
folder = tempfile.gettempdir()
os.environ |= {
    "SPARK_LOCAL_DIRS": folder,
    "SPARK_WORKER_DIR": folder,
    "SPARK_LAUNCHER_OPTS": "-XX:-UsePerfData",
    "SPARK_USER": "taskgrain",
    "HADOOP_USER_NAME": "taskgrain",
}
# Java would take a home folder from the list of users, which the users of containers may not be in.
java = "-XX:-UsePerfData"
for name in ("-Djava.io.tmpdir={}", "-Duser.home={}", "-XX:ErrorFile={}/crash-%p.log"):
    java += " " + shlex.quote(name.format(folder))


def become(part: str, *words: str) -> list[str]:
    """The command of a part of a cluster."""
    main = f"org.apache.spark.deploy.{part.lower()}.{part}"
    return [str(installed / "bin" / "spark-class"), main, "--webui-port", "0", *words]


if sys.argv[1:2] == ["worker"]:
    master, address = sys.argv[2:]
    # Its executors get them, too: their folders are those of this node.
    os.environ |= {"SPARK_HOME": str(installed), "SPARK_LOCAL_IP": address, "JAVA_TOOL_OPTIONS": java}
    number = len(cores())
    command = become("Worker", "--host", address, "--cores", f"{number}", "--memory", f"{number}g", master)
    os.execv(command[0], command)

settings = {
    "spark.executor.extraClassPath": jars,
    "spark.executor.extraJavaOptions": "-XX:ActiveProcessorCount=1",
}
address = elsewhere.address() if place == "cluster" else ""
os.environ["SPARK_LOCAL_IP"] = address or "127.0.0.1"
if address:
    with socket.create_server((address, 0)) as free:
        port = free.getsockname()[1]
    settings["spark.master"] = master = f"spark://{address}:{port}"
    quiet = f"{java} -Dspark.worker.timeout=2592000"  # it misses no worker that was stopped for a while
    environment = {"SPARK_HOME": str(installed), "SPARK_MASTER_OPTS": quiet}
    command = become("Master", "--host", address, "--port", f"{port}")
    subprocess.Popen(command, env=os.environ | environment, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    worker = [sys.executable, __file__, "worker", master]
    subprocess.Popen([*worker, address], stdin=subprocess.DEVNULL, stdout=sys.stderr)
    elsewhere.start([*worker, "{address}"])
else:
    settings["spark.executor.extraJavaOptions"] += f" {java}"
    settings["spark.master"] = f"local-cluster[{len(cores())},1,1024]"
if place == "cluster":  # executors may work in a folder of Spark's home, which shall not be the installation
    home = Path(tempfile.mkdtemp(prefix="spark-"))
    for name in ("bin", "jars"):
        (home / name).symlink_to(installed / name)
    places = [f"{name}/{host}/{core}" for name, host, own in elsewhere.nodes() for core in own]
    os.environ["TASKGRAIN_SPARK_PLACES"] = " ".join(places)
os.environ["SPARK_HOME"] = str(home)
options = {
    "--class": f"taskgrain.spark.{MAINS[place]}",
    "--driver-class-path": jars,
    "--driver-java-options": java,
}
command = [str(home / "bin" / "spark-submit"), *(word for pair in options.items() for word in pair)]
for key, value in settings.items():
    command += ["--conf", f"{key}={value}"]
# There is no jar to distribute: all nodes see the folder of these.
os.execv(command[0], [*command, "spark-internal", *sys.argv[1:]])
