"""User data: what a new machine is told, so that it joins the cluster as the node that was planned.

Lives here: pure text, one module per kind of image, and the merging of what users bring. Never here: encoding for an
API, calls to AWS. Source: spec v1alpha5 §3.9 (AWS-70 … AWS-76), spec v1 A-41, A-49.
"""

from karpenter.model.aws.userdata.bootstrap import Bootstrap, bootstrap_of
from karpenter.model.aws.userdata.render import LARGEST_BYTES, UserDataError, render_user_data

__all__ = ["LARGEST_BYTES", "Bootstrap", "UserDataError", "bootstrap_of", "render_user_data"]
