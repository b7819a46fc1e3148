"""CreateFleet: instant fleets, with the errors of every pool that was tried (spec v1alpha5 AWS-46 … AWS-48)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from karpenter.model import labels
from karpenter.sim.ec2.backend import Backend, Handler, Params, Result, refuse_dry_run
from karpenter.sim.ec2.booting import boot_of
from karpenter.sim.ec2.codec.messages import AwsError
from karpenter.sim.ec2.pools import Pool, Pools, Refusal, security_groups
from karpenter.sim.ec2.templates import Template, tags_for
from karpenter.sim.market.instances import Blueprint, MarketInstance
from karpenter.sim.market.launching import LaunchRequest

_IN_ORDER: Final = frozenset({"prioritized", "capacity-optimized-prioritized"})
_SOLD_OUT: Final = "InsufficientInstanceCapacity"
_MOST_POOLS: Final = 300
"""Launch specifications that an instant fleet may have."""
_KEPT_S: Final = 3600.0
"""For how long a client token gives the same fleet again."""


@dataclass(frozen=True, slots=True)
class _Fleet:
    digest: str
    made_at: float
    answer: Result


class Fleets:
    """Launches instances."""

    def __init__(self, backend: Backend, pools: Pools) -> None:
        self._backend = backend
        self._pools = pools
        self._by_token: dict[str, _Fleet] = {}

    def operations(self) -> Mapping[str, Handler]:
        """Return what it answers."""
        return {"ec2:CreateFleet": self._create, "ec2:RunInstances": self._run}

    async def _create(self, params: Params) -> Result:
        if params.get("Type") != "instant":
            raise AwsError("InvalidParameterValue", "only fleets of type instant are simulated")
        token = params.get("ClientToken") or self._backend.new_uuid()
        known = self._known(token, params)
        if known is not None:
            return known
        wanted = params["TargetCapacitySpecification"]
        capacity_type = str(wanted.get("DefaultTargetCapacityType") or labels.ON_DEMAND)
        pools, refused = self._pools.read(params["LaunchTemplateConfigs"], capacity_type)
        if len(pools) + len(refused) > _MOST_POOLS:
            raise AwsError("LaunchTemplateConfigLimitExceeded", f"a fleet has at most {_MOST_POOLS} pools")
        refuse_dry_run(params)
        market = self._backend.market
        # The token before the wait: who asks again meanwhile gets the same instances, as the market knows theirs.
        await self._backend.clock.sleep(market.settings.launch_s / market.settings.speed)
        tags = tags_for(params, "instance")
        order = _Order(self._backend, pools, tags, in_order=_strategy(params, capacity_type) in _IN_ORDER)
        launched: list[tuple[MarketInstance, Pool]] = []
        for number in range(int(wanted["TotalTargetCapacity"])):
            got, sold_out = order.launch(f"{token}/{number}")
            refused += [one for one in sold_out if one not in refused]
            if got is None:
                break
            launched.append(got)
        answer = {
            "FleetId": f"fleet-{self._backend.new_uuid()}",
            "Instances": _instances(launched),
            "Errors": [_error(one, capacity_type) for one in refused],
        }
        self._by_token[token] = _Fleet(_digest(params), self._backend.clock.now(), answer)
        return answer

    def _known(self, token: str, params: Params) -> Result | None:
        now = self._backend.clock.now()
        self._by_token = {key: fleet for key, fleet in self._by_token.items() if now - fleet.made_at < _KEPT_S}
        fleet = self._by_token.get(token)
        if fleet is None:
            return None
        if fleet.digest != _digest(params):
            raise AwsError(
                "IdempotentParameterMismatch",
                f"The client token {token} was used with other parameters.",
            )
        return fleet.answer

    def _run(self, params: Params) -> Result:
        """Check whether instances could be launched; really launching them is CreateFleet's."""
        override = {key: params[key] for key in ("InstanceType", "SubnetId", "ImageId") if key in params}
        interfaces = params.get("NetworkInterfaces") or ()
        if interfaces and "SubnetId" in params:
            raise AwsError(
                "InvalidParameterCombination",
                "Network interfaces and an instance-level subnet ID may not be specified on the same request",
            )
        if interfaces:
            override["SubnetId"] = interfaces[0].get("SubnetId") or ""
        config = {"LaunchTemplateSpecification": params.get("LaunchTemplate") or {}, "Overrides": [override]}
        _, refused = self._pools.read([config], labels.ON_DEMAND)
        if refused:
            raise AwsError(refused[0].code, refused[0].message)
        refuse_dry_run(params)
        raise AwsError("UnsupportedOperation", "of RunInstances only dry runs are simulated; use CreateFleet")


class _Order:
    """The instances of one fleet."""

    def __init__(self, backend: Backend, pools: list[Pool], tags: Mapping[str, str], *, in_order: bool) -> None:
        self._backend = backend
        self._tags = tags
        self._in_order = in_order
        free = backend.market.free_addresses
        roomiest = sorted(pools, key=lambda pool: free(pool.subnet.id))
        self._by_key = {pool.key: pool for pool in sorted(roomiest, key=lambda pool: -pool.priority)}

    def launch(self, token: str) -> tuple[tuple[MarketInstance, Pool] | None, list[Refusal]]:
        """Return an instance and its pool, None when all are sold out; and the pools that were tried before."""
        ranked = sorted(self._by_key.values(), key=lambda pool: (pool.priority, pool.key))
        result = self._backend.market.launch(
            LaunchRequest(
                token=token,
                options=tuple(pool.key for pool in ranked),
                blueprint=lambda key: self._blueprint(self._by_key.get(key) or ranked[0], token),
                tags=self._tags,
                in_order=self._in_order,
            )
        )
        refused = [_sold_out(self._by_key[key]) for key in result.refused]
        if result.instance is None:
            return None, refused
        pool = self._by_key.get(result.instance.offering) or ranked[0]
        return (result.instance, pool), refused

    def _blueprint(self, pool: Pool, _: str) -> Blueprint:
        data = pool.template.data
        return Blueprint(
            image_id=pool.image.id,
            subnet_id=pool.subnet.id,
            security_group_ids=tuple(security_groups(data)),
            instance_profile=str((data.get("IamInstanceProfile") or {}).get("Name", "")),
            launch_template=pool.template.id,
            boot=boot_of(self._backend, pool.record, pool.image, key=pool.key, template=data),
        )


def _strategy(params: Params, capacity_type: str) -> str:
    options = params.get("SpotOptions" if capacity_type == labels.SPOT else "OnDemandOptions") or {}
    return str(options.get("AllocationStrategy", "lowest-price"))


def _sold_out(pool: Pool) -> Refusal:
    message = (
        f"We currently do not have sufficient {pool.key.instance_type} capacity in the Availability Zone you requested "
        f"({pool.key.zone})."
    )
    return Refusal(_SOLD_OUT, message, pool.template, pool.override)


def _instances(launched: list[tuple[MarketInstance, Pool]]) -> list[Result]:
    """Return instances as fleets list them: together what came from one pool."""
    groups: dict[tuple[str, str, str], Result] = {}
    for instance, pool in launched:
        offering = instance.offering
        group = groups.setdefault(
            (pool.template.id, *offering[:2]),
            {
                "LaunchTemplateAndOverrides": _source(pool.template, pool.override),
                "Lifecycle": offering.capacity_type,
                "InstanceIds": [],
                "InstanceType": offering.instance_type,
            },
        )
        group["InstanceIds"].append(instance.id)
    return list(groups.values())


def _error(refusal: Refusal, capacity_type: str) -> Result:
    return {
        "LaunchTemplateAndOverrides": _source(refusal.template, refusal.override),
        "Lifecycle": capacity_type,
        "ErrorCode": refusal.code,
        "ErrorMessage": refusal.message,
    }


def _source(template: Template, override: Mapping[str, Any]) -> Result:
    specification = {"LaunchTemplateId": template.id, "LaunchTemplateName": template.name, "Version": "1"}
    zone = {"AvailabilityZone": override["AvailabilityZone"]} if "AvailabilityZone" in override else {}
    kept = {key: override[key] for key in ("InstanceType", "SubnetId", "ImageId", "Priority") if key in override}
    return {"LaunchTemplateSpecification": specification, "Overrides": {**kept, **zone}}


def _digest(params: Params) -> str:
    return hashlib.sha256(msgspec.json.encode(dict(params), order="sorted")).hexdigest()
