"""What machines are told when they boot, byte by byte. Source: spec v1alpha5 AWS-70 … AWS-76, spec v1 A-41, A-49."""

import tomllib
from dataclasses import replace
from email import message_from_string
from pathlib import Path
from typing import Any

import pytest
import yaml

from karpenter.model.aws.cluster import ClusterFacts
from karpenter.model.aws.ec2nodeclass import decode_ec2_node_class
from karpenter.model.aws.userdata import Bootstrap, UserDataError, bootstrap_of, render_user_data
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.taints import Taint
from karpenter.model.v1alpha5.provisioner import decode_provisioner
from tests.awsbuilders import a_kubelet, an_aws_node_class
from tests.builders import a_claim

CLUSTER = ClusterFacts("my-cluster", "https://k8s.example", "Q0E=", service_cidr="10.100.0.0/16")
SEED = Path(__file__).parents[3] / "data" / "provisioner.yaml"


def boot(family: str = "AL2", *, claim: NodeClaim | None = None, custom: str = "", **fields: Any) -> Bootstrap:
    """Return how a machine of a NodePool boots; its labels and taints are cut to keep expectations short."""
    node_class = an_aws_node_class(family=family, user_data=custom)
    usual: dict[str, Any] = {"labels": {"a": "b"}, "taints": ()} if claim is None else {}
    one = bootstrap_of(claim or a_claim(), node_class, CLUSTER, capacity_type="spot", max_pods=29)
    return replace(one, **(usual | fields))


def seed_boot(family: str = "AL2") -> Bootstrap:
    pool, _ = decode_provisioner(yaml.safe_load(SEED.read_text(encoding="utf-8")))
    claim = a_claim(
        labels={**pool.template.labels, pool.identity[0]: pool.identity[1], "kubernetes.io/arch": "arm64"},
        taints=pool.template.taints,
        startup_taints=pool.template.startup_taints,
    )
    node_class = an_aws_node_class(family=family)
    return bootstrap_of(claim, node_class, CLUSTER, capacity_type="spot", max_pods=8, kubelet=pool.kubelet)


def script(*options: str) -> str:
    return "\n".join([
        "#!/bin/bash -xe",
        "exec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1",
        " \\\n".join([
            "/etc/eks/bootstrap.sh 'my-cluster' --apiserver-endpoint 'https://k8s.example' --b64-cluster-ca 'Q0E='",
            *options,
        ]),
    ])  # fmt: skip


def archive(*parts: str) -> str:
    return 'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="//"\n\n' + "\n".join([*parts, "--//--\n"])


def shell_part(body: str) -> str:
    return f'--//\nContent-Type: text/x-shellscript; charset="us-ascii"\n\n{body}'


def config_part(body: str) -> str:
    return f"--//\nContent-Type: application/node.eks.aws\n\n{body}"


PLAIN = script("--use-max-pods false", "--kubelet-extra-args '--node-labels=\"a=b\" --max-pods=29'")
NODE_CONFIG = """\
# Karpenter Generated NodeConfig
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    apiServerEndpoint: https://k8s.example
    certificateAuthority: Q0E=
    cidr: 10.100.0.0/16
    name: my-cluster
  kubelet:
    config:
      maxPods: 29
    flags:
    - --node-labels="a=b"
"""


SEED_TAINTS = (
    "example.com/special-taint=:NoSchedule",
    "example.com/another-taint=:NoSchedule",
    "karpenter.sh/unregistered=:NoExecute",
)


# --- AL2 and Ubuntu ---------------------------------------------------------------------------------------------------


def test_the_seed_boots_al2_with_every_setting_of_its_kubelet() -> None:
    """TV-98, AWS-71, AWS-72, AWS-74; the unregistered taint is spec v1's (v1alpha5 §0.4a)."""
    arguments = [
        '--node-labels="billing-team=my-team,karpenter.sh/capacity-type=spot,karpenter.sh/provisioner-name=default"',
        f'--register-with-taints="{",".join(SEED_TAINTS)}"',
        "--max-pods=20",
        "--pods-per-core=2",
        '--system-reserved="cpu=100m,ephemeral-storage=1Gi,memory=100Mi"',
        '--kube-reserved="cpu=200m,ephemeral-storage=3Gi,memory=100Mi"',
        '--eviction-hard="memory.available<5%,nodefs.available<10%,nodefs.inodesFree<10%"',
        '--eviction-soft="memory.available<500Mi,nodefs.available<15%,nodefs.inodesFree<15%"',
        '--eviction-soft-grace-period="memory.available=1m0s,nodefs.available=1m30s,nodefs.inodesFree=2m0s"',
        "--eviction-max-pod-grace-period=180",
    ]
    expected = script(
        "--container-runtime containerd",
        "--dns-cluster-ip '10.0.1.100'",
        "--use-max-pods false",
        f"--kubelet-extra-args '{' '.join(arguments)}'",
    )
    assert render_user_data(seed_boot()) == archive(shell_part(expected))


def test_a_script_of_the_users_comes_before_ours() -> None:
    """TV-99, AWS-70."""
    text = render_user_data(boot(custom="#!/bin/bash\necho hi"))
    assert text == archive(shell_part("#!/bin/bash\necho hi"), shell_part(PLAIN))


@pytest.mark.parametrize("first", ["MIME-Version: 1.0\r\nContent-Type", "Content-Type"])
def test_the_parts_of_an_archive_of_the_users_come_before_ours_as_they_are(first: str) -> None:
    """AWS-70; carriage returns go, further headers of a part stay."""
    custom = (
        f'{first}: multipart/mixed; boundary="BORDER"\r\n\r\n'
        "--BORDER\r\nContent-Type: text/cloud-config\r\nMerge-Type: list(append)\r\n\r\npackages: [jq]\r\n\r\n"
        "--BORDER\r\nContent-Type: text/x-shellscript\r\n\r\n#!/bin/sh\r\necho hi\r\n--BORDER--\r\n"
    )
    own = (
        "--//\nContent-Type: text/cloud-config\nMerge-Type: list(append)\n\npackages: [jq]\n",
        "--//\nContent-Type: text/x-shellscript\n\n#!/bin/sh\necho hi",
    )
    assert render_user_data(boot(custom=custom)) == archive(*own, shell_part(PLAIN))


@pytest.mark.parametrize(
    "custom", ["Content-Type: text/plain\n\nhi", 'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="x"\n\nhi']
)
def test_an_archive_without_parts_is_refused(custom: str) -> None:
    """AWS-70."""
    with pytest.raises(UserDataError, match="userData of family AL2 cannot be merged"):
        render_user_data(boot(custom=custom))


def test_an_ipv6_dns_address_makes_an_ipv6_node() -> None:
    """Spec v1alpha5 §1.3, AWS-71."""
    text = render_user_data(boot(kubelet=a_kubelet(cluster_dns=("fd30:1c53:5f8a::a",), max_pods=29)))
    expected = script(
        "--ip-family ipv6",
        "--dns-cluster-ip 'fd30:1c53:5f8a::a'",
        "--use-max-pods false",
        "--kubelet-extra-args '--node-labels=\"a=b\" --max-pods=29'",
    )
    assert text == archive(shell_part(expected))


def test_local_disks_become_storage_on_al2() -> None:
    text = render_user_data(boot(local_disks_are_storage=True))
    assert text == archive(shell_part(PLAIN + " \\\n--local-disks raid0"))


# --- AL2023 -----------------------------------------------------------------------------------------------------------


def test_al2023_joins_by_a_node_config() -> None:
    """A-41."""
    assert render_user_data(boot("AL2023")) == archive(config_part(NODE_CONFIG))


def test_kubelet_settings_of_al2023_are_fields_of_its_configuration_also_those_we_do_not_know() -> None:
    """A-32."""
    raw = {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "default"},
        "spec": {
            "amiSelectorTerms": [{"alias": "al2023@latest"}],
            "subnetSelectorTerms": [{"id": "subnet-1"}],
            "securityGroupSelectorTerms": [{"id": "sg-1"}],
            "role": "node",
            "instanceStorePolicy": "RAID0",
            "kubelet": {
                "registryPullQPS": 5,
                "maxPods": 42,
                "clusterDNS": ["10.100.0.10"],
                "kubeReserved": {"cpu": "200m"},
                "evictionSoft": {"memory.available": "500Mi"},
                "evictionSoftGracePeriod": {"memory.available": "1m30s"},
                "imageGCHighThresholdPercent": 85,
                "cpuCFSQuota": False,
            },
        },
    }
    claim = a_claim(taints=(Taint("team", "red", "NoSchedule"),))
    one = bootstrap_of(claim, decode_ec2_node_class(raw), CLUSTER, capacity_type="spot", max_pods=29)
    document = yaml.safe_load(message_from_string(render_user_data(one)).get_payload()[0].get_payload())
    assert document["spec"]["kubelet"]["config"] == {
        "registryPullQPS": 5,
        "maxPods": 42,
        "clusterDNS": ["10.100.0.10"],
        "kubeReserved": {"cpu": "200m"},
        "evictionSoft": {"memory.available": "500Mi"},
        "evictionSoftGracePeriod": {"memory.available": "1m30s"},
        "imageGCHighThresholdPercent": 85,
        "cpuCFSQuota": False,
        "registerWithTaints": [
            {"key": "team", "effect": "NoSchedule", "value": "red"},
            {"key": "karpenter.sh/unregistered", "effect": "NoExecute"},
        ],
    }
    assert document["spec"]["instance"] == {"localStorage": {"strategy": "RAID0"}}


@pytest.mark.parametrize(
    "custom, part",
    [
        ("#!/bin/bash\necho hi", shell_part),
        ("echo hi", shell_part),
        ("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig", config_part),
    ],
)
def test_al2023_takes_scripts_and_node_configs_of_the_users_before_ours(custom: str, part: Any) -> None:
    """A-41: what comes later wins."""
    assert render_user_data(boot("AL2023", custom=custom)) == archive(part(custom), config_part(NODE_CONFIG))


def test_al2023_must_know_the_addresses_of_services() -> None:
    with pytest.raises(UserDataError, match="service CIDR"):
        render_user_data(boot("AL2023", cluster=replace(CLUSTER, service_cidr="")))


# --- Bottlerocket -----------------------------------------------------------------------------------------------------

OWN_TOML = """
[settings.kubernetes]
api-server = "replace me"
max-pods = 9999 # replace me
cloud-provider = "external"
[settings.kubernetes.eviction-hard]
"memory.available" = "12%"
[settings.kubernetes.node-labels]
mine = "stays"
a = "replace me"
[settings.kubernetes.node-taints]
goes = ["away:NoSchedule"]
[settings.ntp]
time-servers = ["169.254.169.123"]
[settings.autoscaling]
should-wait = true
"""


def test_bottlerocket_keeps_the_users_settings_but_for_ours() -> None:
    """AWS-75: node labels are merged key by key, taints are replaced."""
    taints = (Taint("team", "red", "NoSchedule"), Taint("team", "", "NoExecute"))
    kubelet = a_kubelet(max_pods=20, cluster_dns=("10.0.1.100",), kube={"cpu": "200m"}, cpu_cfs_quota=False)
    text = render_user_data(boot("Bottlerocket", custom=OWN_TOML, taints=taints, kubelet=kubelet))
    assert tomllib.loads(text) == {
        "settings": {
            "kubernetes": {
                "api-server": "https://k8s.example",
                "cluster-certificate": "Q0E=",
                "cluster-name": "my-cluster",
                "cluster-dns-ip": "10.0.1.100",
                "cloud-provider": "external",
                "max-pods": 20,
                "kube-reserved": {"cpu": "200m"},
                "cpu-cfs-quota-enforced": False,
                "eviction-hard": {"memory.available": "12%"},
                "node-labels": {"mine": "stays", "a": "b"},
                "node-taints": {"team": ["red:NoSchedule", ":NoExecute"]},
            },
            "ntp": {"time-servers": ["169.254.169.123"]},
            "autoscaling": {"should-wait": False},
        }
    }


def test_bottlerocket_of_a_provisioner_is_not_told_of_soft_evictions() -> None:
    """AWS-26, AWS-75: its allocatable was computed without them."""
    kubernetes = tomllib.loads(render_user_data(seed_boot("Bottlerocket")))["settings"]["kubernetes"]
    found = sorted(key for key in kubernetes if key.startswith("eviction"))
    assert found == [
        "eviction-hard",
        "eviction-max-pod-grace-period",
    ]


def test_local_disks_become_storage_on_bottlerocket() -> None:
    text = render_user_data(boot("Bottlerocket", local_disks_are_storage=True))
    commands = tomllib.loads(text)["settings"]["bootstrap-commands"]["000-mount-instance-storage"]["commands"]
    assert commands[0] == ["apiclient", "ephemeral-storage", "init"]


@pytest.mark.parametrize("custom", ["[settings", "settings = 1", "[settings]\nkubernetes = 1"])
def test_settings_that_cannot_be_merged_are_refused(custom: str) -> None:
    """AWS-75."""
    with pytest.raises(UserDataError, match="userData of family Bottlerocket cannot be merged"):
        render_user_data(boot("Bottlerocket", custom=custom))


def test_equal_settings_are_equal_text_however_they_are_written() -> None:
    """A-39: launch templates are told apart by their content."""
    again = OWN_TOML.replace(" # replace me", "").replace("\n[settings.ntp]", "\n\n[settings.ntp]")
    texts = {render_user_data(boot("Bottlerocket", custom=custom)) for custom in (OWN_TOML, again)}
    assert len(texts) == 1


# --- Windows and Custom -----------------------------------------------------------------------------------------------


def test_windows_runs_the_users_script_and_then_the_images_own() -> None:
    """AWS-76."""
    kubelet = a_kubelet(max_pods=110, cluster_dns=("10.0.1.100",), container_runtime="containerd")
    assert render_user_data(boot("Windows2022", custom="Write-Host hi", kubelet=kubelet)) == (
        "<powershell>\n"
        "Write-Host hi\n"
        '[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1"\n'
        "& $EKSBootstrapScriptFile -EKSClusterName 'my-cluster' -APIServerEndpoint 'https://k8s.example' "
        "-Base64ClusterCA 'Q0E=' -KubeletExtraArgs '--node-labels=\"a=b\" --max-pods=110' -DNSClusterIP '10.0.1.100' "
        "-ContainerRuntime 'containerd'\n"
        "</powershell>"
    )


def test_custom_images_get_the_users_text_as_it_is() -> None:
    """AWS-76."""
    assert render_user_data(boot("Custom", custom="anything\r\n")) == "anything\r\n"


# --- what all have in common ------------------------------------------------------------------------------------------


def test_a_node_of_a_node_pool_brings_its_own_taints_and_no_label_that_a_kubelet_may_not_set() -> None:
    """A-41, A-49."""
    claim = a_claim(
        labels={
            "karpenter.sh/nodepool": "default",
            "team": "red",
            "example.com/tier": "web",
            "topology.kubernetes.io/zone": "us-west-2a",
            "kubernetes.io/arch": "amd64",
            "node-restriction.kubernetes.io/x": "y",
            "kops.k8s.io/x": "y",
        },
        taints=(Taint("a", "", "NoSchedule"),),
        startup_taints=(Taint("b", "", "NoExecute"),),
    )
    one = boot(claim=claim)
    assert dict(one.labels) == {
        "example.com/tier": "web",
        "karpenter.sh/capacity-type": "spot",
        "karpenter.sh/do-not-sync-taints": "true",
        "karpenter.sh/nodepool": "default",
        "team": "red",
    }
    assert [str(taint) for taint in one.taints] == [
        "a:NoSchedule",
        "b:NoExecute",
        "karpenter.sh/unregistered:NoExecute",
    ]


def test_the_clusters_own_dns_is_used_where_the_kubelet_settings_name_none() -> None:
    """Spec v1alpha5 §1.3."""
    cluster = replace(CLUSTER, dns_address="172.20.0.10")
    one = bootstrap_of(a_claim(), an_aws_node_class(), cluster, capacity_type="spot", max_pods=29)
    assert one.kubelet.cluster_dns == ("172.20.0.10",)


def test_more_than_ec2_takes_is_refused() -> None:
    """Spec v1 §1.8: 16384 bytes."""
    with pytest.raises(UserDataError, match=r"has 16385 bytes, EC2 takes 16384") as caught:
        render_user_data(boot("Custom", custom="ä" * 8192 + "x"))
    assert caught.value.reason == "UserDataSizeLimitExceeded"
