"""Pods that ask for remote GPUs: what the webhook makes of them, and its HTTPS server."""

from __future__ import annotations

import base64
import copy
import json
import os
import shutil
import ssl
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cupool.config import load
from cupool.errors import ConfigurationError
from cupool.pool_server.kubernetes import quantities, webhook
from cupool.pool_server.kubernetes.asks import Contradiction
from cupool.pool_server.kubernetes.mutation import Target, patches_of, review

TARGET = Target("grpc://cupool-broker.cupool:7475")
Pod = dict[str, Any]


def pod(*limits: dict[str, Any], annotations: dict[str, str] | None = None, **more: Any) -> Pod:
    """A pod with a container for each table of limits."""
    containers = [
        {"name": f"c{index}", "image": "x", "resources": {"limits": dict(each)}} | more
        for index, each in enumerate(limits)
    ]
    metadata: dict[str, Any] = {"name": "p"}
    if annotations is not None:
        metadata["annotations"] = dict(annotations)
    return {"kind": "Pod", "metadata": metadata, "spec": {"containers": containers}}


TOKEN = "CUPOOL_TENANT_TOKEN"


def patched(given: Pod, namespace: str = "team-a") -> Pod:
    """Apply the patches as the API server does: RFC 6902's add and remove."""
    result = copy.deepcopy(given)
    for patch in patches_of(given, namespace, TARGET):
        *path, last = [
            word.replace("~1", "/").replace("~0", "~") for word in patch["path"].split("/")[1:]
        ]
        at: Any = result
        for word in path:
            at = at[int(word)] if isinstance(at, list) else at[word]
        if patch["op"] == "remove":
            del at[last]
        elif isinstance(at, list):
            assert last == "-"
            at.append(patch["value"])
        else:
            at[last] = patch["value"]
    return result


def variables(given: Pod, index: int = 0) -> dict[str, str]:
    found = patched(given)["spec"]["containers"][index].get("env", [])
    assert not ours(found) or secret_of(found) == {
        "name": "cupool-tenant",
        "key": "token",
        "optional": True,
    }
    return {each["name"]: each["value"] for each in found if each["name"] in ours(found)}


def ours(found: list[dict[str, Any]]) -> list[str]:
    names = [each["name"] for each in found]
    return [each for each in names if each.startswith("CUPOOL_") and each != TOKEN]


def secret_of(found: list[dict[str, Any]]) -> Any:
    """Return the reference to the tenant's token, in a container's environment."""
    (token,) = [each for each in found if each["name"] == TOKEN]
    return token["valueFrom"]["secretKeyRef"]


HERE = {"CUPOOL_POOL": TARGET.pool, "CUPOOL_TENANT": "team-a", "CUPOOL_WAIT": "10m"}


@pytest.mark.parametrize(
    ("limits", "annotations", "expected"),
    [
        ({"cupool.dev/gpu": "2"}, {}, {"CUPOOL_GPUS": "2"}),
        ({"cupool.dev/gpu": 1}, {}, {"CUPOOL_GPUS": "1"}),
        (
            {"cupool.dev/gpu-memory": "10Gi", "cupool.dev/gpu-share": "25"},
            {},
            {"CUPOOL_GPUS": "1", "CUPOOL_MEMORY": "10240MiB", "CUPOOL_SHARE": "0.25"},
        ),
        (
            {"cupool.dev/gpu": "2", "memory": "1Gi"},
            {"cupool.dev/gpu-model": "H100,A100", "cupool.dev/priority": "high"},
            {"CUPOOL_GPUS": "2", "CUPOOL_GPU_MODEL": "H100,A100", "CUPOOL_PRIORITY": "high"},
        ),
        (
            {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "3000", "nvidia.com/gpucores": "30"},
            {
                "cupool.dev/remote": "true",
                "nvidia.com/use-gputype": "A100",
                "hami.io/gpu-scheduler-policy": "binpack",
            },
            {
                "CUPOOL_GPUS": "1",
                "CUPOOL_MEMORY": "3000MiB",
                "CUPOOL_SHARE": "0.3",
                "CUPOOL_GPU_MODEL": "A100",
                "CUPOOL_POLICY": "bestfit",
            },
        ),
        (
            {"cpu": "1"},
            {"cupool.dev/remote": "true", "gpu-fraction": "0.5", "gpu-fraction-num-devices": "2"},
            {"CUPOOL_GPUS": "2", "CUPOOL_SHARE": "0.5"},
        ),
        (
            {},
            {"cupool.dev/remote": "true", "gpu-memory": "2000"},
            {"CUPOOL_GPUS": "1", "CUPOOL_MEMORY": "2000MiB"},
        ),
    ],
)
def test_a_request_becomes_environment_that_cupool_reads(
    limits: dict[str, Any], annotations: dict[str, str], expected: dict[str, str]
) -> None:
    given = pod(limits, annotations=annotations)
    found = variables(given)
    assert found == HERE | expected
    settings = load(environ=found, files=[]).settings
    assert settings.gpus == int(expected["CUPOOL_GPUS"]) and settings.wait == 600.0
    left = patched(given)["spec"]["containers"][0]["resources"]["limits"]
    assert not [name for name in left if "/" in name]
    assert patches_of(patched(given), "team-a", TARGET) == []


@pytest.mark.parametrize(
    ("limits", "annotations"),
    [
        ({"nvidia.com/gpu": "1"}, None),
        ({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "3000"}, {}),
        ({"cpu": "1"}, {"gpu-fraction": "0.5"}),
        ({"cpu": "1"}, {"cupool.dev/remote": "true", "cupool.dev/priority": "high"}),
        ({"cupool.dev/gpu": "1"}, {"cupool.dev/remote": "false"}),
    ],
)
def test_other_pods_are_left_alone(
    limits: dict[str, Any], annotations: dict[str, str] | None
) -> None:
    assert patches_of(pod(limits, annotations=annotations), "team-a", TARGET) == []


def test_each_container_has_its_own_request() -> None:
    given = pod({"cupool.dev/gpu": "2"}, {"cpu": "1"}, {"cupool.dev/gpu-memory": "1Gi"})
    given["spec"]["initContainers"] = [
        {"name": "first", "resources": {"requests": {"cupool.dev/gpu": 1}}}
    ]
    assert variables(given, 0)["CUPOOL_GPUS"] == "2"
    assert variables(given, 1) == {}
    assert variables(given, 2)["CUPOOL_MEMORY"] == "1024MiB"
    after = patched(given)
    assert {"name": "CUPOOL_GPUS", "value": "1"} in after["spec"]["initContainers"][0]["env"]
    assert after["spec"]["initContainers"][0]["resources"]["requests"] == {}
    assert after["metadata"]["annotations"] == {"cupool.dev/injected": "first,c0,c2"}


def test_what_is_set_already_stays() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "CUPOOL_POOL", "value": "grpc://other:1"}]
    given = pod({"cupool.dev/gpu": "1"}, annotations={"a/b": "c"}, env=env)
    after = patched(given)
    assert after["spec"]["containers"][0]["env"][:2] == env
    assert variables(given)["CUPOOL_POOL"] == "grpc://other:1"
    assert after["metadata"]["annotations"]["a/b"] == "c"


def test_a_container_may_want_none() -> None:
    given = pod({"cupool.dev/gpu": "0"})
    assert variables(given) == {}
    assert patched(given)["spec"]["containers"][0]["resources"]["limits"] == {}


REMOTE = {"cupool.dev/remote": "true"}


@pytest.mark.parametrize(
    ("limits", "annotations", "words"),
    [
        ({"cupool.dev/gpu": "1", "nvidia.com/gpu": "1"}, {}, "local"),
        ({"cupool.dev/gpu": "1", "nvidia.com/gpu": "2"}, REMOTE, "cupool.dev/gpu says 1"),
        ({"cupool.dev/gpu": "0", "cupool.dev/gpu-memory": "1Gi"}, {}, "0 GPUs"),
        ({"cupool.dev/gpu-memory": "4000"}, {}, "4000Mi"),
        ({"cupool.dev/gpu-share": "101"}, {}, "100 per cent"),
        ({"cupool.dev/gpu": "some"}, {}, "must be a quantity"),
        ({"cupool.dev/gpu": "1500m"}, {}, "whole number"),
        ({"cupool.dev/gpu": "1"}, {"cupool.dev/priority": "utmost"}, "must be one of low"),
        ({"cupool.dev/gpu": "1"}, {"cupool.dev/max-time": "soon"}, "must be a time"),
        ({"cupool.dev/gpu": "1"}, {"cupool.dev/remote": "perhaps"}, '"true" or "false"'),
        ({"cupool.dev/gpu-share": "50"}, {"cupool.dev/cap": "0.4"}, "less than the share"),
        ({"nvidia.com/gpucores": "30"}, REMOTE | {"gpu-fraction": "0.5"}, "say it once"),
        (
            {"nvidia.com/gpu": "1"},
            REMOTE | {"hami.io/gpu-scheduler-policy": "best"},
            "binpack or spread",
        ),
    ],
)
def test_contradictions_are_refused(
    limits: dict[str, Any], annotations: dict[str, str], words: str
) -> None:
    with pytest.raises(Contradiction, match=words):
        patches_of(pod(limits, annotations=annotations), "team-a", TARGET)


def test_a_tenant_is_its_namespace() -> None:
    env = [{"name": "CUPOOL_TENANT", "value": "team-b"}]
    with pytest.raises(Contradiction, match=r"container 'c0'.*CUPOOL_TENANT to team-b"):
        patches_of(pod({"cupool.dev/gpu": "1"}, env=env), "team-a", TARGET)
    assert variables(pod({"cupool.dev/gpu": "1"}))["CUPOOL_TENANT"] == "team-a"


def test_limits_and_requests_must_agree() -> None:
    given = pod({"cupool.dev/gpu": "1"})
    given["spec"]["containers"][0]["resources"]["requests"] = {"cupool.dev/gpu": "2"}
    with pytest.raises(Contradiction, match="limits say 1, requests 2"):
        patches_of(given, "team-a", TARGET)


@pytest.mark.parametrize(
    ("text", "value"),
    [("2", 2), ("10Gi", 10 << 30), ("4e3", 4000), ("2.5Ki", 2560), ("3000M", 3 * 10**9), (7, 7)],
)
def test_quantities(text: object, value: int) -> None:
    assert quantities.whole(text) == value


@pytest.mark.parametrize("text", ["", "Gi", "1Q", "1 Gi x", "-1", True, None, "1.5", "0x10"])
def test_what_is_no_quantity(text: object) -> None:
    with pytest.raises(ValueError):
        quantities.whole(text)


# ---------------------------------------------------------------- the server


def admission(given: Pod) -> dict[str, Any]:
    asked = {"uid": "u1", "kind": {"kind": "Pod"}, "namespace": "team-a", "object": given}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}


def test_a_review_is_answered() -> None:
    answer = review(admission(pod({"cupool.dev/gpu": "1"})), TARGET)["response"]
    assert answer["uid"] == "u1" and answer["allowed"] and answer["patchType"] == "JSONPatch"
    patches = json.loads(base64.b64decode(answer["patch"]))
    assert patches == patches_of(pod({"cupool.dev/gpu": "1"}), "team-a", TARGET)
    assert review(admission(pod({})), TARGET)["response"] == {"uid": "u1", "allowed": True}
    refused = review(admission(pod({"cupool.dev/gpu": "x"})), TARGET)["response"]
    assert not refused["allowed"] and refused["status"]["message"].startswith("cupool: container")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed: no certificate can be made")
    folder: Path = tmp_path_factory.mktemp("tls")
    cert, key = str(folder / "tls.crt"), str(folder / "tls.key")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        [*command, "-keyout", key, "-out", cert], check=True, capture_output=True, timeout=60
    )
    return cert, key


@pytest.fixture
def url(pair: tuple[str, str]) -> Iterator[str]:
    served = webhook.server("127.0.0.1:0", *pair, TARGET)
    thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"https://127.0.0.1:{served.server_address[1]}"
    served.shutdown()
    thread.join()
    served.server_close()


def post(url: str, body: bytes, cert: str) -> tuple[int, bytes]:
    context = ssl.create_default_context(cafile=cert)
    try:
        with urllib.request.urlopen(url, data=body, timeout=20, context=context) as reply:
            return reply.status, reply.read()
    except urllib.error.HTTPError as exc:
        with exc:
            return exc.code, exc.read()


def test_the_server_answers_over_https(url: str, pair: tuple[str, str]) -> None:
    given = admission(pod({"cupool.dev/gpu": "1"}))
    code, body = post(f"{url}/mutate?timeout=10s", json.dumps(given).encode(), pair[0])
    assert code == 200 and json.loads(body) == review(given, TARGET)
    for wrong in (b"{", b"[]", b'{"kind": "Pod"}', b"[" * 100_000):
        assert post(f"{url}/mutate", wrong, pair[0])[0] == 400
    assert post(f"{url}/other", b"{}", pair[0])[0] == 404
    context = ssl.create_default_context(cafile=pair[0])
    with urllib.request.urlopen(f"{url}/healthz", timeout=20, context=context) as reply:
        assert reply.read() == b"ok\n"


def test_a_certificate_that_is_replaced_is_read_again(
    pair: tuple[str, str], tmp_path: Path
) -> None:
    paths = [shutil.copy(each, tmp_path) for each in pair]
    certificate = webhook.Certificate(*paths)
    before = certificate.context()
    assert certificate.context() is before
    Path(paths[0]).write_text("half a file")
    os.utime(paths[0], (1, 1))
    assert certificate.context() is before
    shutil.copy(pair[0], paths[0])
    os.utime(paths[0], (2, 2))
    assert certificate.context() is not before


def test_what_the_server_cannot_use(pair: tuple[str, str], tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="HOST:PORT"):
        webhook.server("8443", *pair, TARGET)
    with pytest.raises(ConfigurationError, match="cannot be used"):
        webhook.server("127.0.0.1:0", str(tmp_path / "none.crt"), pair[1], TARGET)
