"""The file system: a network file system is recognised, and refused before anything is written."""

import os
import sys
from pathlib import Path

import pytest

from tenure.core.errors import StoreUnavailable
from tenure.storage.sqlite.file import filesystem
from tenure.storage.sqlite.file.filesystem import network_kind
from tenure.storage.sqlite.store import SqliteStore
from tests.storage.faults import damaged_files
from tests.storage.faults.sqlite_stores import opened
from tests.storage.verbs import enqueue_one, state_of

# As Linux writes it: number, parent, device, root, place, options, any number of tags, a dash, kind, source.
RECORDED = r"""
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
22 21 0:20 / /proc rw,nosuid shared:5 - proc proc rw
30 21 0:33 / /run/user/1000 rw,nosuid shared:301 - tmpfs tmpfs rw,size=1633340k
31 30 0:34 / /run/user/1000/gvfs rw,nosuid shared:312 - fuse.gvfsd-fuse gvfsd-fuse rw,user_id=1000
40 21 0:51 / /srv/jobs rw,relatime shared:20 master:3 - nfs4 files:/export/jobs rw,vers=4.2,proto=tcp
41 21 0:52 / /srv/old rw,relatime - nfs files:/export/old rw,vers=3,proto=tcp
42 21 0:53 / /mnt/my\040share rw,relatime shared:21 - cifs //files/share rw,vers=3.1.1
43 21 0:54 / /mnt/smb rw,relatime shared:22 - smb3 //files/share rw
44 21 0:55 / /mnt/far rw,nosuid shared:23 - fuse.sshfs me@far:/ rw,user_id=1000
45 21 0:56 / /mnt/usb rw,nosuid shared:24 - fuseblk /dev/sdb1 rw,user_id=0
46 21 0:57 / /mnt/crypt rw,nosuid shared:25 - fuse.gocryptfs /home/me/crypt rw,user_id=1000
47 21 0:58 / /mnt/plan9 rw,relatime - 9p 10.0.0.7 rw,trans=tcp,port=564
48 21 0:59 / /mnt/host rw,relatime - 9p hostshare rw,trans=virtio
49 21 0:60 /@home /home rw,relatime shared:30 - btrfs /dev/sdc1 rw,subvol=/@home
50 21 0:61 / / rw,relatime - overlay overlay rw,lowerdir=/a,upperdir=/b,workdir=/c
"""


@pytest.mark.parametrize(
    ("minor", "kind"),
    [
        (51, "nfs4"),
        (52, "nfs"),
        (53, "cifs"),
        (54, "smb3"),
        (55, "fuse.sshfs"),
        (34, "fuse.gvfsd-fuse"),
        (58, "9p"),
    ],
)
def test_a_network_file_system_is_recognised(minor: int, kind: str) -> None:
    assert network_kind(RECORDED, os.makedev(0, minor)) == kind


@pytest.mark.parametrize("device", [(8, 1), (0, 33), (0, 56), (0, 57), (0, 59), (0, 60), (0, 61)])
def test_a_local_file_system_is_not(device: tuple[int, int]) -> None:
    assert network_kind(RECORDED, os.makedev(*device)) is None


def test_what_is_not_listed_or_cannot_be_read_is_not_held_against_anybody() -> None:
    assert network_kind(RECORDED, os.makedev(0, 99)) is None
    assert network_kind("", os.makedev(8, 1)) is None
    assert network_kind("nonsense\n1 2\n1 2 8:1 -\n1 2 8:1 / / rw - \n", os.makedev(8, 1)) is None


def test_the_lines_of_this_machine_are_understood(tmp_path: Path) -> None:
    """Disks are found by their device numbers, and count as network disks if the list says so."""
    if sys.platform != "linux":
        assert not filesystem.MOUNTS.exists()
        return
    mounts = filesystem.MOUNTS.read_text()
    device = Path("/proc").stat().st_dev
    assert network_kind(mounts, device) is None
    assert network_kind(mounts.replace(" - proc ", " - nfs4 "), device) == "nfs4"
    assert network_kind(mounts, tmp_path.stat().st_dev) is None


@pytest.mark.parametrize("is_there", [True, False], ids=["a file", "a new file"])
async def test_a_file_on_a_network_is_refused_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    path = damaged_files.make_folder(tmp_path / "share") / "tenure.db"
    if is_there:
        damaged_files.replace(path, b"")
    device = damaged_files.device_of(tmp_path)
    line = (
        f"40 21 {os.major(device)}:{os.minor(device)} / /share rw shared:20 - nfs4 files:/share rw,vers=4.2\n"
    )
    damaged_files.replace(tmp_path / "mountinfo", line.encode())
    monkeypatch.setattr(filesystem, "MOUNTS", tmp_path / "mountinfo")
    with pytest.raises(
        StoreUnavailable, match=r"tenure\.db is on a network .*nfs4.* local disk, or use PostgreSQL"
    ):
        await SqliteStore(path).open()
    assert damaged_files.names_in(tmp_path / "share") == ({"tenure.db"} if is_there else set())


async def test_a_link_to_a_file_is_followed(tmp_path: Path) -> None:
    link = damaged_files.link(
        tmp_path / "link.db", damaged_files.make_folder(tmp_path / "there") / "tenure.db"
    )
    async with opened(link) as store:
        job = await enqueue_one(store)
        assert await state_of(store, job) == "queued"


async def test_a_file_named_from_the_working_folder_stays_the_same_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with opened(Path("tenure.db")) as store:
        monkeypatch.chdir("/")
        job = await enqueue_one(store)
        assert await state_of(store, job) == "queued"
