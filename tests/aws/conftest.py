"""AWS as the tests have it: the real SDK over real HTTP, to servers in this process."""

import urllib.request
from collections.abc import Iterator

import pytest
from moto.server import ThreadedMotoServer

from karpenter.aws.session import AwsSession
from tests.aws.canned import CannedEc2
from tests.aws.clocks import HandClock
from tests.awsbuilders import REGION

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_EC2_METADATA_DISABLED": "true"}
NOBODYS = {"AWS_CONFIG_FILE": "/nonexistent", "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent"}
"""Whoever runs the tests has files of their own, which must not matter."""


@pytest.fixture(scope="session")
def moto_url() -> Iterator[str]:
    """The address of a moto server; it starts in a second or two, once."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def aws(moto_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsSession]:
    """An empty account in moto."""
    for name, value in (CREDENTIALS | NOBODYS).items():
        monkeypatch.setenv(name, value)
    urllib.request.urlopen(f"{moto_url}/moto-api/reset", data=b"", timeout=10).close()
    session = AwsSession(region=REGION, endpoint_url=moto_url)
    yield session
    session.close()


@pytest.fixture
def hand_clock() -> HandClock:
    return HandClock()


@pytest.fixture
def ec2(monkeypatch: pytest.MonkeyPatch) -> Iterator[CannedEc2]:
    """An EC2 that answers what a test writes into its `answers`."""
    for name, value in (CREDENTIALS | NOBODYS).items():
        monkeypatch.setenv(name, value)
    canned = CannedEc2()
    yield canned
    canned.close()


@pytest.fixture
def canned_aws(ec2: CannedEc2) -> Iterator[AwsSession]:
    """Calls to the EC2 that answers what a test writes."""
    session = AwsSession(region=REGION, endpoint_url=ec2.url)
    yield session
    session.close()
