"""Every setting: one table, four places, the first that names a value wins.

    flag of the command line > environment variable > configuration file > default

Files (TOML): the one that CUPOOL_CONFIG names, or else the user's own
(`~/.config/cupool/config.toml`) and then `/etc/cupool/config.toml`. `cupool config` prints each
value and where it came from. The client imports this module, so it needs the standard library
only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from cupool.addresses import DEFAULT_BROKER
from cupool.errors import ConfigurationError

SYSTEM_FILE = "/etc/cupool/config.toml"
CARRIERS = ("auto", "unix", "ipc", "tcp", "grpc")

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|d|)", re.IGNORECASE)
_BANDWIDTH = re.compile(r"(\d+(?:\.\d+)?)\s*([mgt]?)(?:bit(?:/s)?|bps)?", re.IGNORECASE)
_CAPABILITY = re.compile(r"\d{1,2}(?:\.\d{1,2})?")
PRIORITIES = ("low", "normal", "high", "urgent")
ENCRYPTION = ("auto", "on", "off")
SPREADS = ("", "same-server", "same-rack", "same-zone", "spread")
_MANY = 1 << 31
_SECONDS = {"ms": 0.001, "": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


# ---------------------------------------------------------------- values


def size(value: object) -> int:
    """Read a size in bytes: 4GiB, 512M, 1.5g (all binary), 4GB and 4096 as well."""
    match = _SIZE.fullmatch(str(value).strip())
    if isinstance(value, bool) or match is None:
        raise ValueError("must be a size, e.g. 4GiB or 512MiB")
    number, prefix = match[1], match[2].lower()
    return int(float(number) * 1024 ** ("kmgt".index(prefix) + 1 if prefix else 0))


def amount(value: object) -> int:
    """Read how much memory is wanted, in bytes; none is a mistake, not a wish."""
    if (wanted := size(value)) == 0:
        raise ValueError("must be more than 0; leave it out for a whole GPU")
    return wanted


def duration(value: object) -> float:
    """Read a time in seconds: 30m, 10s, 500ms, 2h, 1d, or a number of seconds."""
    match = _DURATION.fullmatch(str(value).strip())
    if isinstance(value, bool) or match is None:
        raise ValueError("must be a time, e.g. 30s, 10m or 2h")
    return float(match[1]) * _SECONDS[match[2].lower()]


def boolean(value: object) -> bool:
    """Read a switch: 1, true, yes, on or 0, false, no, off, or nothing."""
    text = str(value).strip().lower()
    if text in ("1", "true", "yes", "on"):
        return True
    if text in ("", "0", "false", "no", "off"):
        return False
    raise ValueError("must be 1 or 0")


def text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a text")
    return value.strip()


def token(value: object) -> str:
    """Read a secret that travels in a header."""
    literal = text(value)
    if not (literal.isascii() and (literal.isprintable() or not literal)):
        raise ValueError("must be printable ASCII")
    return literal


def carrier(value: object) -> str:
    if value not in CARRIERS:
        raise ValueError(f"must be one of {', '.join(CARRIERS)}")
    return str(value)


def part(value: object) -> int:
    """Read a part of a GPU's compute, in thousandths: 0.5, 50% (-> 500)."""
    literal = str(value).strip()
    number = literal.removesuffix("%")
    try:
        fraction = float(number) / (100.0 if literal.endswith("%") else 1.0)
    except ValueError:
        fraction = -1.0
    milli = round(fraction * 1000) if 0 <= fraction <= 1 else 0
    if isinstance(value, bool) or milli == 0:
        raise ValueError("must be a part of a GPU: 0.001 to 1, or 1% to 100%")
    return milli


def speed(value: object) -> int:
    """Read a bandwidth in Mbit/s: 25Gbit, 500Mbit, or a number of Mbit/s."""
    match = _BANDWIDTH.fullmatch(str(value).strip())
    if isinstance(value, bool) or match is None:
        raise ValueError("must be a bandwidth, e.g. 25Gbit or 500Mbit")
    return int(float(match[1]) * {"": 1, "m": 1, "g": 1000, "t": 1_000_000}[match[2].lower()])


def urgency(value: object) -> int:
    """Read a priority: low, normal, high, urgent, or 0 to 3."""
    literal = str(value).strip().lower()
    if literal in PRIORITIES:
        return PRIORITIES.index(literal)
    if literal in ("0", "1", "2", "3") and not isinstance(value, bool):
        return int(literal)
    raise ValueError(f"must be one of {', '.join(PRIORITIES)}")


def compute(value: object) -> str:
    """Read a compute capability: 8.0, or "" for any."""
    literal = str(value).strip()
    if literal and not _CAPABILITY.fullmatch(literal):
        raise ValueError("must be a compute capability, e.g. 8.0")
    return literal


def spreading(value: object) -> str:
    if value not in SPREADS:
        raise ValueError(f"must be one of {', '.join(SPREADS[1:])}, or nothing")
    return str(value)


def price(value: object) -> float:
    """Read a price relative to others: 1, 2.5."""
    try:
        number = float(str(value))
    except ValueError:
        number = -1.0
    if isinstance(value, bool) or not 0.001 <= number <= 1e6:
        raise ValueError("must be a price relative to other GPUs, e.g. 2.5")
    return number


def encryption(value: object) -> str:
    """Read whether data is encrypted: auto (where other machines could listen), on, off."""
    if value not in ENCRYPTION:
        raise ValueError(f"must be one of {', '.join(ENCRYPTION)}")
    return str(value)


def signal_name(value: object) -> str:
    """Read the name of a signal, "" for none: TERM, SIGUSR1."""
    import signal

    literal = str(value).strip().upper()
    name = literal if not literal or literal.startswith("SIG") else f"SIG{literal}"
    if name and name not in signal.Signals.__members__:
        raise ValueError("must be a signal, e.g. SIGUSR1 or TERM")
    return name


def words(value: object) -> tuple[str, ...]:
    """Read names separated by commas, or a list of a configuration file."""
    items = value if isinstance(value, (list, tuple)) else str(value).split(",")
    if not all(isinstance(item, str) for item in items):
        raise ValueError("must be names, separated by commas")
    return tuple(item.strip() for item in items if item.strip())


def whole(least: int, most: int = _MANY) -> Callable[[object], int]:
    """Make a reader of whole numbers within bounds."""

    def read(value: object) -> int:
        literal = str(value).strip()
        number = int(literal) if literal.isdecimal() and not isinstance(value, bool) else -1
        if not least <= number <= most:
            bounds = f"of at least {least}" if most == _MANY else f"from {least} to {most}"
            raise ValueError(f"must be a whole number {bounds}")
        return number

    return read


# ---------------------------------------------------------------- the table


def _setting(
    env: str, default: Any, read: Callable[[object], Any], doc: str, *, secret: bool = False
) -> Any:
    metadata = {"env": env, "read": read, "doc": doc, "secret": secret}
    return field(default=default, metadata=metadata, repr=not secret)


@dataclass(frozen=True)
class Settings:
    """The values in force; the comments of `_setting` are what `cupool config` explains."""

    pool: str = _setting(
        "CUPOOL_POOL", "", text, "address of the broker, or of several; empty: one's own pool"
    )
    gpus: int = _setting(
        "CUPOOL_GPUS",
        0,
        whole(1, 1024),
        "how many GPUs the script sees; if not said: one of a pool, all mock GPUs of one's own",
    )
    memory: int = _setting(
        "CUPOOL_MEMORY", 0, amount, "memory on each GPU; if not said: the whole GPU, alone"
    )
    share: int = _setting(
        "CUPOOL_SHARE", 0, part, "part of each GPU's compute that is promised, e.g. 0.5"
    )
    cap: int = _setting("CUPOOL_CAP", 0, part, "part of each GPU's compute never to exceed")
    gpu_model: tuple[str, ...] = _setting(
        "CUPOOL_GPU_MODEL", (), words, "only these models, e.g. H100 or H100,A100"
    )
    min_compute_capability: str = _setting(
        "CUPOOL_MIN_COMPUTE_CAPABILITY", "", compute, "least compute capability, e.g. 8.0"
    )
    priority: int = _setting(
        "CUPOOL_PRIORITY", 1, urgency, "how urgent it is: " + ", ".join(PRIORITIES)
    )
    tenant: str = _setting("CUPOOL_TENANT", "", text, "on whose account; empty: 'default'")
    tenant_token: str = _setting(
        "CUPOOL_TENANT_TOKEN", "", token, "proves to the broker who the tenant is", secret=True
    )
    spread: str = _setting(
        "CUPOOL_SPREAD",
        "",
        spreading,
        "same-server, same-rack, same-zone: all GPUs in one; spread: a server for each",
    )
    bandwidth: int = _setting(
        "CUPOOL_BANDWIDTH", 0, speed, "network to each GPU's server, e.g. 25Gbit (in Mbit/s)"
    )
    zone: str = _setting("CUPOOL_ZONE", "", text, "only servers of this zone")
    policy: str = _setting(
        "CUPOOL_POLICY", "", text, "how a place is chosen: bestfit, fgd, spread, random"
    )
    max_time: float = _setting(
        "CUPOOL_MAX_TIME", 0.0, duration, "the GPUs are given back after so long; 0: no limit"
    )
    overcommit: bool = _setting(
        "CUPOOL_OVERCOMMIT", False, boolean, "take a GPU whose compute is given away, and queue"
    )
    tolerate: tuple[str, ...] = _setting(
        "CUPOOL_TOLERATE", (), words, "taints of GPUs to put up with"
    )
    wait: float = _setting(
        "CUPOOL_WAIT", 10.0, duration, "how long to wait in line for a GPU, in seconds"
    )
    group_wait: float = _setting(
        "CUPOOL_GROUP_WAIT",
        120.0,
        duration,
        "how long the members of a process group wait for those that have not come, in seconds",
    )
    notice_signal: str = _setting(
        "CUPOOL_NOTICE_SIGNAL", "", signal_name, "signal to the script when its GPU will be taken"
    )
    carrier: str = _setting(
        "CUPOOL_CARRIER", "auto", carrier, "how data travels: " + ", ".join(CARRIERS)
    )
    encrypt: str = _setting(
        "CUPOOL_ENCRYPT",
        "auto",
        encryption,
        "encrypted data: auto: what `serve` sends to other machines; on: nothing else; off: never",
    )
    ca: str = _setting(
        "CUPOOL_CA",
        "",
        text,
        "file of certificates that a grpcs:// broker may have; empty: system's",
    )
    mock: int = _setting(
        "CUPOOL_MOCK",
        0,
        whole(0, 64),
        "mock GPUs of one's own pool; 0: a real GPU or else one mock",
    )
    mock_memory: int = _setting(
        "CUPOOL_MOCK_MEMORY", 4 << 30, amount, "memory of a mock GPU, in bytes"
    )
    mock_model: str = _setting("CUPOOL_MOCK_MODEL", "", text, "model that a mock GPU mimics")
    mock_race: int = _setting(
        "CUPOOL_MOCK_RACE",
        0,
        whole(0),
        "seed of the order in which mock GPUs run what streams leave unordered; 0: as it comes",
    )
    mock_kernel_time: float = _setting(
        "CUPOOL_MOCK_KERNEL_TIME",
        60.0,
        duration,
        "how long a user kernel may run on a mock GPU, in seconds; then it fails with error 702",
    )
    mock_memory_check: bool = _setting(
        "CUPOOL_MOCK_MEMORY_CHECK",
        True,
        boolean,
        "compare each access of user kernels on a mock GPU with what is allocated",
    )
    stats: bool = _setting(
        "CUPOOL_STATS", False, boolean, "print what travelled and what waited, at the end"
    )
    blocking: bool = _setting(
        "CUPOOL_BLOCKING", False, boolean, "wait after each operation: errors at the user's line"
    )
    verbose: bool = _setting(
        "CUPOOL_VERBOSE", False, boolean, "say on stderr which GPUs were granted"
    )
    broker: str = _setting(
        "CUPOOL_BROKER",
        DEFAULT_BROKER,
        text,
        "address of the broker that `serve` joins, or of several",
    )
    listen: str = _setting(
        "CUPOOL_LISTEN", DEFAULT_BROKER, text, "address at which `broker` listens"
    )
    name: str = _setting("CUPOOL_NAME", "", text, "name of this server; empty: the machine's name")
    data_host: str = _setting(
        "CUPOOL_DATA_HOST", "127.0.0.1", text, "address at which sessions of `serve` listen"
    )
    server_zone: str = _setting("CUPOOL_SERVER_ZONE", "", text, "zone in which `serve` is")
    rack: str = _setting("CUPOOL_RACK", "", text, "rack in which `serve` is")
    partition: str = _setting(
        "CUPOOL_PARTITION", "", text, "partition for whose tenants `serve` is there"
    )
    partition_hosts: tuple[str, ...] = _setting(
        "CUPOOL_PARTITION_HOSTS", (), words, "where a partition's sessions listen: NAME=HOST,..."
    )
    link: int = _setting(
        "CUPOOL_LINK", 0, speed, "network of the server, e.g. 100Gbit; 0: what Linux says"
    )
    taints: tuple[str, ...] = _setting(
        "CUPOOL_TAINTS", (), words, "only requests that tolerate these come to `serve`"
    )
    cost: float = _setting(
        "CUPOOL_COST", 1.0, price, "price of its GPUs relative to others: the cheapest go first"
    )
    audit_log: str = _setting(
        "CUPOOL_AUDIT_LOG", "", text, "file in which `broker` writes down its decisions"
    )
    state: str = _setting(
        "CUPOOL_STATE", "", text, "where `broker` keeps its state: a file, or etcd://HOST:PORT,..."
    )
    etcd_ca: str = _setting(
        "CUPOOL_ETCD_CA", "", text, "file of the authority that vouches for etcds://HOST:PORT,..."
    )
    etcd_cert: str = _setting(
        "CUPOOL_ETCD_CERT", "", text, "file of the certificate by which etcd knows `broker`"
    )
    etcd_key: str = _setting("CUPOOL_ETCD_KEY", "", text, "file of that certificate's private key")
    tenants: str = _setting(
        "CUPOOL_TENANTS", "", text, "file in which `broker` finds the tenants' tokens"
    )
    tls_cert: str = _setting(
        "CUPOOL_TLS_CERT", "", text, "file of the certificate chain with which `broker` speaks TLS"
    )
    tls_key: str = _setting("CUPOOL_TLS_KEY", "", text, "file of that certificate's private key")
    server_token: str = _setting(
        "CUPOOL_SERVER_TOKEN", "", token, "proves to the broker that `serve` may join", secret=True
    )
    warm: int = _setting("CUPOOL_WARM", 1, whole(0, 64), "workers that `serve` keeps ready")
    grace: float = _setting(
        "CUPOOL_GRACE", 30.0, duration, "how long `serve` keeps a session whose client is away"
    )
    drain_timeout: float = _setting(
        "CUPOOL_DRAIN_TIMEOUT", 25.0, duration, "how long a stopping server waits for its sessions"
    )


@dataclass(frozen=True)
class Loaded:
    """Settings, and for each where it came from: "flag", "environment", a file, or "default"."""

    settings: Settings
    origins: dict[str, str]


def load(
    flags: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
    files: list[str] | None = None,
) -> Loaded:
    """Find every setting's value.

    Args:
        flags: values from the command line, by name; None means not given.
        files: instead of the usual ones, first wins.

    Raises:
        ConfigurationError: a value is wrong; names the place and key.
    """
    environ = os.environ if environ is None else environ
    tables = [(path, _read(path)) for path in (config_files(environ) if files is None else files)]
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for setting in fields(Settings):
        name, env = setting.name, setting.metadata["env"]
        given, where, key = None, "default", ""
        if flags and flags.get(name) is not None:
            given, where, key = flags[name], "flag", f"--{name.replace('_', '-')}"
        elif env in environ:
            given, where, key = environ[env], "environment", f"the environment variable {env}"
        else:
            for path, table in tables:
                if name in table:
                    given, where, key = table[name], path, f"{name} in {path}"
                    break
        origins[name] = where
        values[name] = setting.default if where == "default" else _parse(setting, given, key)
    return Loaded(Settings(**values), origins)


def _parse(setting: Any, given: object, key: str) -> Any:
    try:
        return setting.metadata["read"](given)
    except ValueError as exc:
        said = "not usable" if setting.metadata["secret"] else repr(given)
        raise ConfigurationError(f"{key} is {said}: {exc}") from None


def config_files(environ: Mapping[str, str]) -> list[str]:
    """Return the configuration files to read, the one that wins first.

    Raises:
        ConfigurationError: CUPOOL_CONFIG names a file that is not there.
    """
    named = environ.get("CUPOOL_CONFIG", "")
    if named:
        if not os.path.isfile(named):
            raise ConfigurationError(f"CUPOOL_CONFIG names {named}, and there is no such file")
        return [named]
    base = environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".config")
    usual = [os.path.join(base, "cupool", "config.toml"), SYSTEM_FILE]
    return [path for path in usual if os.path.isfile(path)]


def _read(path: str) -> dict[str, Any]:
    import tomllib

    try:
        with open(path, "rb") as file:
            table = tomllib.load(file)
    except (OSError, ValueError) as exc:
        raise ConfigurationError(f"the configuration file {path} cannot be read: {exc}") from None
    unknown = sorted(table.keys() - {setting.name for setting in fields(Settings)})
    if unknown:
        raise ConfigurationError(f"{path} sets {', '.join(unknown)}, and there is no such setting")
    return table
