"""Pictures that tests send: made by the test, good and bad."""

import random
import struct
import zlib
from io import BytesIO

from PIL import Image, ImageCms

SECRET = "shot at 48.8584 N, 2.2945 E"
"""Stands in the metadata of pictures, and nowhere else."""

TURNED = 6
"""The orientation of a camera that was held upright: the picture is to be turned by a quarter."""


def picture(
    written_as: str = "JPEG", size: tuple[int, int] = (320, 200), *, seed: int = 0, mode: str = "RGB"
) -> Image.Image:
    """A picture whose left half is of another colour than its right one; no other seed gives the same."""
    chance = random.Random(f"{written_as} {size} {seed} {mode}")
    left, right = (tuple(chance.randrange(40, 216) for _ in range(3)) for _ in range(2))
    image = Image.new("RGB", size, right)
    image.paste(left, (0, 0, size[0] // 2, size[1]))
    return image.convert(mode)


def encoded(
    written_as: str = "JPEG",
    size: tuple[int, int] = (320, 200),
    *,
    seed: int = 0,
    mode: str = "RGB",
    orientation: int = 1,
) -> bytes:
    """Such a picture as a file, with all the metadata that its format takes."""
    image = picture(written_as, size, seed=seed, mode=mode)
    more: dict[str, object] = {}
    if written_as in {"JPEG", "PNG", "WEBP"}:
        exif = image.getexif()
        exif[0x0112] = orientation
        exif[0x010E] = SECRET
        more["exif"] = exif
        if mode == "RGB":
            more["icc_profile"] = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    if written_as in {"JPEG", "GIF"}:
        more["comment"] = SECRET
    written = BytesIO()
    image.save(written, written_as, **more)
    return written.getvalue()


def bomb(width: int, height: int) -> bytes:
    """A small PNG that says it is very large, and is."""
    packer = zlib.compressobj(9)
    row = b"\0" * (1 + (width + 7) // 8)
    packed = b"".join(packer.compress(row) for _ in range(height)) + packer.flush()
    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, (b"IHDR", b"IDAT", b"IEND"), (head, packed, b"")))


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def opened(data: bytes) -> Image.Image:
    """A file as a picture."""
    image = Image.open(BytesIO(data))
    image.load()
    return image
