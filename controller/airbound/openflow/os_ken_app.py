# SPDX-License-Identifier: Apache-2.0
"""OpenFlow 1.3 by os-ken: the only file that knows either. Answers become `messages.Answer`, messages become OpenFlow.

os-ken runs in threads of this process (hub `native`): one for each connection's reading, one for its writing, one for
its echo requests, one for the handlers. What they find out goes to the event loop by `call_soon_threadsafe`; what is
to be sent goes to a thread of ours for each switch, since os-ken's `send` waits for a switch that does not read.

What a reader must know of os-ken 4.2.2:
- without unanswered echo requests being counted (its default) a switch that disconnects while nothing is sent to it is
  never reported as gone, and two threads are left;
- the end of an old connection is reported after the beginning of a new one of the same datapath: connections are told
  apart by their local port, never by the datapath;
- it parses matches and instructions of every flow's statistics, a tenth of a millisecond each; ours reads three
  numbers.
"""

import asyncio
import logging
import os
import queue
import struct
import threading
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

os.environ["OSKEN_HUB_TYPE"] = "native"
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of what os-ken imports
    from os_ken import cfg
    from os_ken.base import app_manager
    from os_ken.controller import ofp_event
    from os_ken.controller.handler import (
        CONFIG_DISPATCHER,
        DEAD_DISPATCHER,
        HANDSHAKE_DISPATCHER,
        MAIN_DISPATCHER,
        set_ev_cls,
    )
    from os_ken.ofproto import ofproto_v1_3 as ofp
    from os_ken.ofproto import ofproto_v1_3_parser as parser

from airbound.core.addresses import address_text
from airbound.openflow.flows import COPIED_BYTES
from airbound.openflow.messages import (
    AddFlow,
    Answer,
    AskDescription,
    AskFlowStats,
    AskMeterConfigs,
    AskMeterFeatures,
    AskMeterStats,
    AskPorts,
    Barrier,
    DeleteCookies,
    DeleteFlow,
    DeleteMeter,
    Description,
    Failed,
    FlowStat,
    FlowStats,
    LimitCopies,
    Match,
    Message,
    MeterConfigs,
    MeterFeatures,
    MeterStats,
    PacketIn,
    Ports,
    SetMeter,
)
from airbound.openflow.packets import IPV6, TCP

ECHO_EVERY_S, ECHOES_UNANSWERED_MAX = 2.0, 2
SEND_TIMEOUT_S = 5.0
APP = "airbound"


class Up(NamedTuple):
    """A switch has said who it is; `port` is the one that its connection comes from."""

    port: int
    datapath_id: int


class Down(NamedTuple):
    """A connection has ended."""

    port: int


class Said(NamedTuple):
    """A switch sent something."""

    port: int
    answer: Answer


Event = Up | Down | Said
Listener = Callable[[Event], None]


class FlowStatsEntry:
    """Of struct ofp_flow_stats (OpenFlow 1.3.5, 7.3.5.2) what is needed, in place of os-ken's own class."""

    __slots__ = ("flow", "length")
    flow: FlowStat
    length: int
    _FIELDS = struct.Struct("!H22xQQQ")  # length, ..., cookie, packets, octets

    @classmethod
    def parser(cls, octets: bytes, at: int) -> "FlowStatsEntry":
        """One entry of a reply."""
        entry = cls()
        entry.length, *counted = cls._FIELDS.unpack_from(octets, at)
        if entry.length < cls._FIELDS.size:
            raise ValueError("an entry of flow statistics without a length")  # would be read for ever
        entry.flow = FlowStat(*counted)
        return entry


parser.OFPFlowStatsReply.cls_stats_body_cls = FlowStatsEntry


class OpenFlow:
    """os-ken, listening on a port of the loopback interface. `accepts` is called in os-ken's threads with the port that
    a connection comes from; others than those of our own front are closed before anything of them counts.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, listener: Listener, accepts: Callable[[int], bool]) -> None:
        self._loop = loop
        self._listener = listener
        self._accepts = accepts
        self._senders: dict[int, _Sender] = {}
        self._lock = threading.Lock()

    def start(self, port: int) -> None:
        """Listen on 127.0.0.1. Once in a process: os-ken's settings are the process's."""
        settings = cfg.CONF
        settings(args=[], project="airbound", default_config_files=[], default_config_dirs=[])
        settings.set_override("ofp_listen_host", "127.0.0.1")
        settings.set_override("ofp_tcp_listen_port", port)
        settings.set_override("ofp_ssl_listen_port", port)
        settings.set_override("socket_timeout", SEND_TIMEOUT_S)
        settings.set_override("echo_request_interval", ECHO_EVERY_S)
        settings.set_override("maximum_unreplied_echo_requests", ECHOES_UNANSWERED_MAX)
        logging.getLogger("os_ken").setLevel(logging.CRITICAL)  # the process logs what ends a connection
        manager = app_manager.AppManager.get_instance()
        _App.bridge = self
        manager.load_apps([__name__])
        manager.instantiate_apps(**manager.create_contexts())

    def send(self, port: int, messages: list[Message]) -> None:
        """Have messages sent in their order; nothing happens if the connection has ended."""
        with self._lock:
            sender = self._senders.get(port)
        if sender is not None and messages:
            sender.waiting.put(messages)

    def close(self, port: int) -> None:
        """End a connection."""
        with self._lock:
            sender = self._senders.get(port)
        if sender is not None:
            sender.datapath.close()

    def up(self, datapath: Any, datapath_id: int) -> None:
        """In os-ken's thread: a switch has said who it is."""
        port = _port(datapath)
        if not self._accepts(port):
            datapath.close()
            return
        with self._lock:
            if port in self._senders:
                return  # it says so again
            self._senders[port] = _Sender(datapath)
        self._tell(Up(port, datapath_id))

    def down(self, datapath: Any) -> None:
        """In os-ken's thread: a connection has ended."""
        port = _port(datapath)
        with self._lock:
            sender = self._senders.pop(port, None)
        if sender is not None:
            sender.waiting.put(None)
            self._tell(Down(port))

    def said(self, datapath: Any, answer: Answer) -> None:
        """In os-ken's thread: a switch sent something."""
        self._tell(Said(_port(datapath), answer))

    def _tell(self, event: Event) -> None:
        try:
            self._loop.call_soon_threadsafe(self._listener, event)
        except RuntimeError:
            return  # the loop is closed: the process ends


class _Sender:
    """Makes OpenFlow of what is to be sent, in a thread."""

    def __init__(self, datapath: Any) -> None:
        self.datapath = datapath
        self.waiting = queue.SimpleQueue[list[Message] | None]()
        threading.Thread(target=self._run, daemon=True, name="openflow-send").start()

    def _run(self) -> None:
        while (messages := self.waiting.get()) is not None:
            octets = b"".join(_octets(self.datapath, message) for message in messages)
            if not self.datapath.send(octets):
                return


def _port(datapath: Any) -> int:
    port: int = datapath.address[1]
    return port


def _octets(datapath: Any, request: Message) -> bytes:
    message = _encoded(datapath, request)
    datapath.set_xid(message)
    message.serialize()
    return bytes(message.buf)


def _encoded(datapath: Any, message: Message) -> Any:  # noqa: C901, PLR0911, PLR0912  # one line for each
    match message:
        case AddFlow():
            return _add_flow(datapath, message)
        case DeleteFlow():
            return _flow_mod(
                datapath, ofp.OFPFC_DELETE_STRICT, message.match, table_id=message.table, priority=message.priority
            )
        case DeleteCookies():
            return _flow_mod(
                datapath,
                ofp.OFPFC_DELETE,
                Match(),
                table_id=ofp.OFPTT_ALL,
                cookie=message.cookie,
                cookie_mask=message.mask,
            )
        case SetMeter():
            command = ofp.OFPMC_MODIFY if message.there else ofp.OFPMC_ADD
            flags = ofp.OFPMF_KBPS | ofp.OFPMF_BURST | ofp.OFPMF_STATS
            bands = [parser.OFPMeterBandDrop(rate=message.kbps, burst_size=message.burst_kbit)]
            return parser.OFPMeterMod(datapath, command, flags, message.meter, bands)
        case LimitCopies():
            flags = ofp.OFPMF_PKTPS | ofp.OFPMF_BURST
            bands = [parser.OFPMeterBandDrop(rate=message.packets_per_s, burst_size=message.burst)]
            return parser.OFPMeterMod(datapath, ofp.OFPMC_ADD, flags, ofp.OFPM_CONTROLLER, bands)
        case DeleteMeter():
            return parser.OFPMeterMod(datapath, ofp.OFPMC_DELETE, 0, message.meter, [])
        case Barrier():
            return parser.OFPBarrierRequest(datapath)
        case AskDescription():
            return parser.OFPDescStatsRequest(datapath, 0)
        case AskPorts():
            return parser.OFPPortDescStatsRequest(datapath, 0)
        case AskMeterFeatures():
            return parser.OFPMeterFeaturesStatsRequest(datapath, 0)
        case AskMeterConfigs():
            return parser.OFPMeterConfigStatsRequest(datapath, 0, ofp.OFPM_ALL)
        case AskMeterStats():
            return parser.OFPMeterStatsRequest(datapath, 0, ofp.OFPM_ALL)
        case AskFlowStats():
            return parser.OFPFlowStatsRequest(datapath, cookie=message.cookie, cookie_mask=message.mask)


def _add_flow(datapath: Any, flow: AddFlow) -> Any:
    instructions = [parser.OFPInstructionMeter(flow.meter)] if flow.meter else []
    actions = []
    if flow.dscp >= 0:
        actions.append(parser.OFPActionSetField(ip_dscp=flow.dscp))
    if flow.copy:
        actions.append(parser.OFPActionOutput(ofp.OFPP_CONTROLLER, COPIED_BYTES))
    if not flow.goto:
        actions.append(parser.OFPActionOutput(ofp.OFPP_NORMAL))
    if actions:
        instructions.append(parser.OFPInstructionActions(ofp.OFPIT_APPLY_ACTIONS, actions))
    if flow.goto:
        instructions.append(parser.OFPInstructionGotoTable(flow.goto))
    return _flow_mod(
        datapath,
        ofp.OFPFC_ADD,
        flow.match,
        table_id=flow.table,
        priority=flow.priority,
        cookie=flow.cookie,
        idle_timeout=flow.idle_s,
        hard_timeout=flow.hard_s,
        instructions=instructions,
    )


def _flow_mod(datapath: Any, command: int, match: Match, **fields: Any) -> Any:
    wanted = {
        "command": command,
        "match": _match(match),
        "buffer_id": ofp.OFP_NO_BUFFER,
        "out_port": ofp.OFPP_ANY,
        "out_group": ofp.OFPG_ANY,
    } | fields
    return parser.OFPFlowMod(datapath, **wanted)


def _match(match: Match) -> Any:
    fields: dict[str, Any] = {}
    if match.in_port:
        fields["in_port"] = match.in_port
    if match.station:
        fields["eth_src" if match.uplink else "eth_dst"] = match.station.hex(":")
    if match.ethernet_type:
        fields["eth_type"] = match.ethernet_type
    if match.address:
        family = "ipv6" if match.ethernet_type == IPV6 else "ipv4"
        fields[f"{family}_{'dst' if match.uplink else 'src'}"] = address_text(match.address)
    if match.ip_protocol:
        fields["ip_proto"] = match.ip_protocol
    if match.port:
        fields[f"{'tcp' if match.ip_protocol == TCP else 'udp'}_{'dst' if match.uplink else 'src'}"] = match.port
    return parser.OFPMatch(**fields)


_FLOW_MOD, _METER_MOD = ofp.OFPT_FLOW_MOD, ofp.OFPT_METER_MOD
_FAILED_BYTES = 16  # that say which flow or meter it was about


def _failed(message: Any) -> Failed:
    data = bytes(message.data or b"")
    cookie = meter = 0
    if len(data) >= _FAILED_BYTES:
        if data[1] == _FLOW_MOD:
            cookie = int.from_bytes(data[8:16], "big")
        elif data[1] == _METER_MOD:
            meter = int.from_bytes(data[12:16], "big")
    return Failed(message.type, message.code or 0, cookie, meter)


_KNOWN = [CONFIG_DISPATCHER, MAIN_DISPATCHER]  # states of a switch that has said who it is, or is about to


class _App(app_manager.OSKenApp):  # type: ignore[misc]  # os-ken has no types
    """Its handlers run in one thread, one after the other.

    os-ken counts a switch as connected once it has listed its ports. The base flows do not wait for that: Open vSwitch
    that had none for a while has removed its own by then, and forwards nothing before it has ours.
    """

    OFP_VERSIONS = (ofp.OFP_VERSION,)
    bridge: OpenFlow

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)  # type: ignore[untyped-decorator]
    def _features(self, event: Any) -> None:
        self.bridge.up(event.msg.datapath, event.msg.datapath_id)

    @set_ev_cls(ofp_event.EventOFPStateChange, DEAD_DISPATCHER)  # type: ignore[untyped-decorator]
    def _dead(self, event: Any) -> None:
        self.bridge.down(event.datapath)

    @set_ev_cls(ofp_event.EventOFPPacketIn, _KNOWN)  # type: ignore[untyped-decorator]
    def _packet_in(self, event: Any) -> None:
        self._said(event, PacketIn(bytes(event.msg.data), event.msg.match.get("in_port", 0)))

    @set_ev_cls(ofp_event.EventOFPPortDescStatsReply, _KNOWN)  # type: ignore[untyped-decorator]
    def _ports(self, event: Any) -> None:
        names = tuple((port.port_no, port.name.decode("utf-8", "replace").rstrip("\0")) for port in event.msg.body)
        self._said(event, Ports(names, _more(event)))

    @set_ev_cls(ofp_event.EventOFPFlowStatsReply, _KNOWN)  # type: ignore[untyped-decorator]
    def _flow_stats(self, event: Any) -> None:
        self._said(event, FlowStats(tuple(entry.flow for entry in event.msg.body), _more(event)))

    @set_ev_cls(ofp_event.EventOFPMeterStatsReply, _KNOWN)  # type: ignore[untyped-decorator]
    def _meter_stats(self, event: Any) -> None:
        dropped = tuple(
            (meter.meter_id, sum(band.byte_band_count for band in meter.band_stats)) for meter in event.msg.body
        )
        self._said(event, MeterStats(dropped, _more(event)))

    @set_ev_cls(ofp_event.EventOFPMeterConfigStatsReply, _KNOWN)  # type: ignore[untyped-decorator]
    def _meter_configs(self, event: Any) -> None:
        self._said(event, MeterConfigs(tuple(meter.meter_id for meter in event.msg.body), _more(event)))

    @set_ev_cls(ofp_event.EventOFPMeterFeaturesStatsReply, _KNOWN)  # type: ignore[untyped-decorator]
    def _meter_features(self, event: Any) -> None:
        body = event.msg.body
        features = body[0] if isinstance(body, list) else body
        drops = features.band_types >> ofp.OFPMBT_DROP & 1 and features.capabilities & ofp.OFPMF_KBPS
        self._said(event, MeterFeatures(features.max_meter if drops else 0))

    @set_ev_cls(ofp_event.EventOFPDescStatsReply, _KNOWN)  # type: ignore[untyped-decorator]
    def _description(self, event: Any) -> None:
        description = event.msg.body
        parts = (
            part.decode("utf-8", "replace").rstrip("\0")
            for part in (description.mfr_desc, description.hw_desc, description.sw_desc)
        )
        self._said(event, Description(", ".join(filter(None, parts))))

    @set_ev_cls(ofp_event.EventOFPErrorMsg, [HANDSHAKE_DISPATCHER, *_KNOWN])  # type: ignore[untyped-decorator]
    def _error(self, event: Any) -> None:
        self._said(event, _failed(event.msg))

    def _said(self, event: Any, answer: Answer) -> None:
        self.bridge.said(event.msg.datapath, answer)


def _more(event: Any) -> bool:
    return bool(event.msg.flags & ofp.OFPMPF_REPLY_MORE)
