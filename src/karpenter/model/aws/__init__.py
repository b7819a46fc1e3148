"""What AWS adds to the model: node classes, and the arithmetic from a machine's facts to what pods can use on it.

Lives here: pure values, codecs and formulas, so that `simulate` and the simulated cloud compute what EC2 would give.
Never here: boto3 or any other I/O; calls to AWS live in `karpenter.aws`.
"""
