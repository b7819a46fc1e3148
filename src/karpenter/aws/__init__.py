"""EC2 as a `CloudProvider`: node classes, launches, prices and notices of a real account.

Lives here: every call to AWS, through boto3 in threads, and what is remembered between calls. boto3 is imported when
the first client is made, never at import time. Never here: features; arithmetic and text that `simulate` needs as well
(instance types, user data, filters of a launch), which are in `karpenter.model.aws`.
"""
