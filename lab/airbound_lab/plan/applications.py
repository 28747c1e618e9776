# SPDX-License-Identifier: Apache-2.0
r"""The real applications of a run: their servers, their commands, and what is recorded of them; pure.

    phone's namespace                          its server's namespace

    ffmpeg  video.flv --- RTMP, :1935 + n ---> nginx, RTMP module --> record/n.flv
    curl -T upload    --- HTTP, :8080 + n ---> nginx, WebDAV      --> put/n/...
    http_transactions --- HTTP, :8080 + n ---> http_transactions

n numbers the applications of a scenario, in the order of their starts: each has a port, and with it connections, of its
own. One nginx in each server's namespace serves all that upload there, and one http_transactions.py all that fetch
there. guest_programs/applications_watch.py records when the files in record/ grew, and the phones' connections.

Between photos curl reads a named pipe, one for each pause, as a file of no length: it ends after the pause.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airbound_lab.plan import classes
from airbound_lab.settings.application import File, Http, Live, Photos

if TYPE_CHECKING:
    from airbound_lab.plan.guest_paths import Programs
    from airbound_lab.plan.topology import Server, Topology
    from airbound_lab.settings.scenario import Action

RTMP_PORT, HTTP_PORT = 1935, 8080
HOME = "/run/lab/applications"
"""In the guest's memory."""
RESULT = "applications.json"
"""What is known at the end (guest/applications.py), in the result directory."""
WATCHED = "applications-watched.json"
"""What was recorded (guest_programs/applications_watch.py), in the same."""
SAMPLE_MS = 100
RTMP_MODULE = "/usr/lib/nginx/modules/ngx_rtmp_module.so"

DSCP_VIDEO = 34
"""AF41, multimedia conferencing (RFC 4594); RFC 8325 and cfg80211_classify8021d() make it user priority 4, AC_VI."""

CURL_WRITES = "%{exitcode} %{http_code} %{time_total}\n"
"""For each transfer; the pauses are transfers as well, without a code."""


def started(cell: Topology) -> list[Action]:
    """The starts of applications that the run reaches, in order; an application's number is its place."""
    parameters = cell.parameters
    actions = parameters.scenario.application_actions()
    return [action for action in actions if action.at_s < parameters.seconds]


def record_file(number: int) -> str:
    """Name of what nginx recorded of an application, in the result directory."""
    return f"application-{number}.flv"


def output_file(number: int) -> str:
    """Name of what an application printed, in the result directory."""
    return f"application-{number}.out"


def plan(cell: Topology, programs: Programs, directory: str) -> dict[str, Any] | None:
    """Return what the guest starts; None without an application. `directory` is that of the results."""
    actions = started(cell)
    if not actions:
        return None
    numbered = list(enumerate(actions))

    def at_servers(*, fetches: bool) -> list[tuple[Server, list[int]]]:
        found: dict[Server, list[int]] = {}
        for number, action in numbered:
            if isinstance(action.application, Http) is fetches:
                found.setdefault(cell.server_of(cell.phones[action.phone - 1]), []).append(number)
        return [(server, found[server]) for server in cell.servers if server in found]

    uploads = at_servers(fetches=False)
    return {
        "home": HOME,
        "servers": [
            *(_nginx(cell, programs, server, numbers, numbered) for server, numbers in uploads),
            *(_http(programs, server, numbers) for server, numbers in at_servers(fetches=True)),
        ],
        "clients": [
            _as_user(_client(cell, programs, directory, number, action), classes.uid_of(cell.parameters, action))
            for number, action in numbered
        ],
        "watch": {
            "argv": [
                *(*programs.python_command, programs.applications_watch, str(SAMPLE_MS), f"{directory}/{WATCHED}"),
                *(f"record={HOME}/{server.name}/record" for server, _ in uploads),
                *(f"connections={number}/{cell.phones[action.phone - 1].name}/{_port(number, action)}"
                  for number, action in numbered),
            ],
        },
    }  # fmt: skip


def _port(number: int, action: Action) -> int:
    return (RTMP_PORT if isinstance(action.application, Live) else HTTP_PORT) + number


def _marked(cell: Topology, programs: Programs, argv: list[str]) -> list[str]:
    """A program whose sockets mark what they send as video, if live video does. One that accepts connections marks the
    answers, ACKs among them.
    """
    if not cell.parameters.live_marks:
        return argv
    return ["/usr/bin/env", f"LD_PRELOAD={programs.marks}", f"AIRBOUND_DSCP={DSCP_VIDEO}", *argv]


def _nginx(
    cell: Topology, programs: Programs, server: Server, numbers: list[int], numbered: list[tuple[int, Action]]
) -> dict[str, Any]:
    home = f"{HOME}/{server.name}"
    live = [n for n in numbers if isinstance(numbered[n][1].application, Live)]
    http = [n for n in numbers if n not in live]
    rtmp_listens = "\n".join(f"\t\tlisten {server.address}:{RTMP_PORT + n};" for n in live)
    http_listens = "\n".join(f"\t\tlisten {server.address}:{HTTP_PORT + n};" for n in http)
    paths = "\n".join(
        f"\t{name}_temp_path {home}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    rtmp = f"""load_module {RTMP_MODULE};
rtmp {{
	access_log off;
	server {{
{rtmp_listens}
		application live {{
			live on;
			record video;
			record_path {home}/record;
			record_suffix .flv;
		}}
	}}
}}
"""
    web = f"""http {{
	log_format arrived '$uri $msec $status $request_length';
	access_log {home}/arrived arrived;
{paths}
	server {{
{http_listens}
		client_max_body_size 0;
		lingering_close off;
		location / {{
			root {home}/put;
			dav_methods PUT;
			create_full_put_path on;
		}}
	}}
}}
"""
    argv = ["/usr/sbin/nginx", "-p", home, "-c", f"{home}/nginx.conf", "-e", "stderr"]
    modules, _, blocks = (rtmp if live else "").partition("\n")
    text = f"""{modules}
daemon off;
master_process off;
user root;
pid {home}/pid;
events {{
}}
{blocks}{web if http else ""}"""
    return {
        "name": f"nginx-{server.name}",
        "netns": server.name,
        "home": home,
        "directories": [home, f"{home}/record", f"{home}/put"],
        "config": text,
        "config_file": f"{home}/nginx.conf",
        "pid_file": f"{home}/pid",
        "arrived": f"{home}/arrived",
        "argv": _marked(cell, programs, argv) if live else argv,
    }


def _http(programs: Programs, server: Server, numbers: list[int]) -> dict[str, Any]:
    name = f"http-{server.name}"
    ready, addresses = f"{HOME}/{name}.ready", [f"{server.address}:{HTTP_PORT + number}" for number in numbers]
    return {
        "name": name,
        "netns": server.name,
        "directories": [],
        "config": None,
        "pid_file": ready,
        "arrived": None,
        "argv": [*programs.python_command, programs.http_transactions, "serve", ready, *addresses],
    }


def _client(cell: Topology, programs: Programs, directory: str, number: int, action: Action) -> dict[str, Any]:
    phone = cell.phones[action.phone - 1]
    server, application = cell.server_of(phone), action.application
    url = f"http://{server.address}:{HTTP_PORT + number}/{number}"
    client: dict[str, Any] = {
        "name": f"application-{number}",
        "output": f"{directory}/{output_file(number)}",
        "netns": phone.name,
        "upload": None,
        "pauses": [],
        "record": None,
    }
    upload, pause = f"{HOME}/upload-{number}", f"{HOME}/pause-{number}"
    if isinstance(application, Live):
        video = f"{programs.videos}/{video_file(application)}"
        to = f"rtmp://{server.address}:{RTMP_PORT + number}/live/{number}"
        record = {"from": f"{HOME}/{server.name}/record/{number}.flv", "to": record_file(number)}
        return client | {"argv": _marked(cell, programs, _ffmpeg(application, video, to)), "record": record}
    if isinstance(application, File):
        return client | {
            "argv": ["/usr/bin/curl", *_CURL, "-T", upload, f"{url}/0"],
            "upload": {"path": upload, "bytes": application.size_bytes},
        }
    if isinstance(application, Photos):
        return client | {
            "argv": _curl_photos(application, upload, pause, url),
            "upload": {"path": upload, "bytes": application.size_bytes},
            "pauses": [f"{pause}-{photo}" for photo in range(1, application.count)] if application.pause_s else [],
            "pause_s": application.pause_s,
        }
    if isinstance(application, Http):
        words = [f"{server.address}:{HTTP_PORT + number}", str(application.clients), application.connections]
        program = [*programs.python_command, programs.http_transactions]
        return client | {"argv": [*program, "fetch", *words, f"{application.length_s:g}"]}
    raise ValueError(f"{action.do} has no application")


def _as_user(client: dict[str, Any], uid: int | None) -> dict[str, Any]:
    """The same, run by a user of its own."""
    if uid is None:
        return client
    return client | {"argv": ["/usr/bin/setpriv", f"--reuid={uid}", "--clear-groups", *client["argv"]]}


_CURL = ("--silent", "--show-error", "--output", "/dev/null", "--write-out", CURL_WRITES)


def _curl_photos(application: Photos, upload: str, pause: str, url: str) -> list[str]:
    words = ["/usr/bin/curl"]
    for photo in range(application.count):
        if photo:
            words.append("--next")
            if application.pause_s:
                words += [*_CURL, f"file://{pause}-{photo}", "--next"]
        words += [*_CURL, *(("-H", "Connection: close") if application.connections == "each" else ())]
        words += [] if application.asks else ["-H", "Expect:"]
        words += ["-T", upload, f"{url}/{photo}"]
    return words


def _ffmpeg(application: Live, video: str, to: str) -> list[str]:
    """Read at the pace of the video; what is sent goes through a queue of its own, in a thread of its own."""
    drop = application.sender == "drop"
    return [
        *("/usr/bin/ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "info", "-nostats", "-re", "-i", video),
        *("-map", "0:v", "-c", "copy", "-f", "fifo", "-fifo_format", "flv"),
        *("-format_opts", "flvflags=no_duration_filesize", "-queue_size", str(application.queue_frames)),
        *(("-drop_pkts_on_overflow", "1", "-restart_with_keyframe", "1") if drop else ()),
        to,
    ]


def video_file(application: Live) -> str:
    """Name of the encoded video; all that the encoder is given is in it."""
    return f"video-{application.rate_kbps}kbps-{application.length_s}s.flv"


def sysctls(cell: Topology, phone: int, congestion: str) -> dict[str, str]:
    """Kernel settings of the namespace of a phone with applications: theirs cannot set them for themselves."""
    own = [a.application for a in started(cell) if a.phone == phone and a.application is not None]
    if not own:
        return {}
    settings = {"net/ipv4/tcp_congestion_control": congestion}
    limits = [application.send_buffer_bytes for application in own if application.send_buffer_bytes is not None]
    if limits:
        # minimum, what a socket begins with, maximum
        settings["net/ipv4/tcp_wmem"] = f"4096 {min(limits)} {min(limits)}"
    return settings
