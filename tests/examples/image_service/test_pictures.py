"""What is made of a picture: upright, small, without metadata; and what is none."""

import random
from io import BytesIO

import pytest
from PIL import Image

from examples.image_service.pictures import GIF, JPEG, KINDS, PNG, WEBP, NoPicture, kind_of, render
from tests.examples.image_service.sent import SECRET, TURNED, bomb, encoded, opened, picture

MOST = 40_000_000
FORMATS = {"JPEG": JPEG, "PNG": PNG, "WEBP": WEBP, "GIF": GIF}


@pytest.mark.parametrize("written_as", FORMATS)
def test_a_kind_is_told_by_its_first_bytes(written_as: str) -> None:
    assert kind_of(encoded(written_as)) is FORMATS[written_as]
    assert KINDS[FORMATS[written_as].mime_type] is FORMATS[written_as]


@pytest.mark.parametrize(
    "other", [b"", b"\xff\xd8", b"%PDF-1.7", b"RIFF....WAVE", b"<svg>", b"BM" + b"\0" * 30]
)
def test_other_bytes_are_of_no_kind(other: bytes) -> None:
    assert kind_of(other) is None


@pytest.mark.parametrize("written_as", FORMATS)
def test_variants_are_smaller_and_keep_their_proportions(written_as: str) -> None:
    made = {one.name: one for one in render(encoded(written_as, (2000, 1000)), FORMATS[written_as], MOST)}
    assert {name: (one.width, one.height) for name, one in made.items()} == {
        "original": (2000, 1000), "web": (1600, 800), "thumbnail": (256, 128),
    }  # fmt: skip
    for one in made.values():
        image = opened(one.data)
        assert image.size == (one.width, one.height)
        assert Image.MIME[image.format or ""] == one.mime_type


@pytest.mark.parametrize("written_as", FORMATS)
def test_nothing_of_the_metadata_is_left(written_as: str) -> None:
    data = encoded(written_as, seed=1)
    assert SECRET.encode() in data
    for one in render(data, FORMATS[written_as], MOST):
        assert SECRET.encode() not in one.data
        image = opened(one.data)
        assert not image.getexif()
        assert not {"icc_profile", "comment", "exif", "xmp"} & set(image.info)


def test_a_small_picture_is_not_made_larger() -> None:
    assert {(one.width, one.height) for one in render(encoded("PNG", (30, 20)), PNG, MOST)} == {(30, 20)}


@pytest.mark.parametrize("written_as", ["JPEG", "PNG", "WEBP"])
def test_a_picture_that_was_held_upright_is_turned(written_as: str) -> None:
    as_shot = picture(written_as, (300, 200))
    made = render(encoded(written_as, (300, 200), orientation=TURNED), FORMATS[written_as], MOST)
    for one in made:
        turned = opened(one.data).convert("RGB")
        assert turned.height > turned.width
        # A quarter to the right: what was left is above.
        for place, was in (((0.5, 0.2), (10, 100)), ((0.5, 0.8), (290, 100))):
            found = turned.getpixel((int(place[0] * turned.width), int(place[1] * turned.height)))
            assert _near(found, as_shot.getpixel(was))


@pytest.mark.parametrize("mode", ["L", "P", "CMYK", "1", "LA", "RGBA", "I;16"])
def test_every_way_to_store_pixels_is_taken(mode: str) -> None:
    written_as = "JPEG" if mode == "CMYK" else "PNG"
    made = render(encoded(written_as, mode=mode), FORMATS[written_as], MOST)
    assert {opened(one.data).mode for one in made} <= {"RGB", "RGBA"}


def test_sixteen_bits_become_eight() -> None:
    written = BytesIO()
    Image.new("I;16", (40, 40), 0x8000).save(written, "PNG")
    for one in render(written.getvalue(), PNG, MOST):
        assert _near(opened(one.data).convert("RGB").getpixel((20, 20)), (128, 128, 128))


@pytest.mark.parametrize("written_as", FORMATS)
@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9])
def test_a_truncated_picture_is_refused(written_as: str, kept: float) -> None:
    data = encoded(written_as, (640, 480), seed=2)
    with pytest.raises(NoPicture) as refused:
        render(data[: int(len(data) * kept)], FORMATS[written_as], MOST)
    assert refused.value.error_type == "unreadable"


def test_a_picture_of_a_hundred_megapixels_is_refused_before_it_is_unpacked() -> None:
    with pytest.raises(
        NoPicture, match=r"it has 100 megapixels \(10000 × 10000\); at most 40 are taken"
    ) as refused:
        render(bomb(10_000, 10_000), PNG, MOST)
    assert refused.value.error_type == "too_many_pixels"


@pytest.mark.parametrize("seed", range(20))
def test_broken_bytes_never_lead_to_another_error(seed: int) -> None:
    chance = random.Random(seed)
    written_as = chance.choice(list(FORMATS))
    data = bytearray(encoded(written_as, seed=seed))
    for _ in range(20):
        data[chance.randrange(16, len(data))] = chance.randrange(256)
    try:
        made = render(bytes(data), FORMATS[written_as], MOST)
    except NoPicture:
        return
    assert len(made) == 3


def _near(found: object, wanted: object) -> bool:
    assert isinstance(found, tuple)
    assert isinstance(wanted, tuple)
    return all(abs(one - other) < 30 for one, other in zip(found, wanted, strict=True))
