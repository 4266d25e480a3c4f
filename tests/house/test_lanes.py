"""The lanes stand in one table, and every other module reads it."""

import ast
from typing import get_args, get_type_hints

from tenure.core.model.lanes import LANES
from tenure.engine.config import WorkerConfig
from tenure.settings.settings import Settings
from tenure.surfaces.library.terms import DefinitionTerms
from tools import code_map

SOURCE = code_map.SOURCE
TABLE = "core/model/lanes.py"
OTHER_MEANINGS = {
    "execution/handler/log_capture.py": {"process", "thread"},  # attributes of a log record
    "assemble/metrics_port.py": {"process"},  # the audience of a call
    "storage/": {"spawn"},  # a statement
    "surfaces/http/": {"process"},
    "surfaces/library/terms.py": {*LANES},  # the Literal, which the type checker reads, and a call's name
    "telemetry/traces/attempt_spans.py": {"process"},  # OpenTelemetry's name of an operation
}
"""Where the name of a lane means something else, by the beginning of a path."""


def test_the_name_of_a_lane_is_written_in_the_table_alone() -> None:
    written = {}
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        allowed = {
            name for start, names in OTHER_MEANINGS.items() if place.startswith(start) for name in names
        }
        texts = {
            node.value
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        if place != TABLE and (found := (texts & LANES.keys()) - allowed):
            written[place] = found
    assert not written


def test_the_library_takes_every_lane_for_functions() -> None:
    named = get_args(get_type_hints(DefinitionTerms)["lane"])
    assert set(named) == {lane.name for lane in LANES.values() if lane.takes != "program"}


def test_the_slots_of_every_lane_can_be_set() -> None:
    for lane in LANES.values():
        assert lane.slots in Settings.__struct_fields__
        assert lane.slots in WorkerConfig.__struct_fields__
        assert LANES[lane.slot_group].slots == lane.slots
        assert LANES[lane.slot_group].slot_group == lane.slot_group
