"""The webhook's rule as a pure function: a pod in, JSON patches (RFC 6902) out.

Each container that asks for GPUs of the pool gets its request as environment variables, which
`cupool run` and `import cupool.auto` read, and loses the extended resources: no node has them.
Applied to its own result the function changes nothing.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cupool.pool_server.kubernetes import asks
from cupool.pool_server.kubernetes.asks import Ask, Contradiction, Json

Patch = dict[str, Any]

_KINDS = ("initContainers", "containers")
_TOKEN: Json = {
    "name": asks.env_name("tenant_token"),
    "valueFrom": {"secretKeyRef": {"name": "cupool-tenant", "key": "token", "optional": True}},
}
"""Where the namespace proves to the broker that it is the tenant, if it has to."""


@dataclass(frozen=True)
class Target:
    """Where pods are sent.

    Attributes:
        pool: address of the broker as pods reach it.
        wait: how long a pod waits in line that does not say so itself.
    """

    pool: str
    wait: str = "10m"


def review(request: Json, target: Target) -> dict[str, Any]:
    """Answer an AdmissionReview (admission.k8s.io/v1).

    Raises:
        ValueError: it is none.
    """
    asked = request.get("request")
    if request.get("kind") != "AdmissionReview" or not isinstance(asked, dict):
        raise ValueError("this is no AdmissionReview")
    answer: dict[str, Any] = {"uid": str(asked.get("uid", "")), "allowed": True}
    pod = asked.get("object")
    if isinstance(pod, dict) and (asked.get("kind") or {}).get("kind") == "Pod":
        try:
            patches = patches_of(pod, str(asked.get("namespace") or "default"), target)
        except Contradiction as exc:
            status = {"code": 422, "reason": "Invalid", "message": f"cupool: {exc}"}
            answer |= {"allowed": False, "status": status}
        else:
            if patches:
                text = json.dumps(patches).encode()
                answer |= {"patchType": "JSONPatch", "patch": base64.b64encode(text).decode()}
    return {
        "apiVersion": request.get("apiVersion", "admission.k8s.io/v1"),
        "kind": "AdmissionReview",
        "response": answer,
    }


def patches_of(pod: Json, namespace: str, target: Target) -> list[Patch]:
    """Return the patches that send a pod's containers to the pool; none if they want nothing.

    Raises:
        Contradiction: names the container and what does not fit together.
    """
    annotations = dict((pod.get("metadata") or {}).get("annotations") or {})
    remote = str(annotations.get(asks.REMOTE, "")).lower()
    if remote not in ("", "true", "false"):
        raise Contradiction(f'annotation {asks.REMOTE} is {remote!r}; it must be "true" or "false"')
    if remote == "false":
        return []
    patches: list[Patch] = []
    names: list[str] = []
    for path, container, ask in _asking(pod, annotations, aliases=remote == "true"):
        try:
            patches += _environment(path, container, _values(ask, namespace, target))
        except Contradiction as exc:
            raise Contradiction(f"container {container.get('name')!r}: {exc}") from None
        patches += _without(path, container, ask.resources)
        names.append(str(container.get("name")))
    if names:
        patches.append(_mark(pod, names))
    return patches


def _asking(pod: Json, annotations: Json, *, aliases: bool) -> Iterator[tuple[str, Json, Ask]]:
    """Yield each container that wants GPUs of the pool: its path, itself, what it wants."""
    spec = pod.get("spec") or {}
    first = str((((spec.get("containers") or [{}])[0]) or {}).get("name"))
    meant = str(annotations.get(asks.KAI_CONTAINER, first))
    done = str(annotations.get(asks.INJECTED, "")).split(",")
    for kind in _KINDS:
        for index, container in enumerate(spec.get(kind) or []):
            name = str(container.get("name"))
            kai = aliases and kind == "containers" and name == meant and name not in done
            try:
                ask = asks.ask_of(container, annotations, aliases=aliases, kai=kai)
            except Contradiction as exc:
                raise Contradiction(f"container {name!r}: {exc}") from None
            if ask is not None:
                yield f"/spec/{kind}/{index}", container, ask


def _values(ask: Ask, namespace: str, target: Target) -> dict[str, str]:
    """Return the environment of a container; a container that wants 0 GPUs gets none."""
    if ask.settings["gpus"] == "0":
        return {}
    settings = {"pool": target.pool, "tenant": namespace, "wait": target.wait} | ask.settings
    return {asks.env_name(name): value for name, value in settings.items()}


def _environment(path: str, container: Json, values: dict[str, str]) -> list[Patch]:
    """Add variables; those that are there already must say the same, except which pool."""
    present = {str(each.get("name")): each for each in container.get("env") or []}
    free = (asks.env_name("pool"), asks.env_name("wait"))
    missing = [] if _TOKEN["name"] in present or not values else [_TOKEN]
    for name, value in values.items():
        if name not in present:
            missing.append({"name": name, "value": value})
        elif name not in free and present[name].get("value") != value:
            said = present[name].get("value", "something from elsewhere")
            raise Contradiction(
                f"its environment sets {name} to {said}, its request means {value}; "
                "leave the variable out"
            )
    if missing and not container.get("env"):
        return [{"op": "add", "path": f"{path}/env", "value": missing}]
    return [{"op": "add", "path": f"{path}/env/-", "value": each} for each in missing]


def _without(path: str, container: Json, names: tuple[str, ...]) -> list[Patch]:
    found = container.get("resources") or {}
    return [
        {"op": "remove", "path": f"{path}/resources/{part}/{_escaped(name)}"}
        for part in ("limits", "requests")
        for name in names
        if name in (found.get(part) or {})
    ]


def _mark(pod: Json, names: list[str]) -> Patch:
    annotations = (pod.get("metadata") or {}).get("annotations")
    before = str((annotations or {}).get(asks.INJECTED, ""))
    value = ",".join(dict.fromkeys([*before.split(",")] * bool(before) + names))
    if not annotations:
        return {"op": "add", "path": "/metadata/annotations", "value": {asks.INJECTED: value}}
    return {"op": "add", "path": f"/metadata/annotations/{_escaped(asks.INJECTED)}", "value": value}


def _escaped(key: str) -> str:
    """Write a key within a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")
