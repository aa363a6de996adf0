"""The audit log: what is in it, and how it is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.unit.broker_pool import Pool
from tests.unit.test_broker_service import Node, broker

from cupool.cli import audit as cli
from cupool.cli import main
from cupool.pool_server.broker.audit import KEPT_RECORDS, Audit
from cupool.pool_server.broker.books import Books
from cupool.pool_server.broker.store.base import Leader
from cupool.proto.v1 import pool_pb2 as pb
from cupool.proto.v1 import pool_pb2_grpc as rpc

Drive = Callable[[Coroutine[Any, Any, None]], None]


def notes(pool: Pool) -> list[tuple[str, dict[str, Any]]]:
    return pool.state.take_notes()


def whats(pool: Pool) -> list[str]:
    return [what for what, _ in notes(pool)]


# ---------------------------------------------------------------- what is written


def test_servers_that_come_and_go_are_noted() -> None:
    pool = Pool()
    link = pool.server("a")
    assert notes(pool) == [("server-joined", {"server": "a", "address": "", "devices": 1})]
    pool.play(pool.state.link_broken(link, pool.now))
    link = pool.server("a")
    assert whats(pool) == ["server-away", "server-returned"]
    pool.play(pool.state.health(link, 0, "fell off the bus", pool.now))
    pool.play(pool.state.health(link, 0, "fell off the bus", pool.now))  # it says so again
    health = {"server": "a", "device": 0, "unhealthy": "fell off the bus"}
    assert notes(pool) == [("device-health", health)]
    pool.play(pool.state.draining(link, pool.now))
    pool.play(pool.state.draining(link, pool.now))
    pool.play(pool.state.link_broken(link, pool.now))
    assert whats(pool) == ["server-draining", "server-left"]


def test_a_lost_server_is_noted_with_what_it_ran() -> None:
    pool = Pool()
    pool.server("a")
    grant = pool.grant(pool.ask())
    notes(pool)
    pool.state.take_changes()
    pool.advance(60.0)
    ((what, fields),) = notes(pool)
    assert (what, fields["sessions"]) == ("server-lost", [grant.devices[0].session_id])
    assert "has heard nothing from it for 60.0 s" in fields["why"]
    *_, ended = pool.state.take_changes()
    assert ended.why == fields["why"]  # type: ignore[union-attr]


def test_a_wait_is_noted_from_its_begin_to_its_end() -> None:
    audit, pool = Audit(), Pool()
    pool.server("a")
    pool.grant(pool.ask(job_id="first"))
    left = pool.ask(job_id="left", job_token_hash="very secret")
    late = pool.ask(job_id="late", wait=5.0)
    pool.ask(job_id="served")
    pool.play(pool.state.leave(left, pool.now))
    pool.advance(5.0, alive=("a",))
    pool.refusal(late)
    pool.ended(next(iter(pool.state.ledger.sessions)), message="its script ended")
    audit.changes(pool.state.take_changes(), 7)
    life = [(each["what"], each.get("place", "")) for each in audit.records]
    assert life == [
        ("lease-granted", ""),
        ("request-waiting", 2),
        ("request-waiting", 3),
        ("request-waiting", 4),
        ("request-over", 2),
        ("request-over", 3),
        ("lease-ended", ""),
        ("lease-granted", ""),
        ("request-over", 4),
    ]
    over = [each["why"] for each in audit.records if each["what"] == "request-over"]
    assert over[0] == "the client went away" and over[2] == "granted"
    assert "leased" in over[1]  # the refusal's own words
    (ended,) = [each for each in audit.records if each["what"] == "lease-ended"]
    assert ended["why"] == "its script ended" and ended["epoch"] == 7
    assert "secret" not in json.dumps(list(audit.records))
    assert audit.records[1]["wish"]["job_id"] == "left"


def test_who_leads_is_written(drive: Drive) -> None:
    async def run() -> None:
        async with broker() as (_, service):
            service.follow(None, "it has just started")
            service.lead(Books(), 5, _Journal())  # type: ignore[arg-type]
            service.follow(Leader("x", "grpc://b:1", 6), "")
            told = [(each["what"], each["epoch"]) for each in service.audit.records]
            assert told == [("leading", 5), ("leading-no-more", 5)]

    drive(run())


class _Journal:
    trouble = ""

    def submit(self, writes: object, then: Callable[[], None]) -> None:
        then()


# ---------------------------------------------------------------- how it is read


async def _read(audit: Audit) -> list[Any]:
    return [each["n"] async for each in audit.read(follow=False)]


def test_the_last_records_are_kept_and_those_of_the_file_come_before(
    tmp_path: Path, drive: Drive
) -> None:
    path = tmp_path / "audit.log"
    audit = Audit(str(path))
    for n in range(KEPT_RECORDS + 10):
        audit.write("x", n=n)
    audit.close()
    with path.open("a") as file:
        file.write('{"x":1}\n{"at":"now","what":"x"}\n')  # not the broker's
        file.write('{"at":1,"what":"cut by a cra')

    async def run() -> None:
        assert await _read(audit) == list(range(10, KEPT_RECORDS + 10))
        again = Audit(str(path))
        again.write("x", n=-1)
        # The cut line and those of others count among the last ones that are looked at.
        assert await _read(again) == [*range(13, KEPT_RECORDS + 10), -1]
        again.close()
        *_, cut, last = path.read_text().splitlines()
        assert cut.endswith("cut by a cra") and json.loads(last)["n"] == -1

    drive(run())


def test_a_reader_follows_and_is_told_what_it_missed(drive: Drive) -> None:
    async def run() -> None:
        audit = Audit()
        audit.write("x", n=0)
        reader = audit.read(follow=True)
        assert (await anext(reader))["n"] == 0
        audit.write("x", n=1)
        assert (await anext(reader))["n"] == 1
        for n in range(KEPT_RECORDS + 25):
            audit.write("x", n=n)
        missed = await anext(reader)
        assert (missed["what"], missed["records"]) == ("records-missed", 25)
        assert (await anext(reader))["n"] == 25
        await reader.aclose()

    drive(run())


def test_a_reader_of_a_broker_that_leads_no_more_is_sent_to_the_leader(drive: Drive) -> None:
    async def run() -> None:
        async with broker() as (channel, service):
            stub = rpc.AdminStub(channel)  # type: ignore[no-untyped-call]
            service.lead(Books(), 5, _Journal())  # type: ignore[arg-type]
            call = stub.Audit(pb.AuditRequest(follow=True))
            assert json.loads((await call.read()).json)["what"] == "leading"
            service.follow(Leader("x", "grpc://b:1", 6), "")
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call.read()
            assert dict(caught.value.trailing_metadata())["cupool-leader"] == "grpc://b:1"

    drive(run())


def test_servers_of_the_wire_are_in_it(drive: Drive) -> None:
    async def run() -> None:
        async with broker() as (channel, _):
            node = Node(channel, "lab", 2)
            await node.command()
            stub = rpc.AdminStub(channel)  # type: ignore[no-untyped-call]
            found = [json.loads(each.json) async for each in stub.Audit(pb.AuditRequest())]
            assert [(each["what"], each["server"], each["devices"]) for each in found] == [
                ("server-joined", "lab", 2)
            ]

    drive(run())


# ---------------------------------------------------------------- the command


RECORD = {
    "at": 1796081043.25,
    "what": "lease-granted",
    "epoch": 3,
    "lease_id": "ab12",
    "client": "ann@host",
    "terms": {"tenant": "vision", "priority": 2, "hold": False},
    "placements": {"0": {"server": "lab", "ordinal": 1, "whole": True, "bandwidth_mbps": 0}},
    "ends_at": None,
}


def test_a_record_is_a_line_for_people() -> None:
    line = cli.sentence(RECORD)
    assert line.partition("lease-granted")[2].split() == [
        "epoch=3",
        "lease_id=ab12",
        "client=ann@host",
        'terms={"tenant":"vision","priority":2}',
        'placements={"0":{"server":"lab","ordinal":1,"whole":true,"bandwidth_mbps":0}}',
    ]


@pytest.mark.parametrize(
    ("what", "about", "found"),
    [
        ([], "", True),
        (["lease-granted", "x"], "lab", True),
        (["lease-ended"], "", False),
        ([], "ab12", True),
        ([], "vision", True),
        ([], "ab1", False),
    ],
)
def test_records_are_chosen_by_kind_and_by_what_they_name(
    what: list[str], about: str, found: bool
) -> None:
    assert cli._matches(RECORD, what, about) is found


def test_no_broker_no_log(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--pool", "grpc://127.0.0.1:1"]) == 2
    assert "no broker answers at grpc://127.0.0.1:1" in capsys.readouterr().err
