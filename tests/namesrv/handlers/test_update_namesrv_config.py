"""UPDATE_NAMESRV_CONFIG."""

from __future__ import annotations

from fakemq.config.model import NamesrvConfig
from fakemq.events import HandlerFailed, Warned
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from tests.support.namesrv_lab import NamesrvLab, namesrv_config
from tests.support.peer import Peer


def update(peer: Peer, text: bytes) -> RemotingCommand:
    return peer.ask(RequestCode.UPDATE_NAMESRV_CONFIG, body=text)


def test_update_affects_this_name_server_only(lab: NamesrvLab) -> None:
    shared = NamesrvConfig()
    first, second = (lab.peer(lab.name_server(shared)) for _ in range(2))
    assert update(first, b"orderMessageEnable=true\nserverWorkerThreads = 4\n").code == 0
    assert namesrv_config(first)["orderMessageEnable"] == "true"
    assert namesrv_config(first)["serverWorkerThreads"] == "4"
    assert namesrv_config(second)["orderMessageEnable"] == "false"
    assert shared == NamesrvConfig()


def test_missing_body_is_a_success(peer: Peer) -> None:
    assert update(peer, b"").code == 0


def test_changed_path_refuses_the_whole_update(peer: Peer) -> None:
    for key in (b"kvConfigPath", b"configStorePath"):
        response = update(peer, b"orderMessageEnable=true\n" + key + b"=/tmp/x\n")
        assert (response.code, response.remark) == (16, "Can not update config path")
    assert namesrv_config(peer)["orderMessageEnable"] == "false"


def test_invalid_properties_text_is_refused(peer: Peer) -> None:
    response = update(peer, b"orderMessageEnable=\\u12")
    assert (response.code, response.remark) == (1, "string2Properties error")


def test_unknown_key_succeeds_with_a_warning(lab: NamesrvLab, peer: Peer) -> None:
    assert update(peer, b"noSuchKey=1\nserverWorkerThreads=many\n\xff=\xfe\n").code == 0
    assert namesrv_config(peer)["serverWorkerThreads"] == "8"
    texts = [warned.text for warned in lab.journal.find(Warned)]
    assert len(texts) == 3
    assert "noSuchKey" in texts[0]
    assert "serverWorkerThreads=many" in texts[1]
    assert lab.journal.find(HandlerFailed) == []
