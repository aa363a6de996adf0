"""Who may ask for whom and see what: tokens of tenants, and what partitions hide."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.unit.broker_pool import Pool
from tests.unit.test_broker_service import broker, node

from cupool.errors import ConfigurationError
from cupool.pool_server.broker import explain, view
from cupool.pool_server.broker.decisions import TellQueued
from cupool.pool_server.broker.model import DeviceSpec, Partition, Registration
from cupool.pool_server.broker.tokens import TenantTokens
from cupool.proto.v1 import pool_pb2 as pb
from cupool.proto.v1 import pool_pb2_grpc as rpc

VISION, SPEECH = "v" * 20, "s" * 20
Drive = Callable[[Coroutine[Any, Any, None]], None]
ADMIN = "a" * 20


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    path = tmp_path / "tenants.toml"
    path.write_text(f'[tokens]\nvision = "{VISION}"\nspeech = "{SPEECH}"\n')
    path.chmod(0o600)
    return path


# ---------------------------------------------------------------- the file


def test_a_tenant_with_a_token_must_give_it(tokens: Path) -> None:
    known = TenantTokens(str(tokens))
    assert known.fault("vision", VISION) == ""
    assert "none was given" in known.fault("vision", "")
    assert "not that of tenant 'vision'" in known.fault("vision", SPEECH)
    assert known.fault("guest", "") == ""  # has none
    tokens.write_text(f'others = false\n[tokens]\nvision = "{VISION}"\n')
    assert "no tenant 'guest'" in known.fault("guest", VISION)


def test_a_server_must_prove_its_name_where_servers_have_tokens(tokens: Path) -> None:
    known = TenantTokens(str(tokens))
    assert known.server_fault("lab", "") == ""
    assert known.missing() == (
        "servers need not prove that they may join and "
        "tenants that are not named need prove nothing"
    )
    tokens.write_text(f'others = false\n[servers]\nlab = "{VISION}"\n')
    assert known.server_fault("lab", VISION) == ""
    assert "gave none" in known.server_fault("lab", "")
    assert "not that of server 'lab'" in known.server_fault("lab", SPEECH)
    assert "knows no server 'other'" in known.server_fault("other", VISION)
    tokens.write_text(f'others = false\n[servers]\nlab = "{VISION}"\n"*" = "{SPEECH}"\n')
    assert known.server_fault("other", SPEECH) == "" and known.server_fault("lab", SPEECH)
    assert known.missing() == ""


def test_a_server_may_be_tied_to_a_partition(tokens: Path) -> None:
    tied = f'lab = {{ token = "{VISION}", partition = "blue" }}\n"*" = "{SPEECH}"\n'
    tokens.write_text(f"[servers]\n{tied}")
    known = TenantTokens(str(tokens))
    assert known.server_fault("lab", VISION, {"blue"}) == ""
    assert "partition 'blue' only, and names red" in known.server_fault("lab", VISION, {"red"})
    assert "names none, red" in known.server_fault("lab", VISION, {"", "blue", "red"})
    assert "not that of server" in known.server_fault("lab", SPEECH, {"blue"})
    assert known.server_fault("other", SPEECH, {"red", ""}) == ""
    tokens.write_text('[servers]\nlab = { token = "short", partition = "blue" }\n')
    with pytest.raises(ConfigurationError, match=r"server 'lab'.*at least 16 characters"):
        TenantTokens(str(tokens))


def test_the_partitions_of_a_registration_are_its_devices() -> None:
    gpus = [DeviceSpec(0, "g", "mock", 1), DeviceSpec(1, "g", "mock", 1, partition="red")]
    assert Registration("lab", "1", tuple(gpus), partition="blue").partitions() == {"blue", "red"}
    assert Registration("lab", "1", tuple(gpus)).partitions() == {"", "red"}


def test_a_changed_file_is_read_again_and_a_broken_one_is_not_believed(tokens: Path) -> None:
    known = TenantTokens(str(tokens))
    fresh = tokens.with_suffix(".new")
    fresh.write_text(f'[tokens]\nvision = "{"n" * 20}"\n')
    os.replace(fresh, tokens)
    assert known.fault("vision", VISION) and known.fault("vision", "n" * 20) == ""
    assert known.fault("speech", "") == ""
    tokens.write_text("[tokens")
    assert known.fault("vision", VISION) and known.fault("vision", "n" * 20) == ""
    tokens.unlink()
    assert known.fault("vision", VISION) and known.fault("vision", "n" * 20) == ""
    tokens.write_text(f'[tokens]\nvision = "{VISION}"\n')
    assert known.fault("vision", VISION) == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[tokens]\nvision = 'short'\n", "at least 16 characters"),
        ("[tokens]\nvision = 'äääääääääääääääääääää'\n", "printable ASCII"),
        ("[tokens]\nvision = 17\n", "cannot be read"),
        ("tokens = 3", "cannot be read"),
        ("other = false", "unknown field"),
        ("\x00", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "tenants.toml"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=why):
        TenantTokens(str(path))
    with pytest.raises(ConfigurationError, match="No such file"):
        TenantTokens(str(tmp_path / "nowhere"))


# ---------------------------------------------------------------- on the wire


def carried(speaks: str = "", admin: str = "") -> Any:
    return (("cupool-tenant-token", speaks), ("cupool-admin-token", admin))


def acquire(stub: Any, tenant: str, job: str = "", **tokens: str) -> Any:
    request = pb.AcquireRequest(gpus=1, tenant=tenant, carriers=["zmq+tcp"], wait_s=20, job_id=job)
    request.job_token = job and f"token of {job}"
    return stub.Acquire(request, metadata=carried(**tokens))


def test_nobody_gets_gpus_or_sees_on_the_account_of_another(tokens: Path, drive: Drive) -> None:
    async def main() -> None:
        who_may = {"tenants": TenantTokens(str(tokens)), "admin_token": ADMIN}
        async with broker(**who_may) as (channel, service), node(channel, gpus=4) as server:
            stub = rpc.BrokerStub(channel)  # type: ignore[no-untyped-call]
            admin = rpc.AdminStub(channel)  # type: ignore[no-untyped-call]

            for wrong in ({}, {"speaks": SPEECH}, {"speaks": ADMIN}, {"admin": VISION}):
                refusal = (await acquire(stub, "vision", **wrong).read()).refusal
                assert refusal.reason == "denied" and "CUPOOL_TENANT_TOKEN" in refusal.remedy
            assert not service.state.ledger.leases
            for tenant, right in (
                ("vision", {"speaks": VISION, "job": "j"}),
                ("speech", {"admin": ADMIN}),
                ("guest", {}),
                ("vision", {"job": "j"}),  # that it is of the job is proof enough
            ):
                call = acquire(stub, tenant, **right)
                await server.open_one()
                grant = (await call.read()).grant
                assert grant.terms.tenant == tenant
            assert grant.joined
            leases = service.state.ledger.leases.values()
            lease_of = {each.terms.tenant: each.lease_id for each in leases}
            mine, theirs = lease_of["vision"], lease_of["speech"]
            for wrong in ({"speaks": SPEECH}, {}):
                with pytest.raises(grpc.aio.AioRpcError, match="administrators"):
                    release = pb.ReleaseRequest(lease_id=mine)
                    await stub.Release(release, metadata=carried(**wrong))
            assert (await stub.Why(pb.WhyRequest(id=theirs), metadata=carried(SPEECH))).state
            await stub.Release(pb.ReleaseRequest(lease_id=theirs), metadata=carried(SPEECH))
            for method, request in (
                (stub.Status, pb.StatusRequest(tenant="vision")),
                (stub.Why, pb.WhyRequest(tenant="vision", id="r1")),
                (stub.Status, pb.StatusRequest()),
                (stub.Why, pb.WhyRequest(id="r1")),
                (admin.ListQuotas, pb.ListRequest()),
                (admin.ListPartitions, pb.ListRequest()),
            ):
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await method(request, metadata=carried(speaks=SPEECH))
                assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED
                await method(request, metadata=carried(admin=ADMIN))
            audit = admin.Audit(pb.AuditRequest(), metadata=carried(speaks=SPEECH))
            with pytest.raises(grpc.aio.AioRpcError, match="administrators"):
                await audit.read()
            watch = stub.Watch(pb.StatusRequest(tenant="vision"), metadata=carried(speaks=SPEECH))
            with pytest.raises(grpc.aio.AioRpcError, match="is not that of tenant"):
                await watch.read()
            status = await stub.Status(
                pb.StatusRequest(tenant="vision"), metadata=carried(speaks=VISION)
            )
            assert [lease.terms.tenant for lease in status.leases] == ["vision"]
            denied = [each for each in service.audit.records if each["what"] == "access-denied"]
            assert len(denied) == 4 + 2 + 6 + 1 + 1
            written = repr(list(service.audit.records))
            assert not any(secret in written for secret in (VISION, SPEECH, ADMIN))

    drive(main())


def test_without_tokens_a_tenant_is_who_he_says_and_everybody_sees_all(drive: Drive) -> None:
    async def main() -> None:
        async with broker() as (channel, _), node(channel):
            stub = rpc.BrokerStub(channel)  # type: ignore[no-untyped-call]
            assert len((await stub.Status(pb.StatusRequest())).servers) == 1
            assert len((await stub.Status(pb.StatusRequest(tenant="anybody"))).servers) == 1

    drive(main())


# ---------------------------------------------------------------- partitions


def a_divided_pool() -> Pool:
    """Partition red of tenant r has server b; everybody else has server a. Both are full."""
    pool = Pool()
    pool.server("a", zone="z1", link_mbps=100_000)
    pool.server("b", zone="z2", link_mbps=25_000)
    pool.play(pool.state.set_partition(Partition("red", ("r",), ("b",)), pool.now).decisions)
    pool.grant(pool.ask(tenant="r", client="ruth"))
    pool.grant(pool.ask(tenant="s", client="sue"))
    return pool


def test_those_in_line_are_told_nothing_of_other_partitions() -> None:
    pool = a_divided_pool()
    mine, theirs = pool.ask(tenant="r"), pool.ask(tenant="s")
    told = {each.request_id: each.reason for each in pool.log if isinstance(each, TellQueued)}
    assert told[mine] == "1 of 1 GPUs leased: ruth"
    assert told[theirs] == "1 of 1 GPUs leased: sue"
    assert "(1 of 1 leased: ruth" in pool.refusal(pool.ask(tenant="r", wait=0)).message
    whole = view.status(pool.state, "x", pool.now)
    assert [each.reason for each in whole.waiting] == [told[mine], told[theirs]]
    seen = view.status(pool.state, "x", pool.now, "r")
    assert [each.request for each in seen.waiting] == [f"r{mine}"]
    for hidden in ("sue", "z1", "'s'"):
        assert hidden not in str(seen)
    why = explain.why(pool.state, f"r{mine}", "r", pool.now)
    assert why.state == "waiting" and "GPU 0 of b is held by ruth" in str(why)
    assert "sue" not in str(why) and "of a" not in str(why)
    assert explain.why(pool.state, f"r{theirs}", "r", pool.now).state == "unknown"
    (lease,) = [each for each in whole.leases if each.terms.tenant == "s"]
    assert explain.why(pool.state, lease.lease_id, "r", pool.now).state == "unknown"


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"gpus": 2}, "2 GPUs were asked for by tenant r; partition red has 1"),
        ({"zone": "z1"}, "1 GPU was asked for with zone z1, the pool has none; there is: z2"),
        ({"bandwidth_mbps": 50_000}, "the fastest server has 25000 Mbit/s"),
    ],
)
def test_the_nearest_that_exists_is_of_the_own_partition(wish: dict[str, Any], words: str) -> None:
    pool = a_divided_pool()
    refusal = pool.refusal(pool.ask(tenant="r", **wish))
    assert refusal.reason == "too_large" and words in refusal.message


def test_a_partition_without_gpus_says_so_and_names_no_other() -> None:
    pool = a_divided_pool()
    pool.play(pool.state.set_partition(Partition("blue", ("t",), ("c",)), pool.now).decisions)
    message = pool.refusal(pool.ask(tenant="t")).message
    assert message == "1 GPU was asked for by tenant t; partition blue has none"
