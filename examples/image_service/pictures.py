"""What is known about pictures: by which bytes each kind begins, and how variants are made of one.

Nothing here knows of jobs or buckets. `render` is only called in a process of its own, with little memory:
what strangers send is read by libraries that have had their share of holes.
"""

from dataclasses import dataclass
from io import BytesIO

from PIL import Image, ImageCms, ImageOps

HEAD = 12
"""How many bytes tell the kind."""


@dataclass(frozen=True)
class Kind:
    """A format that is taken, and the format in which its sanitised original is kept."""

    mime_type: str
    reader: str
    kept_as: str


JPEG = Kind("image/jpeg", "JPEG", "JPEG")
PNG = Kind("image/png", "PNG", "PNG")
WEBP = Kind("image/webp", "WEBP", "WEBP")
GIF = Kind("image/gif", "GIF", "PNG")
KINDS = {kind.mime_type: kind for kind in (JPEG, PNG, WEBP, GIF)}

SIZES = {"thumbnail": 256, "web": 1600}
"""The longest side of each variant that is made smaller."""

QUALITY = {"JPEG": 92, "WEBP": 82}
"""What a format that loses something keeps, of 100."""


@dataclass(frozen=True)
class Variant:
    """One picture as it is published."""

    name: str
    mime_type: str
    width: int
    height: int
    data: bytes

    @property
    def file(self) -> str:
        """Its name in the bucket."""
        return f"{self.name}.{self.mime_type.removeprefix('image/')}"


class NoPicture(Exception):
    """The bytes are no picture that can be published; `error_type` is a stable short name."""

    def __init__(self, error_type: str, text: str) -> None:
        super().__init__(text)
        self.error_type = error_type


def kind_of(head: bytes) -> Kind | None:
    """The kind that begins with these bytes; what a caller says about them is not asked."""
    if head.startswith(b"\xff\xd8\xff"):
        return JPEG
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return PNG
    if head.startswith((b"GIF87a", b"GIF89a")):
        return GIF
    return WEBP if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else None


def render(data: bytes, kind: Kind, most_pixels: int) -> list[Variant]:
    """All variants of a picture, upright, in sRGB, without any metadata. Raises NoPicture.

    Of an animation the first picture is taken.
    """
    try:
        whole = _opened(data, kind, most_pixels)
        made = [_variant("original", whole, kind.kept_as)]
        for name, side in sorted(SIZES.items(), key=lambda size: -size[1]):
            whole.thumbnail((side, side), Image.Resampling.LANCZOS)
            made.append(_variant(name, whole, "WEBP"))
    except MemoryError:
        raise NoPicture("memory", "it needs more memory than a picture may use") from None
    except NoPicture:
        raise
    # Decoders answer broken bytes with errors of every kind, and with the same one each time.
    except Exception as error:
        raise NoPicture("unreadable", f"it cannot be read: {type(error).__name__}: {error}") from error
    return made


def _opened(data: bytes, kind: Kind, most_pixels: int) -> Image.Image:
    # The limit is checked below, before anything is unpacked; Pillow's own one is a warning.
    Image.MAX_IMAGE_PIXELS = None
    with Image.open(BytesIO(data), formats=[kind.reader]) as image:
        pixels = image.width * image.height
        if pixels > most_pixels:
            raise NoPicture(
                "too_many_pixels",
                f"it has {pixels / 1e6:.0f} megapixels ({image.width} × {image.height}); "
                f"at most {most_pixels / 1e6:.0f} are taken",
            )
        return _clean(ImageOps.exif_transpose(image), kind)


def _clean(image: Image.Image, kind: Kind) -> Image.Image:
    """The pixels alone, as RGB or RGBA. The profile of their colours is applied, since it is not kept."""
    profile = image.info.get("icc_profile")
    has_alpha = kind is not JPEG and image.has_transparency_data
    if profile and image.mode in {"RGB", "RGBA"}:
        image = _in_srgb(image, profile)
    if image.mode.startswith("I"):
        image = image.point(lambda level: level / 256).convert("L")  # 16 bits, of which `convert` cuts off
    clean = image.convert("RGBA" if has_alpha else "RGB")
    clean.info.clear()  # writers take what they find there
    return clean


def _in_srgb(image: Image.Image, profile: bytes) -> Image.Image:
    try:
        own = ImageCms.ImageCmsProfile(BytesIO(profile))
        converted = ImageCms.profileToProfile(image, own, ImageCms.createProfile("sRGB"))
    except (ImageCms.PyCMSError, OSError):
        return image  # a broken profile is no reason to refuse the picture
    return converted or image


def _variant(name: str, image: Image.Image, written_as: str) -> Variant:
    written = BytesIO()
    image.save(written, written_as, quality=QUALITY.get(written_as, 100))
    return Variant(name, f"image/{written_as.lower()}", image.width, image.height, written.getvalue())
