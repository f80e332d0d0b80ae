"""Becomes `spark-submit`, as Spark's documentation wants applications to be launched."""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

spark = importlib.util.find_spec("pyspark")
assert spark is not None and spark.origin is not None
home = Path(spark.origin).parent
here = Path(__file__).absolute().parent  # may be a link to the source; what is built lies beside the link
jars = [here / "spark.jar", here.parents[1] / "jvm" / "taskgrain.jar"]
os.environ |= {
    "SPARK_HOME": str(home),
    "SPARK_LOCAL_IP": "127.0.0.1",
    "SPARK_LOCAL_DIRS": tempfile.gettempdir(),
}
options = {
    "--class": "taskgrain.spark.Spark",
    "--driver-class-path": ":".join(map(str, jars)),
    "--driver-java-options": f"-Djava.io.tmpdir={tempfile.gettempdir()} -XX:-UsePerfData",
}
command = [str(home / "bin" / "spark-submit"), *(word for pair in options.items() for word in pair)]
# There is no jar to distribute: all runs in one process.
os.execv(command[0], [*command, "spark-internal", *sys.argv[1:]])
