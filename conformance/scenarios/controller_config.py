"""The config of a controller: what it prints, and what may be changed."""

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import scenario
from fakemq.protocol.v5.codes import RequestCode5 as Code

GET, UPDATE = Code.GET_CONTROLLER_CONFIG, Code.UPDATE_CONTROLLER_CONFIG
OWN = {
    *("rocketmqHome", "configStorePath", "controllerStorePath", "controllerDLegerPeers"),
    *("listenPort", "bindAddress", "serverCallbackExecutorThreads", "mappedFileSize"),
    "jraftConfig",
}
"""Keys whose values are paths, addresses, numbers of this machine, or what Java calls an object."""
NAMESRV = {"enableControllerInNamesrv", "kvConfigPath"}
"""Keys that a controller prints which has its file in common with a name server."""


def config_of(run: Run) -> dict[str, str]:
    """Return what a controller prints of its config."""
    answer = run.peer("silent", "controller-0").quietly(GET)
    assert answer.code == 0, answer
    pairs = (line.partition("=") for line in answer.body.decode().splitlines())
    return {key: value for key, _, value in pairs}


def say(run: Run, *keys: str) -> None:
    """Write down what a controller prints for keys."""
    found = config_of(run)
    run.note(", ".join(f"{key}={found.get(key, '(none)')}" for key in keys))


def update(run: Run, text: str | bytes) -> None:
    run.ask("controller-0", UPDATE, None, text, peer="admin")


@scenario("config: every key that a controller prints", controllers=1)
def controller_config(run: Run) -> None:
    found = {key: one for key, one in config_of(run).items() if key not in NAMESRV}
    for key, value in sorted(found.items()):
        run.note(key if key in OWN else f"{key}={value}")


@scenario("config: keys that are changed", controllers=1)
def controller_config_changes(run: Run) -> None:
    keys = ("electMasterMaxRetryCount", "isProcessReadEvent", "scanInactiveMasterInterval")
    say(run, *keys)
    update(run, "electMasterMaxRetryCount=2\nscanInactiveMasterInterval=4000\n")
    say(run, *keys)
    run.note("the key of a setter is not that which is printed")
    update(run, "isProcessReadEvent=true\n")
    say(run, *keys)
    update(run, "processReadEvent=true\n")
    say(run, *keys)
    run.note("one that there is not, with one that there is")
    update(run, "unknownKey=1\nelectMasterMaxRetryCount=1\n")
    say(run, *keys, "unknownKey")
    run.note("no number")
    update(run, "electMasterMaxRetryCount=many\n")
    say(run, *keys)
    update(run, "electMasterMaxRetryCount=3\nscanInactiveMasterInterval=5000\n")
    update(run, "processReadEvent=false\n")
    say(run, *keys)


@scenario("config: what is no text of keys and values", controllers=1)
def controller_config_bodies(run: Run) -> None:
    run.note("no body")
    update(run, "")
    run.note("a line without a value")
    update(run, "electMasterMaxRetryCount")
    say(run, "electMasterMaxRetryCount")
    update(run, "electMasterMaxRetryCount=3")
    run.note("what no text of Java's properties may have")
    update(run, "a=\\u00")
    run.note("no text")
    update(run, b"\xff\xfe")
    run.note("only a comment")
    update(run, "# nothing\n")


@scenario("config: keys that may not be changed", controllers=1)
def controller_config_black_list(run: Run) -> None:
    update(run, "configBlackList=electMasterMaxRetryCount\n")
    update(run, "configStorePath=/nowhere\n")
    update(run, "rocketmqHome=/nowhere\n")
    run.note("none of them is taken if one may not be")
    update(run, "rocketmqHome=/nowhere\nelectMasterMaxRetryCount=7\n")
    say(run, "electMasterMaxRetryCount", "configBlackList")


@scenario(
    "config: more keys that may not be changed",
    controllers=1,
    config={"configBlackList": "electMasterMaxRetryCount;scanInactiveMasterInterval"},
)
def controller_config_own_black_list(run: Run) -> None:
    say(run, "configBlackList")
    update(run, "electMasterMaxRetryCount=7\n")
    update(run, "scanInactiveMasterInterval=7\n")
    update(run, "rocketmqHome=/nowhere\n")
    update(run, "configStorePath=/nowhere\n")
    say(run, "electMasterMaxRetryCount")
