"""Biographies of runs that are over, from their journal files."""

from __future__ import annotations

from pathlib import Path

import fakemq
from fakemq.biographies import steps
from fakemq.biographies.recorded import recorded_biographies
from fakemq.client import Client, Message
from fakemq.journal import file as journal_file
from tests.support.audit_runs import clean_run, faulty_run


def test_biography_of_a_file_is_that_of_the_run(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with fakemq.Cluster(
        journal=path,
        clock="frozen",
        slaves=1,
        topics={"orders": 1},
        start_at="2024-02-29T12:00:00Z",
    ) as mq:
        mq.consumer(group="billing", subscribe="orders", consume_from="first")
        with Client(mq.namesrv_addr) as client:
            sent = client.send(Message("orders", b"tea", keys="k-1", delay_level=2))
        mq.clock.advance("10s")
        (message,) = mq.messages("orders")
        lived = message.biography
    ((life,),) = recorded_biographies(journal_file.read(path), [sent.msg_id]).values()
    assert life.name == f"{sent.msg_id} of SCHEDULE_TOPIC_XXXX with the keys k-1"
    assert list(life) == list(lived)
    assert life.of(steps.Delivered)


def test_every_message_of_a_run_has_one_biography(tmp_path: Path) -> None:
    run = clean_run(tmp_path)
    found = recorded_biographies(journal_file.read(run.journal), run.sent)
    assert set(found) == run.sent
    assert {len(one) for one in found.values()} == {1}


def test_lost_message_has_its_life_up_to_the_record_in_its_place(tmp_path: Path) -> None:
    run = faulty_run(tmp_path)
    found = recorded_biographies(journal_file.read(run.journal), run.sent)
    assert {len(found[one]) for one in run.lost} == {1}
    replaced = {one for one in found if any(life.of(steps.Replaced) for life in found[one])}
    assert replaced
    assert replaced <= run.lost
    assert {"SEND_OK" in str(found[one][0]) for one in run.lost} == {True}
    twice = [one for one in run.duplicated if len(found[one]) == 2]
    assert len(twice) == 1, "one was sent twice, the other delivered twice"


def test_reset_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    ids = []
    with fakemq.Cluster(journal=path, topics={"orders": 1}) as mq:
        ids += [one.msg_id for one in mq.seed("orders", ["a"])]
        mq.reset()
        ids += [one.msg_id for one in mq.seed("orders", ["b"])]
    found = recorded_biographies(journal_file.read(path), ids)
    assert set(found) == set(ids)
