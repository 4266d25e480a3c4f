"""The processes that run the jobs and send the webhooks of a run."""

from chaos.crew import Trade

APP = "chaos.webhooks.app:app"
_TERMS = ("--queues", "default,mail", "--slots", "1", "--lease-seconds", "2", "--shutdown-seconds", "1")

SENDING = Trade(
    side="relay",
    roles={
        "scheduler": (),
        "worker": (APP, *_TERMS),
        "serve": (APP, "--port", "0", *_TERMS),
    },
    order=("worker", "serve", "scheduler", "worker", "scheduler"),
    # Around each step of a message: read, recorded, taken, sent, and settled.
    armed=(
        "relay.read=kill@{n}",
        "relay.read=pause:3@{n}",
        "relay.fan_out.before=kill@{n}",
        "relay.fan_out.after=kill@{n}",
        "relay.taken=kill@{n}",
        "relay.sent.before=kill@{n}",
        "relay.sent.after=kill@{n}",
        "relay.settle.before=kill@{n}",
        "relay.settle.before=pause:3@{n}",
        "relay.settle.after=kill@{n}",
    ),
    variables={
        "TENURE_ASYNC_SLOTS": "10",
        "TENURE_WEBHOOK_ALLOW": "127.0.0.0/8",
        "TENURE_POLL_SECONDS": "0.2",
    },
)
