"""What the environment says of the service: where pictures are kept, and which are taken."""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """All there is to set. `from_environment` reads each from `IMAGES_…`, by its name."""

    bucket: str = "pictures"
    """The bucket of uploads and of what is made of them."""
    distribution: str = ""
    """The id of the CloudFront distribution in front of the bucket; empty for none."""
    public_url: str = ""
    """Where readers find what is in the bucket, without a slash at the end."""
    most_bytes: int = 20_000_000
    """The largest upload."""
    most_pixels: int = 40_000_000
    """The largest picture: a small file may hold a very large one."""
    upload_seconds: int = 120
    """How long an upload may take. After twice that, it is taken to have been given up."""

    @classmethod
    def from_environment(cls) -> "Settings":
        """The settings of this process. A number that is none is an error that names it."""
        numbers = {"most_bytes", "most_pixels", "upload_seconds"}
        given: dict[str, str | int] = {}
        for name in cls.__dataclass_fields__:
            variable = f"IMAGES_{name.upper()}"
            if (value := os.environ.get(variable)) is None:
                continue
            if name in numbers and not value.isdecimal():
                raise SystemExit(f"{variable} is {value!r}: give a whole number")
            given[name] = int(value) if name in numbers else value
        return cls(**given)  # type: ignore[arg-type]
