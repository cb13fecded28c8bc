"""The command line, environment and files a Spark Connect server starts with.

`java … SparkSubmit` is called directly, not through Spark's `bin/` scripts: those start a first JVM to
build the command for the second, and refuse a runtime without the vector module, which the wheel lacks.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from hakiri.core.canonical import canonical_json
from hakiri.engine.config import EngineConfig, MasterKind, spark_conf
from hakiri.engine.errors import SparkNotInstalled
from hakiri.engine.home import write_private
from hakiri.engine.java import VECTOR_MODULE, Java

SERVER_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
TOKEN_VARIABLE = "SPARK_CONNECT_AUTHENTICATE_TOKEN"  # noqa: S105 - a name, not a token
LAYOUT_VERSION = 1  # of a server's directory; another version never reuses it

# What Spark's own launcher passes, and the packages Spark reaches into: the lists of
# org.apache.spark.launcher.JavaModuleOptions. A runtime too old for one of them ignores it.
_RUNTIME_OPTIONS = (
    "--enable-native-access=ALL-UNNAMED",
    "--sun-misc-unsafe-memory-access=allow",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
)
_OPENED_PACKAGES = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)

# A start runs most code a few hundred times and never again. At its usual thresholds the optimising
# compiler works on that code, on the cores the start itself needs: twice the processor time (ADR-0003).
# Ten times the thresholds leaves it to what is really hot; it is never switched off, as jobs would then
# run at a third of their speed.
_PATIENT_COMPILER = (
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
)

# What a server may see of the caller's environment. Everything else stays out: a warm server outlives
# the command and serves other projects, so a secret of one must not become visible in another's tasks.
_PASSED_VARIABLES = (
    "HOME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "PATH",
    "PYTHONPATH",
    "TMPDIR",
    "TZ",
    "USER",
    "HADOOP_CONF_DIR",
    "KUBECONFIG",
    "SPARK_CONF_DIR",
    "SPARK_LOCAL_DIRS",
    "YARN_CONF_DIR",
)

LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{yyyy-MM-dd'T'HH:mm:ss.SSS}{UTC}Z %p %c{1}: %m%n%ex
# The line that tells the port is an info line.
logger.server.name = org.apache.spark.sql.connect.service.SparkConnectServer
logger.server.level = info
logger.native.name = org.apache.hadoop.util.NativeCodeLoader
logger.native.level = error
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spark:
    """The Spark that is installed beside this Python."""

    home: Path
    version: str
    python: str


def installed_spark(python: str) -> Spark:
    """Where Spark is, learnt without importing it: that alone would take longer than the question."""
    package = find_spec("pyspark")
    if package is None or package.origin is None:
        raise SparkNotInstalled
    return Spark(home=Path(package.origin).parent, version=version("pyspark"), python=python)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPlan:
    """Everything that makes one server another than the next; its key names the server's directory.

    `code` tells the state of what its Python processes have loaded and keep.
    """

    config: EngineConfig
    java: Java
    spark: Spark
    environment: Mapping[str, str]
    code: str = ""

    @property
    def key(self) -> str:
        identity = {
            "layout": LAYOUT_VERSION,
            "spark": [str(self.spark.home), self.spark.version],
            "java": [str(self.java.executable), self.java.version],
            "conf": spark_conf(self.config),
            "environment": dict(self.environment),
            "code": self.code,
        }
        return hashlib.sha256(canonical_json(identity).encode()).hexdigest()[:16]


def plan_server(
    config: EngineConfig, java: Java, spark: Spark, env: Mapping[str, str], *, code: str = ""
) -> ServerPlan:
    environment = server_environment(config, java, spark, env)
    return ServerPlan(config=config, java=java, spark=spark, environment=environment, code=code)


def server_environment(
    config: EngineConfig, java: Java, spark: Spark, env: Mapping[str, str]
) -> dict[str, str]:
    """What the server and its Python workers see: an allow list, plus what `engine.env` names."""
    passed = {name: env[name] for name in (*_PASSED_VARIABLES, *config.pass_env) if name in env}
    own = {"SPARK_HOME": str(spark.home), "JAVA_HOME": str(java.home), "PYTHONHASHSEED": "0"}
    if config.kind is MasterKind.LOCAL:
        own["SPARK_LOCAL_IP"] = "127.0.0.1"
    # Executors elsewhere have their own Python; only beside the driver is it ours.
    own["PYSPARK_PYTHON"] = config.python or (spark.python if config.kind is MasterKind.LOCAL else "python3")
    return passed | own


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFiles:
    properties: Path
    log4j: Path


def write_server_files(plan: ServerPlan, folder: Path) -> ServerFiles:
    """The two files a server reads as it starts, in a folder that only its owner can enter."""
    files = ServerFiles(properties=folder / "spark.properties", log4j=folder / "log4j2.properties")
    # Without it Spark makes a folder `spark-warehouse` wherever the server happens to stand.
    conf = {"spark.sql.warehouse.dir": str(folder / "warehouse")} | spark_conf(plan.config)
    write_private(files.properties, properties_text(conf))
    write_private(files.log4j, LOG4J)
    return files


def server_command(plan: ServerPlan, files: ServerFiles, *, jvm_flags: Sequence[str] = ()) -> list[str]:
    """The argument list that becomes a Connect server. Configuration travels in the properties file,
    which only its owner can read, and never on the command line, which everybody can."""
    conf = spark_conf(plan.config)
    vector = [f"--add-modules={VECTOR_MODULE}"] if VECTOR_MODULE in plan.java.modules else []
    return [
        str(plan.java.executable),
        f"-Xmx{plan.config.heap_mib}m",
        *jvm_flags,
        *_PATIENT_COMPILER,
        "-XX:+IgnoreUnrecognizedVMOptions",
        *vector,
        *_RUNTIME_OPTIONS,
        *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED_PACKAGES),
        f"-Dlog4j2.configurationFile={files.log4j.as_uri()}",
        *shlex.split(conf.get("spark.driver.extraJavaOptions", "")),
        "-cp",
        _class_path(plan.spark.home, conf.get("spark.driver.extraClassPath", "")),
        "org.apache.spark.deploy.SparkSubmit",
        "--properties-file",
        str(files.properties),
        "--class",
        SERVER_CLASS,
        "spark-internal",
    ]


def properties_text(conf: Mapping[str, str]) -> str:
    """A Java properties file that gives back exactly these keys and values."""
    return "".join(f"{_escaped(key, key=True)}={_escaped(value)}\n" for key, value in sorted(conf.items()))


def _class_path(spark_home: Path, extra: str) -> str:
    jars = f"{spark_home}/jars/*"
    return f"{extra}:{jars}" if extra else jars


def _escaped(text: str, *, key: bool = False) -> str:
    special = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    if key:
        special |= {"=": "\\=", ":": "\\:", " ": "\\ ", "#": "\\#", "!": "\\!"}
    escaped = "".join(special.get(char, char) for char in text)
    escaped = "\\" + escaped if escaped.startswith(" ") else escaped
    return "".join(char if char.isascii() else _unicode_escape(char) for char in escaped)


def _unicode_escape(char: str) -> str:
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
