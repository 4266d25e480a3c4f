"""What an address of a receiver may be, and which addresses may be reached."""

from ipaddress import ip_address

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.webhooks.endpoint import check_url, read_url
from tenure.core.webhooks.reach import Reach, unwrapped

INNER = [
    *(
        "127.0.0.1",
        "127.8.8.8",
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "0.0.0.0",  # noqa: S104
        "0.1.2.3",
    ),
    *("100.64.0.1", "169.254.169.254", "192.0.0.9", "192.0.2.1", "198.18.0.1", "203.0.113.9", "224.0.0.1"),
    *("240.0.0.1", "255.255.255.255", "168.63.129.16", "100.100.100.200", "192.88.99.1"),
    *("::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1"),
    *("64:ff9b:1::a00:1", "2002:7f00:1::", "2002:a00:1::1", "fe80::1", "fec0::1", "fc00::1", "fd00:ec2::254"),
    *("ff02::1", "2001:db8::1", "2001::1", "100::1", "3fff::1", "5f00::1"),
]
OUTER = [
    "1.1.1.1",
    "8.8.8.8",
    "172.32.0.1",
    "100.128.0.1",
    "2606:4700::1111",
    "2002:808:808::1",
    "64:ff9b::808:808",
]

SPELLINGS = [
    *(
        "2130706433",
        "0x7f000001",
        "0X7F000001",
        "0177.0.0.1",
        "127.1",
        "127.0.1",
        "0",
        "0x7f.1",
        "017700000001",
    ),
    *("1.1.1.1.1", "256.1.1.1", "example.0x10", "127.0.0.1."),
]


def _url(host: str) -> str:
    return f"https://[{host}]/" if ":" in host else f"https://{host}/"


def test_there_are_enough_addresses_in_the_table() -> None:
    assert len({*INNER, *OUTER, *SPELLINGS}) >= 60


@pytest.mark.parametrize("address", INNER)
def test_what_is_not_public_is_refused_in_every_form(address: str) -> None:
    """S1.77"""
    assert Reach().refusal(ip_address(address), 443, is_plain=False)
    with pytest.raises(InvalidInput, match="not on the public internet; list the network") as caught:
        check_url(_url(address))
    assert caught.value.field == "url"


@pytest.mark.parametrize("address", OUTER)
def test_what_is_public_is_reached_by_https(address: str) -> None:
    assert check_url(_url(address)).host == address
    assert "by https alone" in str(Reach().refusal(ip_address(address), 80, is_plain=True))


@pytest.mark.parametrize("host", SPELLINGS)
def test_numbers_that_mean_an_address_in_other_ways_are_refused(host: str) -> None:
    with pytest.raises(InvalidInput, match=r"four decimal numbers|not on the public internet") as caught:
        check_url(_url(host), ["127.0.0.0/8"] if host != "127.0.0.1." else [])
    assert caught.value.field == "url"


@pytest.mark.parametrize(
    ("allow", "address", "is_reached"),
    [
        ("127.0.0.0/8", "127.0.0.1", True),
        ("127.0.0.0/8", "::ffff:127.0.0.1", True),
        ("127.0.0.0/8", "64:ff9b::7f00:1", True),
        ("127.0.0.0/8", "2002:7f00:1::", True),
        ("127.0.0.0/8", "10.0.0.1", False),
        ("127.0.0.0/8", "::1", False),
        ("::1/128", "::1", True),
        ("0.0.0.0/0", "10.0.0.1", True),
        ("0.0.0.0/0", "169.254.169.254", False),
        ("0.0.0.0/0", "168.63.129.16", False),
        ("169.254.0.0/16", "169.254.169.254", False),
        ("169.254.169.254/32", "169.254.169.254", True),
        ("169.254.169.254", "::ffff:169.254.169.254", True),
        ("169.254.169.253/32", "169.254.169.254", False),
        ("::/0", "fe80::1", False),
        ("fe80::1/128", "fe80::1", True),
        ("::/0", "fd00:ec2::254", False),
        ("::/0", "fd00::1", True),
    ],
)
def test_a_list_widens_the_reach_and_metadata_only_by_its_own_address(
    allow: str, address: str, *, is_reached: bool
) -> None:
    refusal = Reach([allow]).refusal(ip_address(address), 80, is_plain=True)
    assert (refusal is None) is is_reached


@pytest.mark.parametrize(
    ("port", "is_reached"), [(443, True), (80, True), (8443, True), (25, False), (22, False)]
)
def test_ports_of_the_system_need_the_list(port: int, *, is_reached: bool) -> None:
    assert (Reach().refusal(ip_address("1.1.1.1"), port, is_plain=False) is None) is is_reached
    assert Reach(["1.1.1.1"]).refusal(ip_address("1.1.1.1"), port, is_plain=True) is None


def test_who_has_listed_the_network_of_metadata_is_told_what_to_list() -> None:
    for url in ("http://169.254.169.254/", "http://[::ffff:169.254.169.254]/"):
        with pytest.raises(InvalidInput, match=r"only an entry of its own allows it: 169\.254\.169\.254;"):
            check_url(url, ["169.254.0.0/16"])
    assert check_url("https://inside.example:25/", ["10.0.0.0/8"]).port == 25


def test_addresses_within_addresses_are_found() -> None:
    for wrapped in ("::ffff:10.0.0.1", "64:ff9b::10.0.0.1", "2002:a00:1::ffff"):
        assert str(unwrapped(ip_address(wrapped))) == "10.0.0.1"
    assert str(unwrapped(ip_address("2606:4700::1"))) == "2606:4700::1"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://example.com/", "begins with http://; use https://"),
        ("ftp://example.com/", "begins with 'ftp'"),
        ("file:///etc/passwd", "begins with 'file'"),
        ("gopher://example.com/", "begins with 'gopher'"),
        ("javascript:alert(1)", "begins with 'javascript'"),
        ("example.com/hooks", "begins with 'example.com/hooks'"),
        ("", "begins with ''"),
        ("https://", "for a host"),
        ("https:///path", "for a host"),
        ("https://user@example.com/", "a user or a password"),
        ("https://user:word@example.com/", "a user or a password"),
        ("https://example.com:0/", "port 0"),
        ("https://example.com:99999/", "no address"),
        ("https://example.com:25/", "port 25, which is none of the web; give 443"),
        ("https://example.com:x/", "no address"),
        ("https://example.com/#there", "behind #"),
        ("https://exa mple.com/", "characters"),
        ("https://example.com/\r\nX-Bad: 1", "characters"),
        ("https://example.com\\@127.0.0.1/", "characters"),
        ("https://bücher.example/", "xn--"),
        ("https://-a.example/", "for a host"),
        ("https://a..example/", "for a host"),
        ("https://[::1", "no address"),
        ("https://[fe80::1%25eth0]/", "host that is none"),
        ("https://localhost/", "not on the public internet"),
        ("https://x.localhost./", "not on the public internet"),
        (f"https://example.com/{'a' * 2048}", "2048 at most"),
    ],
)
def test_an_address_that_is_none_or_leads_elsewhere_is_refused(url: str, said: str) -> None:
    """S1.77: the field is named, and the way out."""
    with pytest.raises(InvalidInput) as caught:
        check_url(url)
    assert caught.value.field == "url"
    assert said in str(caught.value)
    assert caught.value.remedy
    assert "word" not in str(caught.value).replace("password", "")


def test_an_address_is_read_into_its_parts() -> None:
    endpoint = check_url("https://Hooks.Example.com:8443/a/b?c=%20d")
    assert endpoint == ("https", "hooks.example.com", 8443, "/a/b?c=%20d")
    assert endpoint.authority == "hooks.example.com:8443"
    assert check_url("https://example.com").target == "/"
    assert read_url("http://[::1]:81").authority == "[::1]:81"
    assert check_url("http://inside.example:8080/", ["10.0.0.0/8"]).is_plain
    assert check_url("http://localhost:9000/", ["127.0.0.0/8"]).host == "localhost"
