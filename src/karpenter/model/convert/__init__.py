"""From v1alpha5 manifests to those of today's API: Provisioner to NodePool, AWSNodeTemplate to EC2NodeClass.

Pure: raw objects in, raw objects and notes out. Every manifest that is given out has been read by its own codec, so it
is valid; whatever changes in behaviour, or cannot be said any more, is a note. Never: files, the API.
Source: spec v1 §7.
"""

from karpenter.model.convert.conversion import Conversion, convert
from karpenter.model.convert.nodeclasses import Profile
from karpenter.model.convert.notes import Note

__all__ = ["Conversion", "Note", "Profile", "convert"]
