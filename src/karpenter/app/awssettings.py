"""The settings of the cloud AWS, and of what its machines offer."""

from __future__ import annotations

from typing import Final

from karpenter.app.forms import AMOUNT, COUNT, SWITCH, TAGS, TEXT, URL, Setting

AWS_SETTINGS: Final[tuple[Setting, ...]] = (
    Setting(
        "aws.vmMemoryOverheadPercent",
        "vm_memory_overhead_percent",
        AMOUNT,
        "Share of a machine's memory that the hypervisor is taken to keep.",
        variable="VM_MEMORY_OVERHEAD_PERCENT",
    ),
    Setting(
        "aws.reservedENIs",
        "reserved_enis",
        COUNT,
        "Network interfaces of each node that pods may not use.",
        variable="RESERVED_ENIS",
    ),
    Setting(
        "aws.enablePodENI",
        "enable_pod_eni",
        SWITCH,
        "Whether nodes offer `vpc.amazonaws.com/pod-eni`.",
        variable="AWS_ENABLE_POD_ENI",
    ),
    Setting(
        "aws.enableENILimitedPodDensity",
        "eni_limited_pod_density",
        SWITCH,
        "Whether network interfaces limit the pods of a node; otherwise 110 fit.",
        variable="AWS_ENI_LIMITED_POD_DENSITY",
    ),
    Setting(
        "aws.clusterName",
        "account.cluster_name",
        TEXT,
        "With `--cloud aws`: the cluster that nodes join, which marks its machines among others of the account.",
        variable="CLUSTER_NAME",
    ),
    Setting(
        "aws.clusterEndpoint",
        "account.cluster_endpoint",
        URL,
        "URL of the API server as nodes reach it; empty asks EKS.",
        variable="CLUSTER_ENDPOINT",
    ),
    Setting(
        "aws.clusterCABundle",
        "account.cluster_ca_bundle",
        TEXT,
        "Certificate authority of the API server, PEM in base64; empty asks EKS.",
        variable="CLUSTER_CA_BUNDLE",
    ),
    Setting(
        "aws.region",
        "account.region",
        TEXT,
        "Region of the machines; empty leaves it to AWS_REGION, the profile or the machine we run on.",
    ),
    Setting(
        "aws.endpoint",
        "account.endpoint_url",
        URL,
        "Address that stands in for all services of AWS; empty for the real ones.",
    ),
    Setting(
        "aws.interruptionQueueName",
        "account.interruption_queue",
        TEXT,
        "SQS queue with the notices of EventBridge; empty hears of none.",
        variable="INTERRUPTION_QUEUE",
    ),
    Setting(
        "aws.defaultInstanceProfile",
        "account.default_instance_profile",
        TEXT,
        "Instance profile of AWSNodeTemplates that name none.",
        variable="AWS_DEFAULT_INSTANCE_PROFILE",
    ),
    Setting(
        "aws.tags",
        "account.tags",
        TAGS,
        'Tags of everything that is launched, a JSON object: `{"team": "web"}`.',
    ),
    Setting(
        "aws.isolatedVPC",
        "account.is_isolated",
        SWITCH,
        "Whether the price list and IAM cannot be reached; then on-demand prices are those of the package.",
        variable="ISOLATED_VPC",
    ),
    Setting(
        "aws.disableDryRun",
        "account.disable_dry_run",
        SWITCH,
        "Whether launches of EC2NodeClasses are not tried out (template, two dry runs) before they are needed.",
        variable="DISABLE_DRY_RUN",
    ),
    Setting(
        "aws.discountFile",
        "account.discount_file",
        TEXT,
        'File with percent off on-demand prices by instance type, JSON: `{"m5.*": 30, "*": 10}`.',
    ),
)
