"""The short form of the campaigns: a few fixed seeds, both stores. Seeds that once found something stay here.

What must not be broken is judged as in a long run. How soon things happen is not: this machine may be slow.
"""

from pathlib import Path

import pytest

from chaos.campaign import Setup, run

PATIENT = 20.0
"""By how much longer than promised things may take."""

SETUPS = (
    Setup(seed=1, store="sqlite", faults=("kill", "deploy"), seconds=5, calls=60, slack=PATIENT),
    Setup(seed=2, store="sqlite", faults=("step", "pause"), seconds=5, calls=60, slack=PATIENT, hostile=True),
    Setup(seed=3, store="postgres", faults=("restart", "kill"), seconds=5, calls=60, slack=PATIENT),
    Setup(
        seed=113073,
        store="postgres",
        faults=("reset", "cut-commit", "pause"),
        seconds=5,
        calls=60,
        slack=PATIENT,
        hostile=True,
    ),
    Setup(
        seed=5, store="postgres", faults=("step", "clock"), seconds=5, calls=60, slack=PATIENT, hostile=True
    ),
)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("setup", SETUPS, ids=lambda setup: f"{setup.store}-{'-'.join(setup.faults)}")
async def test_no_promise_is_broken(setup: Setup, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    server = request.getfixturevalue("server") if setup.store == "postgres" else None
    result = await run(setup, tmp_path / "run", server)
    assert not result.violations, f"again: {setup.command}"
    assert result.quiet
    assert result.strikes
    # A job that does not stop is stopped when all is calm again; and one kills its worker, come what may.
    assert result.counters["grace"]
    assert result.counters["rescue"] or "kill_worker" not in setup.attacks
