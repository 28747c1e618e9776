# SPDX-License-Identifier: Apache-2.0
"""The screens: all cells, one cell, events. Each draws what the model has, once a second and after a key."""

from typing import ClassVar, cast

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer, Static

from airbound.operator.top import cell_rows, event_rows, fields, flow_rows, graphs, station_rows
from airbound.operator.top.dialogs import FilterInput
from airbound.operator.top.host import Host
from airbound.operator.top.model import Model, SeenCell
from airbound.operator.top.table import LiveTable
from airbound.operator.values import NO_CELLS
from airbound.v1 import operations_pb2

GRAPH_HEAD = 36  # characters before a graph
RATIO_TOP_MIN = 2.0  # what a graph of RTT ratios shows at least


class View(Screen[None]):
    """A screen with a status line, which draws itself anew."""

    DEFAULT_CSS = """
    View Static { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    View #graphs { height: 3; }
    View LiveTable { height: 1fr; }
    """

    @property
    def top(self) -> Host:
        """The application."""
        return cast("Host", self.app)

    @property
    def model(self) -> Model:
        """What is shown."""
        return self.top.feed.model

    def on_mount(self) -> None:
        """Draw at once."""
        self.draw()

    def on_screen_resume(self) -> None:
        """Draw at once when another screen was closed."""
        self.draw()

    def on_resize(self) -> None:
        """Graphs are as wide as the screen."""
        self.draw()

    def draw(self) -> None:
        """Show what the model has now, unless the screen is not made yet or is being closed."""
        if self.query("#status"):
            self.draw_status()
            self.draw_tables()

    def draw_tables(self) -> None:
        """What each screen has of its own."""
        raise NotImplementedError

    def draw_status(self) -> None:
        """The first line, and what is looked for."""
        status = self.top.status()
        wanted = "".join(line.value for line in self.query(FilterInput))
        if wanted:
            status = Text.assemble((f" only with {wanted!r} ", "reverse"), " ", status)
        self.query_one("#status", Static).update(status)

    def open_cell(self) -> operations_pb2.Cell | None:
        """The cell that the screen is about; none if it is about all."""
        return None

    def exempted(self) -> tuple[str, str, bool] | None:
        """What `x` would exempt: whether it is a terminal or a cell, its name, whether it is exempt now."""
        return None


class CellsScreen(View):
    """All cells."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open"),
        Binding("s", "sort", "Sort"),
        Binding("S", "reverse", "Reverse", key_display="S"),
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("e", "app.events", "Events"),
        Binding("m", "app.mode", "Mode"),
        Binding("x", "app.exempt", "Exempt"),
        Binding("question_mark", "app.keys", "Keys", key_display="?"),
        Binding("q", "app.quit", "Quit"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.sort, self.descending = "ssid", False

    def compose(self) -> ComposeResult:
        """Status, table, keys."""
        yield Static(id="status", markup=False)
        yield LiveTable(cell_rows.COLUMNS, empty=NO_CELLS)
        yield FilterInput(placeholder="part of an SSID or BSSID; Enter: keep, Escape: all")
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """The table has the keys."""
        self.query_one(LiveTable).focus()
        self.draw()

    def draw_tables(self) -> None:
        """The cells in their order."""
        table, wanted = self.query_one(LiveTable), self.query_one(FilterInput).value
        table.sorted_by, table.descending = self.sort, self.descending
        table.empty = f"No cell has {wanted!r} in its SSID or BSSID." if wanted else NO_CELLS
        table.rows = cell_rows.rows(
            self.model, self.top.clock_s(), sort=self.sort, descending=self.descending, wanted=wanted
        )

    def on_input_changed(self) -> None:
        """Filter while it is typed."""
        self.draw()

    def action_open(self) -> None:
        """Open the cell under the cursor."""
        bssid = self.query_one(LiveTable).selected
        if bssid in self.model.cells:
            self.top.feed.open(bssid)
            self.app.push_screen(CellScreen(bssid))

    def on_live_table_opened(self) -> None:
        """The same with the mouse."""
        self.action_open()

    def action_sort(self) -> None:
        """Sort by the next column."""
        keys = list(cell_rows.sorts())
        self.sort = keys[(keys.index(self.sort) + 1) % len(keys)]
        self.descending = cell_rows.SORTS[self.sort][1]
        self.draw()

    def action_reverse(self) -> None:
        """The other way round."""
        self.descending = not self.descending
        self.draw()

    def action_filter(self) -> None:
        """Type what to look for."""
        line = self.query_one(FilterInput)
        line.add_class("shown")
        line.focus()

    def exempted(self) -> tuple[str, str, bool] | None:
        """The cell under the cursor."""
        seen = self.model.cells.get(self.query_one(LiveTable).selected)
        return ("cell", seen.cell.bssid, seen.cell.exempt) if seen else None


class CellScreen(View):
    """One cell."""

    DEFAULT_CSS = """
    CellScreen #stations, CellScreen #terminals { height: 2fr; min-height: 4; }
    CellScreen #events, CellScreen #flows { height: 1fr; min-height: 4; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Cells"),
        Binding("tab", "app.focus_next", "Next table", key_display="tab"),
        Binding("e", "app.events", "Events"),
        Binding("m", "app.mode", "Mode"),
        Binding("x", "app.exempt", "Exempt"),
        Binding("question_mark", "app.keys", "Keys", key_display="?"),
        Binding("q", "app.quit", "Quit"),
    ]

    def __init__(self, bssid: str) -> None:
        super().__init__()
        self.bssid = bssid

    def compose(self) -> ComposeResult:
        """Status, graphs, tables, keys."""
        yield Static(id="status", markup=False)
        yield Static(id="cell", markup=False)
        yield Static(id="graphs", markup=False)
        yield LiveTable(station_rows.STATION_COLUMNS, empty="No station is associated.", id="stations")
        yield LiveTable(station_rows.TERMINAL_COLUMNS, empty="No terminal is joined to this cell.", id="terminals")
        yield LiveTable(flow_rows.COLUMNS, id="flows")
        yield LiveTable(event_rows.COLUMNS, empty="No event of this cell is kept.", id="events")
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """The stations have the keys."""
        self.query_one("#stations", LiveTable).focus()
        self.draw()

    def draw_tables(self) -> None:
        """What was fetched of the cell last."""
        model = self.model
        with model.lock:
            seen, opened, shown = model.cells.get(self.bssid), model.open, model.events
            events = list(shown.events) if shown and shown.bssid == self.bssid else []
            if opened is not None and opened.bssid == self.bssid:
                self.query_one("#stations", LiveTable).rows = station_rows.stations(opened)
                self.query_one("#terminals", LiveTable).rows = station_rows.terminals(opened)
                flows = self.query_one("#flows", LiveTable)
                flows.rows = flow_rows.rows(opened)
                flows.display = bool(flows.rows)  # in most cells no application has a class
            complaint = opened.complaint if opened else ""
            self.query_one("#cell", Static).update(self._head(seen, complaint))
            self.query_one("#graphs", Static).update(self._graphs(seen))
        self.query_one("#events", LiveTable).rows = event_rows.rows(events, self.top.zone)

    def _head(self, seen: SeenCell | None, complaint: str) -> Text:
        if seen is None or complaint:
            return Text(complaint or f"The controller has no cell {self.bssid}.", "bold")
        cell = seen.cell
        age_ms = cell.report_age_ms + (self.top.clock_s() - seen.at_s) * 1000
        state = fields.state(cell, age_ms)
        if state == "silent":
            state = f"silent for {age_ms / 1000:.0f} s"
        edca = fields.edca(cell, short=False)
        text = Text()
        text.append(fields.ssid(cell) or cell.bssid, "bold")
        text.append(
            f"  {cell.bssid}  channel {fields.channel(cell.center_frequency_mhz)}"
            f"  n={cell.active_senders} of {cell.stations} send  {state}  EDCA {edca}"
        )
        return text

    def _graphs(self, seen: SeenCell | None) -> str:
        if seen is None:
            return "\n\n"
        cell, series, width = seen.cell, seen.series, max(0, self.size.width - GRAPH_HEAD)
        ratios = self.model.ratios.get(cell.bssid)
        busy = cell.busy_ratio if cell.HasField("busy_ratio") else None
        top_bps = max(cell.capacity_bps, series.uplink_bps.largest(), 1.0)
        top_ratio = max(RATIO_TOP_MIN, series.mean_ratio.largest())
        mean, worst = (ratios.mean, ratios.worst) if ratios else (None, None)
        lines = (
            (f"uplink {fields.mbps(cell.uplink_bps)} of {fields.mbps(cell.capacity_bps)} Mb/s",
             graphs.sparkline(series.uplink_bps, width, top_bps)),
            (f"RTTx mean {fields.ratio(mean)}, worst {fields.ratio(worst)}",
             graphs.sparkline(series.mean_ratio, width, top_ratio, 1.0)),
            (f"busy {fields.percent(busy)}", graphs.sparkline(series.busy, width, 1.0)),
        )  # fmt: skip
        return "\n".join(f"{head:<{GRAPH_HEAD - 1}.{GRAPH_HEAD - 1}} {graph}" for head, graph in lines)

    def action_close(self) -> None:
        """Back to all cells."""
        self.top.feed.open("")
        self.dismiss()

    def open_cell(self) -> operations_pb2.Cell | None:
        """This one."""
        seen = self.model.cells.get(self.bssid)
        return seen.cell if seen is not None else None

    def exempted(self) -> tuple[str, str, bool] | None:
        """The terminal under the cursor; the cell if there is none."""
        opened, focused = self.model.open, self.focused
        if opened is not None and isinstance(focused, LiveTable) and focused.id in {"stations", "terminals", "flows"}:
            for terminal in opened.terminals:
                if focused.selected.split(" ")[0] == terminal.mac:
                    return "terminal", terminal.name, terminal.exempt
        seen = self.model.cells.get(self.bssid)
        return ("cell", self.bssid, seen.cell.exempt) if seen else None


class EventsScreen(View):
    """The last events of all cells."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,e", "close", "Back", key_display="esc"),
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("question_mark", "app.keys", "Keys", key_display="?"),
        Binding("q", "app.quit", "Quit"),
    ]

    def compose(self) -> ComposeResult:
        """Status, table, keys."""
        yield Static(id="status", markup=False)
        yield LiveTable(event_rows.COLUMNS, empty="No event is kept.")
        yield FilterInput(placeholder="part of a line, such as a name or a kind; Enter: keep, Escape: all")
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """The table has the keys."""
        self.query_one(LiveTable).focus()
        self.draw()

    def draw_tables(self) -> None:
        """The newest first."""
        with self.model.lock:
            shown = self.model.events
            events = list(shown.events) if shown and not shown.bssid else []
        wanted = self.query_one(FilterInput).value
        table = self.query_one(LiveTable)
        table.empty = f"No event has {wanted!r} in its line." if wanted and events else "No event is kept."
        table.rows = event_rows.rows(events, self.top.zone, wanted)

    def on_input_changed(self) -> None:
        """Filter while it is typed."""
        self.draw()

    def action_filter(self) -> None:
        """Type what to look for."""
        line = self.query_one(FilterInput)
        line.add_class("shown")
        line.focus()

    def action_close(self) -> None:
        """Back to where it was called."""
        self.top.feed.show_events(shown=False)
        self.dismiss()
