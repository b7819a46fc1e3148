"""What all operations share: the market, the facts, the cluster, and ids."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, TypeAlias

from karpenter.model.aws.catalog import AwsCatalog
from karpenter.model.aws.cluster import ClusterFacts
from karpenter.runtime.clock import Clock
from karpenter.sim.ec2.codec.messages import AwsError
from karpenter.sim.market.dice import hex_digits
from karpenter.sim.market.market import Market

Params: TypeAlias = Mapping[str, Any]
"""An operation's parameters, by the names of its input shape."""
Result: TypeAlias = dict[str, Any]
"""An operation's answer, by the names of its output shape."""
Handler: TypeAlias = Callable[[Params], Result | Awaitable[Result]]

ACCOUNT_ID: Final = "000000000000"
ACCESS_KEY: Final = "AKIASIMULATEDACCOUNT"
"""The access key id of the account's one user. Its secret may be anything: signatures are not checked."""


CLUSTER: Final = ClusterFacts("simulated", "https://127.0.0.1", version="1.32", service_cidr="10.100.0.0/16")
"""The account's one cluster, where nobody says more."""


@dataclass(slots=True)
class Backend:
    """One account in one region."""

    market: Market
    catalog: AwsCatalog
    clock: Clock
    cluster: ClusterFacts = CLUSTER
    """What EKS says, and what kubelets must be told to join."""
    vcpu_quota: dict[str, int] = field(default_factory=dict)
    """Capacity type to how many vCPUs may run; no limit where nothing is said."""
    denied: set[str] = field(default_factory=set)
    """Actions that the caller's policy does not allow, such as `ec2:CreateFleet`."""
    access_keys: set[str] = field(default_factory=lambda: {ACCESS_KEY})
    """Keys that are accepted."""
    seed: int = 0
    _numbers: count[int] = field(default_factory=count)

    @property
    def region(self) -> str:
        """The region of the account."""
        return self.market.account.region

    def new_id(self, kind: str) -> str:
        """Return a new id: `lt` gives `lt-0` and 16 hexadecimal digits."""
        return f"{kind}-0{hex_digits(self.seed, kind, next(self._numbers), digits=16)}"

    def new_uuid(self) -> str:
        """Return a new id in the form of a UUID."""
        digits = hex_digits(self.seed, "uuid", next(self._numbers), digits=32)
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def arn(self, service: str, resource: str, *, region: str | None = None) -> str:
        """Return the Amazon resource name of something in the account."""
        return f"arn:aws:{service}:{self.region if region is None else region}:{ACCOUNT_ID}:{resource}"


def refuse_dry_run(params: Params) -> None:
    """Raise the error that says a dry run found nothing wrong, if this is one."""
    if params.get("DryRun"):
        raise AwsError("DryRunOperation", "Request would have succeeded, but DryRun flag is set.", status=412)


def missing_parameter(name: str) -> AwsError:
    """Return the error for a parameter that must be there."""
    return AwsError("MissingParameter", f"The request must contain the parameter {name}")
