# SPDX-License-Identifier: Apache-2.0
"""A web server on loopback that has the pages, LuCI or the stand-in for it, and a router."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from luci_pages.router import Router

APPLICATION = Path(__file__).parents[2]
RIGHTS = APPLICATION / "root/usr/share/rpcd/acl.d/luci-app-airbound.json"
STAND_IN = APPLICATION / "testing" / "stand_in"
RESOURCES = "/luci-static/resources/"
MEDIA = "/luci-static/bootstrap/"
SCRIPT = "/cgi-bin/luci"
POLL_SECONDS = 1
TYPES = {".css": "text/css", ".js": "text/javascript", ".png": "image/png", ".svg": "image/svg+xml"}


@dataclass(frozen=True)
class Modules:
    """Where the modules of LuCI come from."""

    source: Path | None = None
    """A checkout of LuCI; None for the stand-in."""

    def file(self, path: str) -> Path | None:
        """The file of a URL's path, None if there is none. Ours come first, as on a router."""
        if path.startswith(RESOURCES):
            name = path.removeprefix(RESOURCES)
            places = [APPLICATION / "htdocs/luci-static/resources"]
            if self.source is None:
                places.append(STAND_IN)
            else:
                places.append(self.source / "modules/luci-base/htdocs/luci-static/resources")
                places.append(self.source / "themes/luci-theme-bootstrap/htdocs/luci-static/resources")
        elif path.startswith(MEDIA) and self.source is not None:
            name = path.removeprefix(MEDIA)
            places = [self.source / "themes/luci-theme-bootstrap/htdocs/luci-static/bootstrap"]
        else:
            return None
        if ".." in name.split("/"):
            return None
        return next((place / name for place in places if (place / name).is_file()), None)

    def page(self, view: str) -> str:
        """The document that LuCI's templates make for a view: theme's header, start of LuCI, view, footer."""
        path = f"admin/services/{view}"
        environment = {
            "media": MEDIA.rstrip("/"),
            "resource": RESOURCES.rstrip("/"),
            "scriptname": SCRIPT,
            "pathinfo": f"/{path}",
            "documentroot": "/www",
            "requestpath": path.split("/"),
            "dispatchpath": path.split("/"),
            "pollinterval": POLL_SECONDS,
            "ubuspath": "/ubus/",
            "sessionid": "0" * 31 + "1",
            "token": "0" * 32,
            "nodespec": {"satisfied": True, "readonly": False, "title": view, "action": {"type": "view", "path": view}},
            "apply_rollback": 90,
            "apply_holdoff": 1,
            "apply_timeout": 5,
            "apply_display": 1.5,
        }
        start = (
            f"standInStart('{view}');"
            if self.source is None
            else f"L.require('ui').then(function(ui) {{ ui.instantiateView('{view}'); }});"
        )
        return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>access point</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="{MEDIA}cascade.css">
<link rel="stylesheet" media="only screen and (max-device-width: 854px)" href="{MEDIA}mobile.css">
<script src="{RESOURCES}cbi.js"></script></head>
<body class="lang_en" data-page="{path.replace("/", "-")}">
<header><a class="brand" href="/">access-point</a><ul class="nav" id="topmenu" style="display:none"></ul>
<div id="indicators" class="pull-right"></div></header>
<div id="maincontent" class="container"><div id="tabmenu" style="display:none"></div>
<script src="{RESOURCES}luci.js"></script>
<script>L = new LuCI({json.dumps(environment)});</script>
<div id="view"><div class="spinning">Loading view…</div><script>{start}</script></div>
</div></body></html>
"""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    router: ClassVar[Router]
    modules: ClassVar[Modules]

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path.startswith(f"{SCRIPT}/admin/services/"):
            page = self.modules.page(path.removeprefix(f"{SCRIPT}/admin/services/"))
            self._answer(page.encode(), "text/html; charset=utf-8")
            return
        file = self.modules.file(path)
        if file is None:
            self._answer(b"", "text/plain", status=404)
        else:
            self._answer(file.read_bytes(), TYPES.get(file.suffix, "application/octet-stream"))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not self.path.startswith("/ubus/"):
            self._answer(b"", "text/plain", status=404)
            return
        messages: Any = json.loads(body)
        answer = [self.router.call(m) for m in messages] if isinstance(messages, list) else self.router.call(messages)
        self._answer(json.dumps(answer).encode(), "application/json")

    def log_message(self, *_: Any) -> None:
        """Requests are not logged."""

    def _answer(self, body: bytes, kind: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serve(router: Router, modules: Modules) -> Iterator[str]:
    """Serves on a free port of loopback and yields the URL of the pages' folder."""
    handler = type("Handler", (_Handler,), {"router": router, "modules": modules})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}{SCRIPT}/admin/services/airbound"
        finally:
            server.shutdown()
            thread.join()
