"""Becomes `spark-submit`, as Spark's documentation wants applications to be launched."""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
import tempfile
from pathlib import Path

MAINS = {"process": "Spark", "cluster": "Cluster"}
place = os.environ.get("TASKGRAIN_SPARK", "process")
if place not in MAINS:
    print(f"TASKGRAIN_SPARK: '{place}' is not allowed; allowed: {', '.join(MAINS)}", file=sys.stderr)
    sys.exit(2)
spark = importlib.util.find_spec("pyspark")
assert spark is not None and spark.origin is not None
home = Path(spark.origin).parent
if place == "cluster":  # executors work in a folder of Spark's home, which shall not be the installation
    installed, home = home, Path(tempfile.mkdtemp(prefix="spark-"))
    for name in ("bin", "jars"):
        (home / name).symlink_to(installed / name)
here = Path(__file__).absolute().parent  # may be a link to the source; what is built lies beside the link
jars = ":".join(map(str, [here / "spark.jar", here.parents[1] / "jvm" / "taskgrain.jar"]))
os.environ |= {
    "SPARK_HOME": str(home),
    "SPARK_LOCAL_IP": "127.0.0.1",
    "SPARK_LOCAL_DIRS": tempfile.gettempdir(),
    "SPARK_USER": "taskgrain",
    "HADOOP_USER_NAME": "taskgrain",
}
# Java would take a home folder from the list of users, which the users of containers may not be in.
java = "-XX:-UsePerfData"
for name in ("-Djava.io.tmpdir={}", "-Duser.home={}", "-XX:ErrorFile={}/crash-%p.log"):
    java += " " + shlex.quote(name.format(tempfile.gettempdir()))
options = {
    "--class": f"taskgrain.spark.{MAINS[place]}",
    "--driver-class-path": jars,
    "--driver-java-options": java,
}
settings = {
    "spark.executor.extraClassPath": jars,
    "spark.executor.extraJavaOptions": f"{java} -XX:ActiveProcessorCount=1",
}
command = [str(home / "bin" / "spark-submit"), *(word for pair in options.items() for word in pair)]
for key, value in settings.items():
    command += ["--conf", f"{key}={value}"]
# There is no jar to distribute: all processes are on this machine.
os.execv(command[0], [*command, "spark-internal", *sys.argv[1:]])
