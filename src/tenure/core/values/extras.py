"""Packages that only some need, by the name of the extra that brings them, and how to install them."""

EXTRAS = {
    "postgres": ("asyncpg>=0.30",),
    "otel": ("opentelemetry-sdk>=1.28", "requests>=2.31", "urllib3>=1.26"),
    "sqs": ("aiobotocore>=2.15", "botocore>=1.35"),
}
"""The same as in `pyproject.toml`, for every extra that something is refused without."""


def installation(extra: str) -> str:
    """The command that installs what is missing: it names the packages, wherever Tenure itself came from."""
    return "run pip install " + " ".join(f"'{package}'" for package in EXTRAS[extra])
