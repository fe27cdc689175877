"""A receiver that answers nothing does not hold up a client for long."""

import asyncio
from ipaddress import ip_network

import pytest

from comptoir.errors.refusal import Refusal
from comptoir.features.notifications.resource import shake_hands
from comptoir.outgoing.session import Guard, Outgoing
from support.receiver import Receiver


def test_a_receiver_that_hangs() -> None:
    post = Outgoing(Guard([ip_network("127.0.0.0/8")], plain=True)).post
    with Receiver() as receiver:
        receiver.handshake = receiver.hang
        with pytest.raises(Refusal, match="did not respond completely within"):
            asyncio.run(shake_hands(receiver.url(), post, 0.05))
