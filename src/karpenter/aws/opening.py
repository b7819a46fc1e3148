"""Opening AWS: the provider and its parts, from settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from karpenter.aws.amis import Amis
from karpenter.aws.cluster import ClusterDiscovery
from karpenter.aws.fleets import Fleets, LaunchParts
from karpenter.aws.instances import Machines
from karpenter.aws.instancetypes import InstanceTypes
from karpenter.aws.launchtemplates import LaunchTemplates
from karpenter.aws.network import FreeAddresses, Network
from karpenter.aws.nodeclass import AwsNodeClasses, Sources
from karpenter.aws.ownership import Ownership
from karpenter.aws.placementgroups import PlacementGroups
from karpenter.aws.pricing import Pricing, read_discounts
from karpenter.aws.profiles import InstanceProfiles
from karpenter.aws.provider import AwsCloud, FindPool, Parts
from karpenter.aws.queue import InterruptionQueue
from karpenter.aws.reservations import Reservations
from karpenter.aws.session import AwsSession, find_region
from karpenter.aws.validation import LaunchValidator
from karpenter.cloud.registry import ProviderContext
from karpenter.cloud.unavailable import UnavailableOfferings
from karpenter.model.aws.catalog import load_aws_catalog
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.aws.nodeclasses import decode_node_class
from karpenter.model.aws.orders import FindNodeClass
from karpenter.model.aws.settings import AwsSettings
from karpenter.model.nodepool import NodeClassRef
from karpenter.runtime.clock import Clock
from karpenter.runtime.metrics import Metrics


def open_aws(
    clock: Clock,
    *,
    node_class: FindNodeClass,
    pool: FindPool,
    settings: AwsSettings,
    metrics: Metrics | None = None,
) -> AwsCloud:
    """Return the cloud that `settings.account` names. Nothing is called yet.

    Raises ManifestError for a discount file that cannot be used, CloudError when nothing names a region.
    """
    account = settings.account
    aws = AwsSession(
        region=account.region or find_region(),
        endpoint_url=account.endpoint_url or None,
        clock=clock,
        metrics=metrics,
    )
    catalog = load_aws_catalog()
    cluster = ClusterDiscovery(aws, account, version=catalog.kubernetes)
    templates = LaunchTemplates(aws, clock, cluster=lambda: cluster.facts, tags=dict(account.tags))
    reservations = Reservations(aws, clock)
    unavailable = UnavailableOfferings(clock)
    discounts = read_discounts(Path(account.discount_file)) if account.discount_file else {}
    pricing = Pricing(aws, clock, catalog, is_isolated=account.is_isolated, discounts=discounts)
    machines = Machines(aws, clock, cluster_name=account.cluster_name)
    sources = Sources(
        network=Network(aws, clock),
        amis=Amis(aws, clock, version=lambda: cluster.facts.version),
        profiles=InstanceProfiles(
            aws,
            clock,
            cluster_name=lambda: account.cluster_name,
            default_profile=account.default_instance_profile,
            is_isolated=account.is_isolated,
        ),
        reservations=reservations,
        placement_groups=PlacementGroups(aws, clock),
        templates=templates,
    )
    launches = LaunchParts(templates, unavailable, FreeAddresses(), reservations)
    parts = Parts(
        classes=AwsNodeClasses(
            sources,
            region=aws.region,
            cluster=lambda: cluster.facts,
            validator=LaunchValidator(aws, templates, clock, makes_dry_runs=not account.disable_dry_run),
        ),
        templates=templates,
        cluster=cluster,
        types=InstanceTypes(aws, clock, pricing=pricing, unavailable=unavailable, catalog=catalog, settings=settings),
        pricing=pricing,
        fleets=Fleets(aws, clock, launches, cluster_name=account.cluster_name, tags=dict(account.tags)),
        machines=machines,
        ownership=Ownership(machines, clock),
        unavailable=unavailable,
        queue=InterruptionQueue(aws, clock, name=account.interruption_queue) if account.interruption_queue else None,
    )
    return AwsCloud(aws, parts, clock, node_class=node_class, pool=pool)


def from_context(context: ProviderContext) -> AwsCloud:
    """Return the cloud that `--cloud aws` names: the factory of the entry point. Of the settings it reads `aws`."""

    def node_class(reference: NodeClassRef) -> AwsNodeClass | None:
        raw = context.node_class(reference)
        return None if raw is None else decode_node_class(raw)

    settings = context.settings.get("aws", AwsSettings())
    if not isinstance(settings, AwsSettings):
        raise TypeError(f"setting 'aws': expected AwsSettings, got {settings!r}")
    named = replace(settings.account, cluster_name=settings.account.cluster_name or context.cluster_name)
    return open_aws(
        context.clock,
        node_class=node_class,
        pool=context.pool,
        settings=replace(settings, account=named),
        metrics=context.metrics,
    )
