# SPDX-License-Identifier: Apache-2.0
"""Offloads of an interface, as `ethtool -K` sets them: a program less for the guest to need."""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct

from airbound_lab.guest.system import GuestError, namespace

_SIOCETHTOOL = 0x8946
_COMMANDS = {"gro": (0x2B, 0x2C), "tso": (0x1E, 0x1F)}
"""ETHTOOL_G... and ETHTOOL_S... of each, linux/ethtool.h."""


def set_feature(netns: str, interface: str, feature: str, *, on: bool) -> None:
    """Switch an offload on or off; GuestError if the interface is not there, or stays as it was."""
    get, change = _COMMANDS[feature]
    with namespace(netns), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            _ethtool(any_socket, interface, change, int(on))
            found = _ethtool(any_socket, interface, get, 0)
        except OSError as error:
            raise GuestError(f"cannot set {feature} of {interface}: {error.strerror}") from error
    if found != on:
        raise GuestError(f"{feature} of {interface} cannot be switched {'on' if on else 'off'}")


def _ethtool(any_socket: socket.socket, interface: str, command: int, value: int) -> int:
    """Carry out a command on a struct ethtool_value; return its value afterwards."""
    data = ctypes.create_string_buffer(struct.pack("=II", command, value), 8)
    # struct ifreq: the name, and a pointer in a union of 24 bytes.
    request = struct.pack("@16sP16x", interface.encode(), ctypes.addressof(data))
    fcntl.ioctl(any_socket, _SIOCETHTOOL, request)
    found: int = struct.unpack("=II", data.raw)[1]
    return found
