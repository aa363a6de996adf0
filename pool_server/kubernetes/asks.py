"""What a container asks the pool for: read from its resources and its pod's annotations.

The names are cupool's own, and as aliases those of HAMi and of KAI-Scheduler, so that a pod that
was written for one of them can be sent to the pool by one annotation (`REMOTE`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from cupool.config import Settings, part
from cupool.pool_server.kubernetes.quantities import whole

Json: TypeAlias = Mapping[str, Any]

REMOTE = "cupool.dev/remote"
"""Annotation of a pod: "true" = aliases mean GPUs of the pool, "false" = leave it alone."""
INJECTED = "cupool.dev/injected"
"""Annotation that says which containers have been given their environment."""
PREFIX = "cupool.dev/"
_MIB = 1 << 20


class Contradiction(ValueError):
    """What a pod asks for cannot be meant; the text is for who wrote the pod."""


def _gpus(value: object) -> str:
    return str(whole(value))


def _memory(value: object) -> str:
    size = whole(value)
    if 0 < size < _MIB:
        raise ValueError(f"these are bytes, and less than 1 MiB; write {size}Mi for MiB")
    return f"{-(-size // _MIB)}MiB"


def _memory_mib(value: object) -> str:
    return f"{whole(value)}MiB"


def _per_cent(value: object) -> str:
    amount = whole(value)
    if amount > 100:
        raise ValueError("must be 0 to 100 per cent")
    return _share(f"{amount}%") if amount else "0"


def _share(value: object) -> str:
    return f"{part(value) / 1000:g}"


def _policy(value: object) -> str:
    found = {"binpack": "bestfit", "spread": "spread"}.get(str(value))
    if found is None:
        raise ValueError("must be binpack or spread")
    return found


def _same(value: object) -> str:
    return str(value).strip()


Reader: TypeAlias = Callable[[object], str]

RESOURCES: dict[str, tuple[str, Reader]] = {
    "cupool.dev/gpu": ("gpus", _gpus),
    "cupool.dev/gpu-memory": ("memory", _memory),
    "cupool.dev/gpu-share": ("share", _per_cent),
}
"""Extended resources of a container: the setting that each is, and how its amount is read."""
ALIAS_RESOURCES: dict[str, tuple[str, Reader]] = {
    "nvidia.com/gpu": ("gpus", _gpus),
    "nvidia.com/gpumem": ("memory", _memory_mib),
    "nvidia.com/gpumem-percentage": ("share", _per_cent),
    "nvidia.com/gpucores": ("share", _per_cent),
}
"""HAMi's, for pods that say `REMOTE`."""
ANNOTATIONS: dict[str, tuple[str, Reader]] = {
    f"{PREFIX}{name.replace('_', '-')}": (name, _same)
    for name in (
        "cap",
        "gpu_model",
        "min_compute_capability",
        "priority",
        "spread",
        "bandwidth",
        "zone",
        "policy",
        "max_time",
        "overcommit",
        "tolerate",
        "wait",
        "notice_signal",
    )
}
"""Of a pod, in the words of `cupool run`; they hold for all its containers that ask for GPUs."""
ALIAS_ANNOTATIONS: dict[str, tuple[str, Reader]] = {
    "nvidia.com/use-gputype": ("gpu_model", _same),
    "hami.io/gpu-scheduler-policy": ("policy", _policy),
}
KAI_ANNOTATIONS: dict[str, tuple[str, Reader]] = {
    "gpu-fraction": ("share", _share),
    "gpu-memory": ("memory", _memory_mib),
    "gpu-fraction-num-devices": ("gpus", _gpus),
}
"""KAI's ask for GPUs by themselves: for the container that `KAI_CONTAINER` names, or the first."""
KAI_CONTAINER = "gpu-fraction-container-name"

_NOTHING = {"gpus": "0", "share": "0", "memory": "0MiB"}
"""Amounts that Kubernetes allows, and that ask for nothing."""
_SETTINGS = {setting.name: setting.metadata for setting in fields(Settings)}


def env_name(setting: str) -> str:
    """Return the environment variable of a setting."""
    name: str = _SETTINGS[setting]["env"]
    return name


@dataclass(frozen=True)
class Ask:
    """What one container wants.

    Attributes:
        settings: setting -> value, as the environment writes it.
        resources: names under `resources` that are the pool's business, not the kubelet's.
    """

    settings: dict[str, str]
    resources: tuple[str, ...]


def resources_of(container: Json) -> dict[str, object]:
    """Return the amounts of all resources of a container; requests and limits must agree.

    Raises:
        Contradiction: they do not, for a resource that we know.
    """
    found = container.get("resources") or {}
    limits, requests = dict(found.get("limits") or {}), dict(found.get("requests") or {})
    for name in limits.keys() & requests.keys() & (RESOURCES.keys() | ALIAS_RESOURCES.keys()):
        if str(limits[name]) != str(requests[name]):
            raise Contradiction(f"{name}: limits say {limits[name]}, requests {requests[name]}")
    return requests | limits


class Reading:
    """Collects settings from several places and insists that they agree."""

    def __init__(self) -> None:
        self.settings: dict[str, str] = {}
        self._from: dict[str, str] = {}

    def take(self, where: str, setting: str, read: Reader, value: object) -> None:
        """Read a value.

        Raises:
            Contradiction: it is wrong, or another place says something else.
        """
        try:
            text = read(value)
            if text != _NOTHING.get(setting):
                _SETTINGS[setting]["read"](text)
        except ValueError as exc:
            raise Contradiction(f"{where} is {value!r}: {exc}") from None
        before = self.settings.setdefault(setting, text)
        if before != text:
            raise Contradiction(
                f"{self._from[setting]} says {before}, {where} says {text}; say it once"
            )
        self._from.setdefault(setting, where)


def ask_of(container: Json, annotations: Json, *, aliases: bool, kai: bool) -> Ask | None:
    """Read what a container wants of the pool, None if nothing.

    Args:
        annotations: of its pod.
        aliases: HAMi's names count.
        kai: this is the container that KAI's annotations are about, and they count.

    Raises:
        Contradiction: says what does not fit together, in the pod's own words.
    """
    amounts = resources_of(container)
    reading = Reading()
    own = [name for name in RESOURCES if name in amounts]
    others = [name for name in ALIAS_RESOURCES if name in amounts]
    if own and "nvidia.com/gpu" in others and not aliases:
        raise Contradiction(
            f"it asks for {own[0]}, which is remote, and nvidia.com/gpu, which is local; "
            f'ask for one of them, or say that all are remote: annotation {REMOTE}: "true"'
        )
    for name in own:
        reading.take(name, *RESOURCES[name], amounts[name])
    for name in others if aliases else ():
        reading.take(name, *ALIAS_RESOURCES[name], amounts[name])
    for name, (setting, read) in KAI_ANNOTATIONS.items() if kai else ():
        if name in annotations:
            reading.take(f"annotation {name}", setting, read, annotations[name])
    if not reading.settings:
        return None
    described = ANNOTATIONS | (ALIAS_ANNOTATIONS if aliases else {})
    for name, (setting, read) in described.items():
        if name in annotations:
            reading.take(f"annotation {name}", setting, read, annotations[name])
    _check(reading.settings)
    return Ask(reading.settings, (*own, *(others if aliases else ())))


def _check(settings: dict[str, str]) -> None:
    """Drop what says nothing (a share of 0 %), and refuse what cannot be meant."""
    for name in ("share", "memory"):
        if settings.get(name) == _NOTHING[name]:
            del settings[name]
    if settings.setdefault("gpus", "1") == _NOTHING["gpus"]:
        if "memory" in settings or "share" in settings:
            raise Contradiction("it asks for a part of a GPU, and for 0 GPUs")
    cap, share = settings.get("cap"), settings.get("share")
    if cap and share and part(cap) < part(share):
        raise Contradiction(f"a cap of {cap} is less than the share it caps")
