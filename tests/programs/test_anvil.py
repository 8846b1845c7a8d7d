"""Anvil, an Ethereum node for tests, in Rust with tokio: accounts of a Secret, the number of its chain from the ConfigMap, its state on the volume."""

import program_case
from sources import Npm

TALK = """
import http.client, json
TO = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
def call(method, *words):
    connection = http.client.HTTPConnection(HOST, 8545, timeout=20)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": words})
    connection.request("POST", "/", body, {"Content-Type": "application/json"})
    return json.loads(connection.getresponse().read())["result"]
assert call("eth_chainId") == hex(4711)
own = call("eth_accounts")
assert own == ["0x9858effd232b4033e47d90003d41ec34ecaeda94"], own
if "-service" not in HOST:
    if PHASE == "use":
        sent = call("eth_sendTransaction", {"from": own[0], "to": TO, "value": hex(10**18)})
        assert call("eth_getTransactionReceipt", sent)["status"] == "0x1"
    assert int(call("eth_blockNumber"), 16) >= 1
    assert int(call("eth_getBalance", TO, "latest"), 16) >= 10**18
"""


class Anvil(program_case.ProgramCase):
    program = "Anvil 1.7.1"
    sources = (Npm("@foundry-rs/anvil-win32-amd64", "1.7.1", "8f625165ad9be03de7c5828d1b1da576e179010b1bc967d70bb84fde2af65ff9",
                   (("package/bin/anvil.exe", "anvil/anvil.exe"),)),)
    command = ("cmd", "/c", "C:\\config\\start.cmd")
    port = 8545
    config = {"start.cmd": "C:\\anvil\\anvil.exe --host 0.0.0.0 --chain-id 4711 --accounts 1 --mnemonic \"%MNEMONIC%\" "
                           "--state C:/data/state.json --state-interval 1\r\n"}
    secret = {"mnemonic": "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about"}
    environment = {"MNEMONIC": "secret:mnemonic"}
    check = ("C:\\anvil\\anvil.exe", "--version")
    check_prints = "1.7.1"
    says = "Listening on 0.0.0.0:8545"
    talk = TALK
