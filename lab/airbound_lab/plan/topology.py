# SPDX-License-Identifier: Apache-2.0
r"""The cell's nodes, addresses and interface configuration, as input for `ip -batch` and `tc -batch`; pure.

     sta1             staN                          the phones, each a network namespace
   10.0.0.11        10.0.0.(10+N)                   10.0.0.0/16 is one link: phones, AP and wire are bridged
     wlan1            wlanN                         hwsim radios phy1..phyN
       \              /
        \            /                              the medium model in the kernel
          wlan0  phy0
            |                                       hostapd, airbound-ap
      br0 10.0.0.1                                  the AP: the root namespace
       |       |  \
  controller   |   server2 ...                      veth pairs; the servers' with netem, half the delay each way
   eth0        |     eth0
 10.0.1.1      |   10.0.5.1
 :50051     server1
             eth0 10.0.4.1  :5001                   one server per distinct wired delay

br0 is a bridge of the kernel, or a bridge of Open vSwitch with the same ports (guest/switch.py).

With several access points the first radios are theirs and the phones' begin after those. Each further one is a network
namespace with a bridge of its own, of which a wire without delay leads to the first one's:

   sta1, sta3 ...                sta2, sta4 ...
       wlan0  phy0                   wlan1  phy1        hostapd, airbound-ap of each
         |                             |
   br0 10.0.0.1 --- ap2 ---- eth0 -- br0 10.0.0.2       the second in the namespace ap2

Neighbour entries are permanent: no ARP, so its losses and timing cannot disturb a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from airbound_lab.settings import modes, qdisc
from airbound_lab.settings.scenario import access_point_agent

if TYPE_CHECKING:
    from airbound_lab.settings.parameters import Parameters

BRIDGE = "br0"
RADIO = "wlan0"
"""The access point's."""
BSSID = "02:00:00:00:00:00"
"""As mac80211_hwsim numbers its radios."""
AP_ADDRESS = "10.0.0.1"
AP_MAC = "02:ab:00:00:00:01"
CONTROLLER = "controller"
"""Name of its network namespace, and of the access point's interface that leads there."""
CONTROLLER_ADDRESS = "10.0.1.1"
CONTROLLER_PORT = 50051
OPERATORS_PORT = 50052
"""Of the controller as well, on its loopback only."""
OPENFLOW_PORT = 6653
"""Of `airbound openflow`, in the controller's namespace."""
CONTROLLER_MAC = "02:ab:00:00:01:01"
SERVER_PORT = 5001
"""The port of each receiver: servers, and phones that download."""
DOWN = "-down"
"""At the end of the names of flows from a server to a phone."""
PREFIX_BITS = 16

ACCESS_CATEGORIES = 4
NETEM_LIMIT_PACKETS = 1_000_000
"""netem never drops for want of space: only what a run says is lost."""


@dataclass(frozen=True, slots=True)
class AccessPoint:
    """An access point; index counts from 1."""

    index: int

    @property
    def name(self) -> str:
        """Name of its agent, and of its network namespace if it is not the first."""
        return access_point_agent(self.index)

    @property
    def netns(self) -> str:
        """Its network namespace; the first one's is the root."""
        return "" if self.index == 1 else self.name

    @property
    def radio(self) -> str:
        """Name of its hardware."""
        return f"phy{self.index - 1}"

    @property
    def interface(self) -> str:
        """Name of its Wi-Fi interface."""
        return f"wlan{self.index - 1}"

    @property
    def bssid(self) -> str:
        """MAC address of that, as mac80211_hwsim numbers its radios."""
        return f"02:00:00:00:{self.index - 1:02x}:00"

    @property
    def address(self) -> str:
        """IPv4 address."""
        return f"10.0.0.{self.index}"

    @property
    def mac(self) -> str:
        """MAC address of its bridge."""
        return f"02:ab:00:00:00:{self.index:02x}"

    @property
    def wire_mac(self) -> str:
        """MAC address of its end of the wire to the first, if it is another."""
        return f"02:ab:00:00:02:{self.index:02x}"


@dataclass(frozen=True, slots=True)
class Phone:
    """A phone; index counts from 1, and so does that of its radio if there is one access point."""

    index: int
    radio_index: int

    @property
    def name(self) -> str:
        """Name of the network namespace, and of the phone's flows to its server."""
        return f"sta{self.index}"

    @property
    def download(self) -> str:
        """Name of its flows from its server."""
        return f"{self.name}{DOWN}"

    @property
    def interface(self) -> str:
        """Name of the Wi-Fi interface."""
        return f"wlan{self.radio_index}"

    @property
    def radio(self) -> str:
        """Name of its hardware."""
        return f"phy{self.radio_index}"

    @property
    def address(self) -> str:
        """IPv4 address."""
        return f"10.0.0.{10 + self.index}"

    @property
    def mac(self) -> str:
        """MAC address, as mac80211_hwsim numbers its radios."""
        return f"02:00:00:00:{self.radio_index:02x}:00"


@dataclass(frozen=True, slots=True)
class Server:
    """A server behind a wire of a given round-trip delay; index counts from 1."""

    index: int
    delay_ms: float

    @property
    def name(self) -> str:
        """Name of the network namespace."""
        return f"server{self.index}"

    @property
    def address(self) -> str:
        """IPv4 address."""
        return f"10.0.{3 + self.index}.1"

    @property
    def mac(self) -> str:
        """MAC address."""
        return f"02:ab:00:00:{3 + self.index:02x}:01"


@dataclass(frozen=True, slots=True)
class Topology:
    """All nodes of a cell, or of several."""

    access_points: tuple[AccessPoint, ...]
    phones: tuple[Phone, ...]
    servers: tuple[Server, ...]
    parameters: Parameters

    def server_of(self, phone: Phone) -> Server:
        """Return the server that a phone sends to."""
        delay_ms = self.parameters.wired_delay_ms(phone.index)
        return next(server for server in self.servers if server.delay_ms == delay_ms)


def build(parameters: Parameters) -> Topology:
    """Lay out the nodes."""
    delays_ms = list(dict.fromkeys(parameters.wired_delay_ms(i) for i in range(1, parameters.terminals + 1)))
    before = parameters.access_points - 1
    return Topology(
        access_points=tuple(AccessPoint(i) for i in range(1, parameters.access_points + 1)),
        phones=tuple(Phone(i, before + i) for i in range(1, parameters.terminals + 1)),
        servers=tuple(Server(i, delay_ms) for i, delay_ms in enumerate(delays_ms, start=1)),
        parameters=parameters,
    )


def _wired_node(name: str, mac: str, *, bridged: bool) -> list[str]:
    return [
        f"link add {name} type veth peer name eth0 address {mac} netns {name}",
        f"link set {name} {f'master {BRIDGE} ' if bridged else ''}up",
    ]


def wired_ports(topology: Topology) -> list[str]:
    """The bridge's ports but for the radio, in the order in which they are made."""
    return [CONTROLLER, *(server.name for server in topology.servers)]


def access_point_ip(topology: Topology) -> str:
    """Batch of `ip` in the AP's namespace, before hostapd starts. Open vSwitch has made its bridge before."""
    bridged = not topology.parameters.ovs
    bridge = _bridge(AP_MAC)
    lines = [
        "link set lo up",
        *([bridge] if bridged else []),
        f"addr add {AP_ADDRESS}/{PREFIX_BITS} dev {BRIDGE}",
        f"link set {BRIDGE} up",
        f"neigh add {CONTROLLER_ADDRESS} lladdr {CONTROLLER_MAC} dev {BRIDGE} nud permanent",
        *_wired_node(CONTROLLER, CONTROLLER_MAC, bridged=bridged),
    ]
    for server in topology.servers:
        lines += _wired_node(server.name, server.mac, bridged=bridged)
    for other in topology.access_points[1:]:
        lines += _wired_node(other.name, other.wire_mac, bridged=bridged)
    return _batch(lines)


def _bridge(mac: str) -> str:
    return f"link add {BRIDGE} address {mac} type bridge stp_state 0 forward_delay 0 mcast_snooping 0"


def other_access_point_ip(access_point: AccessPoint) -> str:
    """Batch of `ip` in the namespace of an access point that is not the first, after the first one's."""
    return _batch(
        [
            "link set lo up",
            _bridge(access_point.mac),
            f"addr add {access_point.address}/{PREFIX_BITS} dev {BRIDGE}",
            f"link set {BRIDGE} up",
            f"link set eth0 master {BRIDGE} up",
            f"neigh add {CONTROLLER_ADDRESS} lladdr {CONTROLLER_MAC} dev {BRIDGE} nud permanent",
        ]
    )


def other_access_point_tc(topology: Topology, access_point: AccessPoint) -> str:
    """Batch of `tc` in that namespace: towards its phones."""
    parameters = topology.parameters
    discipline = qdisc.arguments(parameters.ap_qdisc, parameters.ap_queue_packets)
    return _batch(_queues(parameters, access_point.interface, discipline))


def access_point_tc(topology: Topology) -> str:
    """Batch of `tc` in the AP's namespace: towards the phones, half of each wire's delay, and what reports meet."""
    parameters = topology.parameters
    lines = _queues(parameters, RADIO, qdisc.arguments(parameters.ap_qdisc, parameters.ap_queue_packets))
    lines += [_netem(server.name, server.delay_ms / 2) for server in topology.servers if server.delay_ms > 0]
    return _batch(lines + _to_or_from_controller(parameters, CONTROLLER))


def server_ip(topology: Topology, server: Server) -> str:
    """Batch of `ip` in a server's namespace."""
    phones = [phone for phone in topology.phones if topology.server_of(phone) == server]
    return _batch(
        [
            "link set lo up",
            f"addr add {server.address}/{PREFIX_BITS} dev eth0",
            "link set eth0 up",
            *(f"neigh add {phone.address} lladdr {phone.mac} dev eth0 nud permanent" for phone in phones),
        ]
    )


def server_tc(server: Server) -> str:
    """Batch of `tc` in a server's namespace: the other half of the wire's delay."""
    return _batch([_netem("eth0", server.delay_ms / 2)] if server.delay_ms > 0 else [])


def controller_ip(topology: Topology) -> str:
    """Batch of `ip` in the controller's namespace."""
    return _batch(
        [
            "link set lo up",
            f"addr add {CONTROLLER_ADDRESS}/{PREFIX_BITS} dev eth0",
            "link set eth0 up",
            *(f"neigh add {ap.address} lladdr {ap.mac} dev eth0 nud permanent" for ap in topology.access_points),
            *(f"neigh add {phone.address} lladdr {phone.mac} dev eth0 nud permanent" for phone in topology.phones),
        ]
    )


def controller_tc(topology: Topology) -> str:
    """Batch of `tc` in the controller's namespace: what commands meet."""
    return _batch(_to_or_from_controller(topology.parameters, "eth0"))


def phone_ip(topology: Topology, phone: Phone) -> str:
    """Batch of `ip` in a phone's namespace, once it is associated."""
    server, clamp_segs = topology.server_of(phone), topology.parameters.cwnd_clamp_segs
    to_server = f"{server.address}/32 dev {phone.interface} scope link src {phone.address}"
    return _batch(
        [
            "link set lo up",
            f"addr add {phone.address}/{PREFIX_BITS} dev {phone.interface}",
            *([f"route add {to_server} cwnd lock {clamp_segs}"] if clamp_segs is not None else []),
            f"neigh add {server.address} lladdr {server.mac} dev {phone.interface} nud permanent",
            f"neigh add {CONTROLLER_ADDRESS} lladdr {CONTROLLER_MAC} dev {phone.interface} nud permanent",
        ]
    )


def phone_tc(topology: Topology, phone: Phone, mode: str) -> str:
    """Batch of `tc` in a phone's namespace."""
    parameters = topology.parameters
    discipline = parameters.qdisc or modes.parse(mode).qdisc
    return _batch(_queues(parameters, phone.interface, qdisc.arguments(discipline, parameters.queue_packets)))


def _netem(interface: str, delay_ms: float, loss_percent: float = 0.0) -> str:
    """A wire, one way."""
    lost = f" loss {loss_percent:g}%" if loss_percent else ""
    return f"qdisc replace dev {interface} root netem delay {delay_ms:g}ms{lost} limit {NETEM_LIMIT_PACKETS}"


def _to_or_from_controller(parameters: Parameters, interface: str) -> list[str]:
    """The wire between controller and access point, one way, if it is not a perfect one."""
    delay_ms, loss_percent = parameters.controller_delay_ms, parameters.controller_loss_percent
    return [_netem(interface, delay_ms, loss_percent)] if delay_ms or loss_percent else []


def _queues(parameters: Parameters, interface: str, discipline: str) -> list[str]:
    """One queue; with WMM one for each access category, as a radio's four transmit queues have by default.

    On 6.12 an interface has one transmit queue: mac80211 has queues of its own for the categories.
    """
    if not parameters.has_wmm or parameters.kernel_line != "6.1":
        return [f"qdisc replace dev {interface} root {discipline}"]
    categories = (
        f"qdisc replace dev {interface} parent 1:{number} {discipline}" for number in range(1, ACCESS_CATEGORIES + 1)
    )
    return [f"qdisc replace dev {interface} root handle 1: mq", *categories]


def _batch(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
