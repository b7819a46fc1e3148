"""AWS as the tests have it: the real SDK over real HTTP, to servers in this process.

Servers and clients live as long as the run, for making a client costs half a second; each test finds an empty account.
"""

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
def credentials() -> Iterator[None]:
    """What the SDK's own chain finds."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (CREDENTIALS | NOBODYS).items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def moto_url() -> Iterator[str]:
    """The address of a moto server; it starts in a second or two, once."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="session")
def moto_session(moto_url: str, credentials: None) -> Iterator[AwsSession]:
    session = AwsSession(region=REGION, endpoint_url=moto_url)
    yield session
    session.close()


@pytest.fixture
def aws(moto_session: AwsSession, moto_url: str) -> AwsSession:
    """An empty account in moto."""
    urllib.request.urlopen(f"{moto_url}/moto-api/reset", data=b"", timeout=10).close()
    return moto_session


@pytest.fixture
def hand_clock() -> HandClock:
    return HandClock()


@pytest.fixture(scope="session")
def canned() -> Iterator[CannedEc2]:
    server = CannedEc2()
    yield server
    server.close()


@pytest.fixture(scope="session")
def canned_aws(canned: CannedEc2, credentials: None) -> Iterator[AwsSession]:
    """Calls to the EC2 that answers what a test writes."""
    session = AwsSession(region=REGION, endpoint_url=canned.url)
    yield session
    session.close()


@pytest.fixture
def ec2(canned: CannedEc2) -> CannedEc2:
    """An EC2 that answers what a test writes into its `answers`."""
    canned.answers, canned.asked = {}, []
    return canned
