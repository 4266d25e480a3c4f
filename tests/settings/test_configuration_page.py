"""What the page about configuration shows is what is read, and what is answered."""

import re
from pathlib import Path

import pytest

from tenure import InvalidInput
from tenure.settings.sources import load

PAGE = (Path(__file__).parents[2] / "docs/how-to/configuration.md").read_text()


def test_the_file_of_the_page_is_read(tmp_path: Path) -> None:
    [text] = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    file = tmp_path / "tenure.toml"
    file.write_text(text)
    settings = load({}, environment={"TENURE_SLOTS": "7"}, file=file).settings
    assert settings.database == "postgresql://jobs@db.example.com/jobs"
    assert (settings.queues, settings.timeout_seconds) == (("mail", "reports"), 120)
    assert settings.slots == 7, "the environment wins over the file"
    assert load({"slots": 9}, environment={"TENURE_SLOTS": "7"}, file=file).settings.slots == 9


@pytest.mark.parametrize("variable", [{"TENURE_SLOT": "4"}, {"TENURE_SLOTS": "0"}])
def test_a_mistake_is_answered_as_the_page_says(variable: dict[str, str]) -> None:
    with pytest.raises(InvalidInput) as refused:
        load({}, environment=variable)
    assert f"Error: {refused.value}\n" in PAGE
