"""Calls to AWS: the SDK's clients in threads, with its own chain of credentials, proxies and certificates."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from karpenter.aws.errors import cloud_error, error_code
from karpenter.aws.limits import CallLimits
from karpenter.cloud.errors import CloudError, ThrottledError
from karpenter.runtime.clock import Clock, WallClock
from karpenter.runtime.metrics import Metrics

if TYPE_CHECKING:
    from botocore.client import BaseClient
    from botocore.loaders import Loader

_THREADS: Final = 16
"""Calls at once; long polls of the queue hold one each."""
_CONNECT_TIMEOUT_S: Final = 5.0
_READ_TIMEOUT_S: Final = 60.0


class AwsSession:
    """One region of one account. Clients are made when they are first needed, the SDK is imported then."""

    def __init__(
        self,
        *,
        region: str,
        endpoint_url: str | None = None,
        clock: Clock | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        """`endpoint_url` stands in for every service's own; None asks the real ones."""
        self.region = region
        self.calls: Counter[tuple[str, str]] = Counter()
        """Calls so far, by service and operation; those that failed count as well."""
        self._clock = clock or WallClock()
        self._metrics = metrics
        self._limits = CallLimits(self._clock)
        self._endpoint_url = endpoint_url
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="aws")
        self._clients: dict[str, BaseClient] = {}
        self._making = threading.Lock()

    def close(self) -> None:
        """Let the threads go once their calls have ended."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def call(self, service: str, operation: str, /, **parameters: object) -> Mapping[str, Any]:
        """Call one operation by its API name, `call("ec2", "DescribeSubnets", …)`, and return its answer.

        Calls of EC2 are spaced (`CallLimits`). Raises CloudError; the SDK's own error is its cause.
        """
        await self._limits.wait(service, operation)
        started, code = self._clock.now(), "200"
        try:
            call = partial(self._call, service, operation, parameters)
            return await asyncio.get_running_loop().run_in_executor(self._threads, call)
        except ThrottledError as error:
            self._limits.refused(service, operation)
            code = error_code(error)
            raise
        except CloudError as error:
            code = error_code(error) or "Unsent"
            raise
        finally:
            self._count(service, operation, code=code, took_s=self._clock.now() - started)

    def _count(self, service: str, operation: str, *, code: str, took_s: float) -> None:
        self.calls[service, operation] += 1
        if self._metrics is not None:
            self._metrics.aws_requests_total.labels(service=service, operation=operation, code=code).inc()
            self._metrics.aws_request_duration_seconds.labels(service=service, operation=operation).observe(took_s)

    def _call(self, service: str, operation: str, parameters: Mapping[str, object]) -> Mapping[str, Any]:
        from botocore import xform_name  # noqa: PLC0415  (lazy: the SDK costs half a second)
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  (as above)

        try:
            method = getattr(self._client(service), xform_name(operation))
            answer: Mapping[str, Any] = method(**parameters)
        except (ClientError, BotoCoreError) as error:
            raise cloud_error(error, operation) from error
        return answer

    def _client(self, service: str) -> BaseClient:
        with self._making:
            if service not in self._clients:
                self._clients[service] = self._make_client(service)
            return self._clients[service]

    def _make_client(self, service: str) -> BaseClient:
        import boto3  # noqa: PLC0415  (as above)
        import botocore.session  # noqa: PLC0415  (as above)
        from botocore.config import Config  # noqa: PLC0415  (as above)

        config = Config(
            retries={"mode": "standard", "total_max_attempts": 3},
            max_pool_connections=_THREADS,
            connect_timeout=_CONNECT_TIMEOUT_S,
            read_timeout=_READ_TIMEOUT_S,
        )
        core = botocore.session.get_session()
        core.register_component("data_loader", _service_models())
        # Typed per service as overloads of literals, of which a variable is none.
        session: Any = boto3.session.Session(botocore_session=core, region_name=self.region)
        region = _price_list_region(self.region) if service == "pricing" else self.region
        client: BaseClient = session.client(service, region, endpoint_url=self._endpoint_url, config=config)
        return client


@lru_cache(maxsize=1)
def _service_models() -> Loader:
    """Return what reads the descriptions of services, once a process: EC2's takes a quarter of a second."""
    from botocore.loaders import create_loader  # noqa: PLC0415  (lazy, as above)

    return create_loader()


def find_region() -> str:
    """Return the region that the SDK is set to: AWS_REGION, the profile or the machine. Raises CloudError for none."""
    import boto3  # noqa: PLC0415  (lazy, as above)

    region = os.environ.get("AWS_REGION") or boto3.session.Session().region_name
    if not region:
        raise CloudError("no region is named; set AWS_REGION, or --set aws.region")
    return str(region)


def _price_list_region(region: str) -> str:
    """Return the region whose endpoint has the price list of a region: few have one (AWS-30)."""
    homes = {"cn-": "cn-northwest-1", "ap-": "ap-south-1", "eu-": "eu-central-1"}
    return next((home for prefix, home in homes.items() if region.startswith(prefix)), "us-east-1")


async def collect(
    aws: AwsSession, operation: tuple[str, str], key: str, *, cursor: str = "NextToken", **parameters: object
) -> list[Any]:
    """Return what all pages of a list operation have under `key`; `operation` is service and name."""
    found: list[Any] = []
    while True:
        answer = await aws.call(*operation, **parameters)
        found += answer.get(key, ())
        following = answer.get(cursor)
        if not following:
            return found
        parameters[cursor] = following
