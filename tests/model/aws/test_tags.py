"""Tags of what is launched. Source: spec v1alpha5 AWS-58 (TV-97), spec v1 A-46."""

from karpenter.model import labels
from karpenter.model.aws.tags import launch_tags
from tests.awsbuilders import an_aws_node_class
from tests.builders import a_claim


def test_only_the_name_of_a_provisioners_machines_is_the_users_to_choose() -> None:
    """TV-97, AWS-58: settings < node template < fixed tags."""
    claim = a_claim(labels={labels.PROVISIONER: "default"})
    node_class = an_aws_node_class(tags={"Name": "foo", labels.PROVISIONER: "x", "team": "red"})
    everywhere = {"team": "blue", "cost": "1", "Name": "bar"}
    assert launch_tags(claim, node_class, cluster_name="my-cluster", everywhere=everywhere) == {
        "Name": "foo",
        "team": "red",
        "cost": "1",
        "karpenter.sh/provisioner-name": "default",
        "kubernetes.io/cluster/my-cluster": "owned",
        "karpenter.sh/managed-by": "my-cluster",
    }


def test_a_provisioners_machines_are_named_after_it() -> None:
    """AWS-58."""
    tags = launch_tags(a_claim(labels={labels.PROVISIONER: "default"}), an_aws_node_class(), cluster_name="my-cluster")
    assert tags["Name"] == "karpenter.sh/provisioner-name/default"


def test_machines_of_a_node_pool_have_no_name_before_their_node() -> None:
    """A-46."""
    tags = launch_tags(
        a_claim(labels={labels.NODEPOOL: "default"}), an_aws_node_class("web"), cluster_name="my-cluster"
    )
    assert tags == {
        "kubernetes.io/cluster/my-cluster": "owned",
        "karpenter.sh/nodepool": "default",
        "eks:eks-cluster-name": "my-cluster",
        "karpenter.k8s.aws/ec2nodeclass": "web",
    }
