"""Label and annotation keys we know, the aliases of old ones, and which keys users may not set.

Source: spec v1alpha5 §1.4, spec v1 §1.2.
"""

from __future__ import annotations

from typing import Final

GROUP: Final = "karpenter.sh"
AWS_GROUP: Final = "karpenter.k8s.aws"

ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
ZONE_ID: Final = "topology.k8s.aws/zone-id"
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
ARCH: Final = "kubernetes.io/arch"
OS: Final = "kubernetes.io/os"
HOSTNAME: Final = "kubernetes.io/hostname"
WINDOWS_BUILD: Final = "node.kubernetes.io/windows-build"

PROVISIONER: Final = f"{GROUP}/provisioner-name"
NODEPOOL: Final = f"{GROUP}/nodepool"
CAPACITY_TYPE: Final = f"{GROUP}/capacity-type"
INITIALIZED: Final = f"{GROUP}/initialized"
REGISTERED: Final = f"{GROUP}/registered"
DO_NOT_SYNC_TAINTS: Final = f"{GROUP}/do-not-sync-taints"
MANAGED_BY: Final = f"{GROUP}/managed-by"
EXCLUDE_BALANCERS: Final = "node.kubernetes.io/exclude-from-external-load-balancers"

DO_NOT_EVICT: Final = f"{GROUP}/do-not-evict"
DO_NOT_CONSOLIDATE: Final = f"{GROUP}/do-not-consolidate"
DO_NOT_DISRUPT: Final = f"{GROUP}/do-not-disrupt"
EMPTINESS_TIMESTAMP: Final = f"{GROUP}/emptiness-timestamp"
PROVISIONER_HASH: Final = f"{GROUP}/provisioner-hash"
NODEPOOL_HASH: Final = f"{GROUP}/nodepool-hash"
NODEPOOL_HASH_VERSION: Final = f"{GROUP}/nodepool-hash-version"
PREFERENCE_POLICY: Final = f"{GROUP}/preference-policy"
"""On a pool: `Respect` or `Ignore`, whatever the setting says for the others."""
NODE_CLASS_HASH: Final = f"{AWS_GROUP}/ec2nodeclass-hash"
NODE_CLASS_HASH_VERSION: Final = f"{AWS_GROUP}/ec2nodeclass-hash-version"
NODE_TEMPLATE_HASH: Final = f"{AWS_GROUP}/nodetemplate-hash"
MIN_VALUES_RELAXED: Final = f"{GROUP}/nodeclaim-min-values-relaxed"
TERMINATION_TIMESTAMP: Final = f"{GROUP}/nodeclaim-termination-timestamp"
DISRUPTION_BUDGETS: Final = f"{GROUP}/disruption-budgets"
DISRUPTION_COMMAND: Final = f"{GROUP}/disruption-command"
"""On a claim that is being replaced: the whole command, so that a restart carries it on."""
REPLACEMENT_FOR: Final = f"{GROUP}/replacement-for"
"""On a claim that was launched to replace others: the id of the command."""
INTERRUPTION: Final = f"{GROUP}/interruption"
"""On a claim whose machine the cloud will take: the notice."""
SURGE: Final = f"{GROUP}/surge"
"""On a pod, `true`: before its node goes, its Deployment is rolled over, so that a new pod is ready first."""
ADOPTS_PROVISIONER: Final = f"{GROUP}/adopts-provisioner"
"""On a NodePool: the Provisioner whose nodes it takes over, as far as they meet its requirements."""
SURGE_FOR: Final = f"{GROUP}/surge-for"
"""On a pod template that was rolled over for it: the uid of the pod whose node goes."""
POD_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
IS_DEFAULT_STORAGE_CLASS: Final = "storageclass.kubernetes.io/is-default-class"

TERMINATION_FINALIZER: Final = f"{GROUP}/termination"

SPOT: Final = "spot"
ON_DEMAND: Final = "on-demand"
RESERVED: Final = "reserved"

INSTANCE_HYPERVISOR: Final = f"{AWS_GROUP}/instance-hypervisor"
INSTANCE_ENCRYPTION: Final = f"{AWS_GROUP}/instance-encryption-in-transit-supported"
INSTANCE_CATEGORY: Final = f"{AWS_GROUP}/instance-category"
INSTANCE_GENERATION: Final = f"{AWS_GROUP}/instance-generation"
INSTANCE_FAMILY: Final = f"{AWS_GROUP}/instance-family"
INSTANCE_SIZE: Final = f"{AWS_GROUP}/instance-size"
INSTANCE_CPU: Final = f"{AWS_GROUP}/instance-cpu"
INSTANCE_MEMORY: Final = f"{AWS_GROUP}/instance-memory"
INSTANCE_NETWORK_BANDWIDTH: Final = f"{AWS_GROUP}/instance-network-bandwidth"
INSTANCE_PODS: Final = f"{AWS_GROUP}/instance-pods"
INSTANCE_LOCAL_NVME: Final = f"{AWS_GROUP}/instance-local-nvme"
INSTANCE_GPU_NAME: Final = f"{AWS_GROUP}/instance-gpu-name"
INSTANCE_GPU_MANUFACTURER: Final = f"{AWS_GROUP}/instance-gpu-manufacturer"
INSTANCE_GPU_COUNT: Final = f"{AWS_GROUP}/instance-gpu-count"
INSTANCE_GPU_MEMORY: Final = f"{AWS_GROUP}/instance-gpu-memory"
INSTANCE_ACCELERATOR_NAME: Final = f"{AWS_GROUP}/instance-accelerator-name"
INSTANCE_ACCELERATOR_MANUFACTURER: Final = f"{AWS_GROUP}/instance-accelerator-manufacturer"
INSTANCE_ACCELERATOR_COUNT: Final = f"{AWS_GROUP}/instance-accelerator-count"

RESERVATION_ID: Final = f"{AWS_GROUP}/capacity-reservation-id"
RESERVATION_TYPE: Final = f"{AWS_GROUP}/capacity-reservation-type"
RESERVATION_INTERRUPTIBLE: Final = f"{AWS_GROUP}/capacity-reservation-interruptible"
RESERVATION_KEYS: Final = frozenset({RESERVATION_ID, RESERVATION_TYPE, RESERVATION_INTERRUPTIBLE})
"""Labels of nodes that hold a place of a capacity reservation."""

AWS_WELL_KNOWN: Final = frozenset({
    INSTANCE_HYPERVISOR, INSTANCE_ENCRYPTION, INSTANCE_CATEGORY, INSTANCE_GENERATION, INSTANCE_FAMILY, INSTANCE_SIZE,
    INSTANCE_CPU, INSTANCE_MEMORY, INSTANCE_NETWORK_BANDWIDTH, INSTANCE_PODS, INSTANCE_LOCAL_NVME, INSTANCE_GPU_NAME,
    INSTANCE_GPU_MANUFACTURER, INSTANCE_GPU_COUNT, INSTANCE_GPU_MEMORY, INSTANCE_ACCELERATOR_NAME,
    INSTANCE_ACCELERATOR_MANUFACTURER, INSTANCE_ACCELERATOR_COUNT,
})  # fmt: skip

WELL_KNOWN: Final = AWS_WELL_KNOWN | RESERVATION_KEYS | {
    PROVISIONER, NODEPOOL, CAPACITY_TYPE, ZONE, REGION, INSTANCE_TYPE, ARCH, OS, WINDOWS_BUILD,
}  # fmt: skip
"""Keys that pods may constrain although no pool mentions them; a catalogue may add its own (`Snapshot.well_known`)."""

IDENTITIES: Final = frozenset({PROVISIONER, NODEPOOL})
"""The labels that tie a node to its pool."""

AWS_KEYS_OF_NODEPOOL: Final = (
    (AWS_WELL_KNOWN - {INSTANCE_PODS})
    | RESERVATION_KEYS
    | {
        f"{AWS_GROUP}/{name}"
        for name in (
            "ec2nodeclass",
            "instance-capability-flex",
            "instance-cpu-manufacturer",
            "instance-cpu-sustained-clock-speed-mhz",
            "instance-ebs-bandwidth",
            "instance-tenancy",
            "nitro-sandbox",
            "placement-group-id",
            "placement-group-partition",
        )
    }
)
"""Keys of AWS that a v1 NodePool may name (A-27). Not all are well known to pods yet: no catalogue gives them."""

ALIASES: Final = {
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": REGION,
    "beta.kubernetes.io/arch": ARCH,
    "beta.kubernetes.io/os": OS,
    "beta.kubernetes.io/instance-type": INSTANCE_TYPE,
    "topology.ebs.csi.aws.com/zone": ZONE,
}

RESTRICTED_DOMAINS: Final = ("kubernetes.io", "k8s.io", GROUP, AWS_GROUP)
DOMAIN_EXCEPTIONS: Final = frozenset({"kops.k8s.io", "node.kubernetes.io", "node-restriction.kubernetes.io"})
RESTRICTED_KEYS: Final = frozenset({HOSTNAME, EMPTINESS_TIMESTAMP})


def canonical(key: str) -> str:
    """Return the modern spelling of a label key."""
    return ALIASES.get(key, key)


def domain(key: str) -> str:
    """Return the part of a label key before the slash; empty when there is none."""
    return key.rpartition("/")[0]


def is_restricted(key: str) -> bool:
    """Return whether users of a Provisioner may not set or require this key (API-10 to 13, quirk 17 included).

    The labels that tie a node to its pool are well known to pods, but never the user's to set; of capacity
    reservations a Provisioner knows nothing.
    """
    if key in IDENTITIES | RESERVATION_KEYS:
        return True
    if key in WELL_KNOWN or domain(key) in DOMAIN_EXCEPTIONS:
        return False
    return domain(key).endswith(RESTRICTED_DOMAINS) or key in RESTRICTED_KEYS


def is_restricted_in_nodepool(key: str) -> bool:
    """Return whether users of a v1 NodePool may not set or require this key (spec v1 §1.4, A-27)."""
    if key in AWS_KEYS_OF_NODEPOOL or key in {CAPACITY_TYPE, HOSTNAME}:
        return key == HOSTNAME
    name = domain(key)
    return any(name == restricted or name.endswith(f".{restricted}") for restricted in (GROUP, AWS_GROUP))


def normalized(labels: dict[str, str]) -> dict[str, str]:
    """Return node labels with aliased keys rewritten; a modern key already present wins."""
    if not any(key in ALIASES for key in labels):
        return labels
    rewritten = {canonical(key): value for key, value in labels.items() if key in ALIASES}
    return rewritten | {key: value for key, value in labels.items() if key not in ALIASES}
