"""A migration that was released stays as it is, byte for byte; what changes later comes as a new one."""

import subprocess
from pathlib import Path

from tenure.storage.schema.migration import known
from tests.debian import program

ROOT = Path(__file__).parents[2]
STORES = ("sqlite", "postgres")
FOLDERS = [f"src/tenure/storage/{store}/migrations" for store in STORES]


def test_no_migration_of_a_released_version_was_touched() -> None:
    """There is nothing to compare before the first version is tagged."""
    assert touched(ROOT) == []


def test_both_stores_have_the_same_migrations_numbered_without_gaps() -> None:
    sqlite, postgres = (sorted(path.name for path in (ROOT / folder).glob("*.sql")) for folder in FOLDERS)
    assert sqlite == postgres
    assert [int(name[:4]) for name in sqlite] == list(range(1, len(sqlite) + 1))


def test_every_migration_says_from_which_code_on_it_can_be_read() -> None:
    """The same on both stores, and from no later code than that which brings it."""
    sqlite, postgres = (known(f"tenure.storage.{store}") for store in STORES)
    numbers = [(one.number, one.reads_from) for one in sqlite]
    assert numbers == [(one.number, one.reads_from) for one in postgres]
    assert all(1 <= reads_from <= number for number, reads_from in numbers)


def test_a_released_migration_that_was_edited_or_removed_is_named(tmp_path: Path) -> None:
    folder = tmp_path / FOLDERS[0]
    folder.mkdir(parents=True)
    for name in ("0001_kept.sql", "0002_edited.sql", "0003_removed.sql"):
        (folder / name).write_text("SELECT 1;\n")
    _git(tmp_path, "init", "--quiet")
    _git(tmp_path, "add", ".")
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    _git(tmp_path, *identity, "commit", "--quiet", "--no-gpg-sign", "--message=first")
    assert touched(tmp_path) == []

    _git(tmp_path, "tag", "v0.1.0")
    (folder / "0004_new.sql").write_text("SELECT 2;\n")
    assert touched(tmp_path) == []
    (folder / "0002_edited.sql").write_text("SELECT 1; \n")
    (folder / "0003_removed.sql").unlink()
    assert touched(tmp_path) == [
        f"v0.1.0: {FOLDERS[0]}/0002_edited.sql",
        f"v0.1.0: {FOLDERS[0]}/0003_removed.sql",
    ]


def touched(root: Path) -> list[str]:
    """The migrations of tagged versions that are not what they were, with the version."""
    if not (root / ".git").exists():
        return []
    return [
        f"{tag}: {path}"
        for tag in _git(root, "tag", "--list", "v*").split()
        for path in _git(root, "ls-tree", "-r", "--name-only", tag, "--", *FOLDERS).split()
        if not (root / path).exists() or (root / path).read_text() != _git(root, "show", f"{tag}:{path}")
    ]


def _git(folder: Path, *arguments: str) -> str:
    ran = subprocess.run(
        [program("git", "git"), *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return ran.stdout
