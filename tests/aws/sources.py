"""Where the parts of node classes are found in a test's account."""

from karpenter.aws.amis import Amis
from karpenter.aws.launchtemplates import LaunchTemplates
from karpenter.aws.network import Network
from karpenter.aws.nodeclass import Sources
from karpenter.aws.placementgroups import PlacementGroups
from karpenter.aws.profiles import InstanceProfiles
from karpenter.aws.reservations import Reservations
from karpenter.aws.session import AwsSession
from karpenter.model.aws.cluster import ClusterFacts
from tests.aws.clocks import HandClock
from tests.aws.resolving import CLUSTER


def sources(aws: AwsSession, clock: HandClock, *, cluster: ClusterFacts = CLUSTER) -> Sources:
    return Sources(
        network=Network(aws, clock),
        amis=Amis(aws, clock, version=lambda: cluster.version),
        profiles=InstanceProfiles(aws, clock, cluster_name=lambda: cluster.name),
        reservations=Reservations(aws, clock),
        placement_groups=PlacementGroups(aws, clock),
        templates=LaunchTemplates(aws, clock, cluster=lambda: cluster),
    )
