"""Takes the pictures of the page in docs/images: `python -m tests.support.page_pictures`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import fakemq
from fakemq.client import ReceivedMessage
from fakemq.protocol.grpc import messages as m
from tests.support.browser import browser
from tests.support.grpc_client import grpc_client

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"


def take(folder: Path = IMAGES) -> None:
    """Take both pictures of a cluster with a gRPC front, retries, faults and a paused broker."""
    settings = m.TelemetryCommand(
        settings=m.Settings(
            client_type=m.ClientType.PRODUCER,
            publishing=m.Publishing(topics=[m.Resource(name="bills")]),
        )
    )
    with (
        fakemq.Cluster(
            masters=2, slaves=1, grpc=True, control_port=0, clock="frozen",
            start_at="2026-03-02T09:00:00Z", topics={"orders": 4, "bills": 2},
        ) as mq,
        tempfile.TemporaryDirectory() as profile,
        browser(Path(profile)) as page,
        grpc_client(mq.grpc_addr) as phone,
    ):  # fmt: skip
        answers = phone.telemetry([settings], x_mq_client_id="phone@1", x_mq_language="PYTHON")
        next(answers)
        shop = mq.producer(group="shop")

        def pay(message: ReceivedMessage) -> None:
            if message.body == b"order 3":
                raise ValueError("no such account")

        mq.consumer(group="billing", subscribe="orders", on_message=pay, consume_from="first")
        mq.seed("bills", ["bill 1"])
        ids = [
            shop.send("orders", f"order {number}", keys=f"o-{number}").msg_id
            for number in range(1, 8)
        ]
        mq.clock.advance("25s")
        mq.faults.latency("broker-a", "clients", "20ms", must_fire=False)
        mq.faults.partition("broker-b", "broker-b-1", must_fire=False)
        mq.broker("broker-b-1").pause()
        mq.clock.advance("5s")
        mq.seed("orders", ["order 8", "order 9"], keys="late")
        page.open(f"{mq.control_url}/")
        page.wait("document.querySelector('#topology .faulty')")
        page.fill("word", ids[2])
        page.click("#find button")
        page.wait("document.querySelectorAll('#biography li').length > 2")
        page.wait("document.querySelectorAll('#journal tr').length > 5")
        page.run(
            "[...document.querySelectorAll('#journal tr')].slice(8).forEach((row) => row.remove())"
        )
        page.run("document.activeElement.blur()")
        for dark in (False, True):
            page.picture(folder / f"page-{'dark' if dark else 'light'}.png", dark=dark)
        answers.cancel()
        mq.faults.clear()


if __name__ == "__main__":
    take()
