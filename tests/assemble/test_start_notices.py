"""How attempts are kept apart, as a worker says it, where it can keep them so and where it cannot."""

import subprocess
import sys

from tenure.assemble.start_notices import READABLE, isolation
from tenure.core.model.lanes import LANES
from tenure.core.model.spec import Spec

WITH_FEW_FILES = """
import resource
from tenure.core.model.spec import Spec
from tenure.assemble.start_notices import isolation
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
specs = [Spec(key="plain"), Spec(key="wide", files=1024), Spec(key="fits", files=256)]
print(*isolation(specs, is_root=False), sep="\\n")
"""


def test_every_lane_in_use_has_its_line() -> None:
    specs = [Spec(key="mail", version=version, lane=lane) for lane in LANES for version in (1, 2)]
    lines = list(isolation(specs, is_root=False))
    assert sorted(line.split()[1] for line in lines) == sorted(LANES)
    assert all(line.endswith(": mail@1, mail@2") for line in lines)


def test_a_limit_that_cannot_be_given_is_told() -> None:
    _, *rest = subprocess.check_output([sys.executable, "-c", WITH_FEW_FILES], text=True).splitlines()
    assert rest == ["isolation: files of wide@1 is 256, not 1024: this machine allows no more"]


def test_root_is_told_that_limits_do_not_bind_him() -> None:
    _, *rest = isolation([Spec(key="plain"), Spec(key="light", memory=1 << 30)], is_root=True)
    assert rest == [
        READABLE,
        "isolation: attempts run as root, which may lift the limits of light@1",
    ]


def test_another_user_is_named() -> None:
    _, *rest = isolation([Spec(key="plain")], is_root=False, user="nobody")
    assert rest == ["isolation: attempts run as nobody"]
