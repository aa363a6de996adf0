"""Manifests and published objects against Kubernetes' schemas; publishing against a fake API."""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from cupool.pool_server.kubernetes import publisher, slices
from cupool.pool_server.kubernetes.mutation import Target, patches_of
from cupool.proto.v1 import pool_pb2 as pb

MANIFESTS = Path(__file__).resolve().parents[2] / "deploy" / "kubernetes"
FOREIGN = ("cert-manager.io/v1",)


@pytest.fixture(scope="module")
def validate() -> Callable[[Any], None]:
    """Check an object against the schemas of Kubernetes 1.35 to 1.37, strictly."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kubernetes_validate = pytest.importorskip(
            "kubernetes_validate", reason="kubernetes-validate is not installed"
        )

    def check(item: Any) -> None:
        for version in ("1.35", "1.36", "1.37"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                kubernetes_validate.validate(item, version, strict=True)

    return check


def documents(path: Path) -> list[dict[str, Any]]:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    return [each for each in yaml.safe_load_all(path.read_text()) if each]


@pytest.mark.parametrize("path", sorted(MANIFESTS.glob("*.yaml")), ids=lambda path: path.name)
def test_manifests_are_valid(path: Path, validate: Callable[[Any], None]) -> None:
    items = documents(path)
    assert items
    for item in items:
        if item["apiVersion"] not in FOREIGN:
            validate(item)  # raises for what the schema does not allow


def test_the_schemas_find_mistakes(validate: Callable[[Any], None]) -> None:
    (pod,) = documents(MANIFESTS / "example-pod.yaml")
    pod["spec"]["containers"][0]["resources"]["limit"] = {}
    with pytest.raises(Exception, match="limit"):
        validate(pod)


def test_commands_in_manifests_exist() -> None:
    import typer

    from cupool.cli.commands import app

    root: Any = typer.main.get_command(app)
    found = set()
    for path in MANIFESTS.glob("*.yaml"):
        for item in documents(path):
            spec = item.get("spec", {}).get("template", {}).get("spec", {})
            for container in spec.get("containers", []):
                name, *words = container["args"]
                options = {each for param in root.commands[name].params for each in param.opts}
                used = {word.partition("=")[0] for word in words if word.startswith("--")}
                assert used <= options
                found.add(name)
    assert found == {"broker", "serve", "webhook", "publish"}


def test_the_example_is_sent_to_the_pool(validate: Callable[[Any], None]) -> None:
    (pod,) = documents(MANIFESTS / "example-pod.yaml")
    target = Target("grpc://cupool-broker.cupool:7475")
    patch = patches_of(pod, "team-a", target)[0]
    env = {each["name"]: each.get("value") for each in patch["value"]}
    assert env["CUPOOL_GPU_MODEL"] == "H100" and env["CUPOOL_SHARE"] == "0.5"
    assert env["CUPOOL_MEMORY"] == "20480MiB"


# ---------------------------------------------------------------- what is published


def a_status(*, note: str = "", memory_bytes: int = 80 << 30) -> pb.StatusReply:
    device = pb.Device(
        ordinal=0,
        name="NVIDIA H100 80GB HBM3",
        kind="cuda",
        model="H100",
        maker="NVIDIA",
        memory_bytes=memory_bytes,
        compute_capability="9.0",
        uuid="0fc3eda5",
    )
    ill = pb.Device(ordinal=1, name="x", memory_bytes=1 << 30, unhealthy="its fan")
    devices = [pb.DeviceStatus(device=device), pb.DeviceStatus(device=ill)]
    servers = [
        pb.ServerStatus(name="lab-a", state="up", rack="r1", devices=devices, note=note),
        pb.ServerStatus(name="Lab.B_2", state="up", devices=devices[:1]),
        pb.ServerStatus(name="gone", state="lost", devices=devices[:1]),
    ]
    return pb.StatusReply(servers=servers)


def test_slices_are_valid(validate: Callable[[Any], None]) -> None:
    validate(slices.device_class())
    made = slices.resource_slices(a_status(), "pool")
    for item in made:
        validate(item)
    names = [item["metadata"]["name"] for item in made]
    assert names[0] == "cupool-pool-lab-a"
    assert names[1].startswith("cupool-pool-lab-b-2-") and len(made) == 2
    (device,) = made[0]["spec"]["devices"]
    assert device["name"] == "gpu-0" and device["capacity"]["memory"]["value"] == "81920Mi"
    assert device["attributes"]["computeCapability"] == {"version": "9.0.0"}
    assert device["attributes"]["rack"] == {"string": "r1"}


def test_names_stay_apart() -> None:
    names = {slices.object_name(text) for text in ("a.b", "a_b", "A.b", "a-b", "x" * 80, "x" * 81)}
    assert len(names) == 6 and all(len(name) <= 63 for name in names)
    assert slices.object_name("lab-a") == "lab-a" and slices.object_name("---")


def test_only_what_changed_is_changed() -> None:
    old = slices.resource_slices(a_status(), "pool")
    assert slices.changes(old, slices.resource_slices(a_status(), "pool")) == []
    old[0]["metadata"]["resourceVersion"] = "7"
    old[0]["spec"]["devices"][0]["bindsToNode"] = False  # a default that the API filled in
    assert slices.changes(old, slices.resource_slices(a_status(), "pool")) == []
    (first, second) = slices.changes(
        old, slices.resource_slices(a_status(memory_bytes=40 << 30), "pool")
    )
    assert first.verb == second.verb == "update"
    assert first.item["spec"]["pool"]["generation"] == 2
    assert first.item["metadata"]["resourceVersion"] == "7"
    (cordoned,) = slices.changes(old, slices.resource_slices(a_status(note="cordoned"), "pool"))
    assert (cordoned.verb, cordoned.item["metadata"]["name"]) == ("delete", "cupool-pool-lab-a")


class FakeApi:
    """The parts of the Kubernetes API that publishing uses; `fail` answers the next calls."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.calls: list[str] = []
        self.fail: list[int] = []
        self.tokens: set[str | None] = set()

    def answer(self, method: str, target: str, body: Any) -> tuple[int, Any]:
        url = urlsplit(target)
        self.calls.append(f"{method} {url.path.rpartition('/')[2]}")
        if self.fail:
            return self.fail.pop(0), {"message": "not now"}
        if method == "POST":
            name = body["metadata"]["name"]
            if f"{url.path}/{name}" in self.objects:
                return 409, {"message": "already exists"}
            self.objects[f"{url.path}/{name}"] = self._kept(body)
            return 201, body
        if url.query:
            label = parse_qs(url.query)["labelSelector"][0]
            key, _, value = label.partition("=")
            under = [v for k, v in self.objects.items() if k.startswith(f"{url.path}/")]
            items = [v for v in under if v["metadata"].get("labels", {}).get(key) == value]
            # One on each page.
            at = int(parse_qs(url.query).get("continue", ["0"])[0])
            more = str(at + 1) if at + 1 < len(items) else ""
            return 200, {"metadata": {"continue": more}, "items": items[at : at + 1]}
        if url.path not in self.objects:
            return 404, {"message": "not found"}
        if method == "DELETE":
            return 200, self.objects.pop(url.path)
        if method == "PUT":
            had = self.objects[url.path]["metadata"]["resourceVersion"]
            if body["metadata"]["resourceVersion"] != had:
                return 409, {"message": "conflict"}
            self.objects[url.path] = self._kept(body)
        return 200, self.objects[url.path]

    def _kept(self, body: Any) -> Any:
        return body | {"metadata": body["metadata"] | {"resourceVersion": str(len(self.calls))}}

    @contextmanager
    def served(self) -> Iterator[str]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                fake.tokens.add(self.headers.get("Authorization"))
                length = int(self.headers.get("Content-Length", 0))
                body = json.loads(self.rfile.read(length)) if length else None
                code, found = fake.answer(self.command, self.path, body)
                data = json.dumps(found).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_DELETE = handle_any

            def log_message(self, format: str, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def test_publishing_makes_the_api_say_what_the_pool_is(tmp_path: Path) -> None:
    fake = FakeApi()
    token = tmp_path / "token"
    token.write_text("secret\n")
    with fake.served() as url:
        api = publisher.Api(url, str(token))
        other = slices.resource_slices(a_status(), "other")
        api.call("POST", f"/apis/{slices.API}/resourceslices", other[0])
        assert publisher.publish(api, a_status(), "pool") == 3
        assert publisher.publish(api, a_status(), "pool") == 0
        assert publisher.publish(api, a_status(memory_bytes=1 << 30), "pool") == 2
        assert publisher.publish(api, pb.StatusReply(), "pool") == 2
        left = sorted(name.rpartition("/")[2] for name in fake.objects)
    assert left == ["cupool-other-lab-a", "gpu.cupool.dev"]
    assert fake.tokens == {"Bearer secret"}


def test_a_failure_is_told_and_the_next_round_mends_it() -> None:
    fake = FakeApi()
    stop = threading.Event()
    rounds = []

    def status() -> pb.StatusReply:
        rounds.append(1)
        if len(rounds) == 3:
            stop.set()
        return a_status()

    with fake.served() as url:
        api = publisher.Api(url)
        fake.fail = [403]
        with pytest.raises(publisher.ApiError, match=r"\(403\): not now"):
            publisher.publish(api, a_status(), "pool")
        fake.fail = [500]
        publisher.keep(api, status, "pool", 0.0, stop)
    assert len(rounds) == 3 and len(fake.objects) == 3


def test_an_api_that_is_not_there() -> None:
    with pytest.raises(publisher.ApiError, match="did not answer"):
        publisher.Api("http://127.0.0.1:9").call("GET", "/")
