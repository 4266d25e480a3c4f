"""The processes that fire the schedules of a run."""

from chaos.crew import Trade

APP = "chaos.schedules.app:app"
_TERMS = ("--slots", "1", "--lease-seconds", "2", "--shutdown-seconds", "1")

FIRING = Trade(
    side="clock",
    roles={
        "scheduler": (),
        "worker": (APP, *_TERMS),
        "serve": (APP, "--port", "0", *_TERMS),
    },
    order=("worker", "scheduler", "serve", "scheduler", "scheduler"),
    # Between reading and firing, or with what they fired unspoken of.
    armed=(
        "clock.read=pause:3@{n}",
        "clock.read=kill@{n}",
        "clock.fire.before=kill@{n}",
        "clock.fire.after=kill@{n}",
    ),
    variables={"TENURE_ASYNC_SLOTS": "50"},
)
