"""The addresses that the service may reach for others, in every spelling."""

import socket
from ipaddress import ip_network

import pytest

from comptoir.outgoing import OutgoingError
from comptoir.outgoing.session import Guard
from support.together import together

BLOCKED = [
    # this host, private networks, the metadata service of clouds, multicast, documentation
    *("0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.254", "10.0.0.1", "100.64.0.1"),
    *("169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1"),
    *("192.168.0.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.2.3"),
    *("240.0.0.1", "255.255.255.255"),
    *("::", "::1", "fe80::1", "fe80::1%1", "fc00::1", "fd12::1", "fec0::1", "ff02::1"),
    # IPv4 in IPv6: mapped, compatible, NAT64, 6to4, Teredo
    *("::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:10.0.0.1", "::127.0.0.1"),
    *("64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1", "2002:7f00:1::", "2001::1"),
    *("2001:db8::1", "3fff::1", "3fff:fff::1", "4000::1", "100::1", "5f00::1"),
]
ALLOWED = [
    *("1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "172.32.0.1", "193.0.0.1"),
    *("2606:4700::1111", "2001:4860:4860::8888", "2a00::1", "::ffff:8.8.8.8"),
]


def info(address: str, port: int = 443) -> tuple[int, int, int, str, tuple[str | int, ...]]:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return family, socket.SOCK_STREAM, 0, "", (address, port)


@together("address", BLOCKED)
def test_an_address_inside(address: str) -> None:
    with pytest.raises(PermissionError, match="is not a global address"):
        Guard().open_socket(info(address))


@together("address", ALLOWED)
def test_a_global_address(address: str) -> None:
    with Guard().open_socket(info(address)) as opened:
        assert not opened.getblocking()


@together("address", ["127.0.0.1", "::ffff:127.0.0.1", "fd12::1"])
def test_a_network_of_the_operator(address: str) -> None:
    guard = Guard([ip_network("127.0.0.0/8"), ip_network("fd12::/16")])
    assert guard.allows(address)
    assert not guard.allows("10.0.0.1")
    assert not guard.allows("::1")


@together(
    "url",
    [
        *("https://example.com", "https://example.com:443/a?b", "https://example.com:8443"),
        *("https://[2606:4700::1111]/", "HTTPS://EXAMPLE.COM/", "https://example.com:1024/"),
    ],
)
def test_a_url(url: str) -> None:
    assert Guard().checked(url).scheme == "https"


@together(
    "url",
    [
        *("", "example.com", "//example.com", "http://example.com", "file:///etc/passwd"),
        *("ftp://example.com", "gopher://example.com", "https://", "https:///path", "https:path"),
        *("https://user@example.com", "https://user:topsecret@example.com", "https://:@a.example"),
        *("https://example.com:22", "https://example.com:80", "https://example.com:1023"),
        *("https://example.com:0", "https://example.com:65536", "https://example.com:a"),
        *("https://exa\nmple.com", "https://example.com\t", " https://example.com/\x00"),
        *("https://b\xfccher.example", "https://example.com/" + "a" * 2_000, "https://[::1"),
        *("https://a..example.com", f"https://{'a' * 64}.example.com", "https://xn--a.example.com"),
    ],
)
def test_a_url_that_is_refused(url: str) -> None:
    with pytest.raises(OutgoingError) as caught:
        Guard().checked(url)
    assert "topsecret" not in str(caught.value)
    assert str(caught.value).isprintable()


def test_plain_http_is_allowed_where_the_operator_says_so() -> None:
    guard = Guard(plain=True)
    for url in ("http://example.com", "http://example.com:8080/a?b", "https://example.com"):
        assert str(guard.checked(url)).startswith(url)
    for url in ("http://example.com:443", "https://example.com:80", "ftp://example.com:8080"):
        with pytest.raises(OutgoingError):
            guard.checked(url)
