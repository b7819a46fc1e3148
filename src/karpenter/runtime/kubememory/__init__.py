"""The Kubernetes API in this process: what an API server means, without the HTTP.

Here: objects with their versions, watches, patches, deletion, subresources, CRDs, admission, the journal. Never:
sockets, printing, and what controllers do (garbage collection, workloads, scheduling): those are clients of this one.
"""

from karpenter.runtime.kubememory.admission import Admission
from karpenter.runtime.kubememory.client import MemoryKubeClient
from karpenter.runtime.kubememory.journal import Journal, JournalError, SqliteJournal
from karpenter.runtime.kubememory.store import MemoryStore

__all__ = ["Admission", "Journal", "JournalError", "MemoryKubeClient", "MemoryStore", "SqliteJournal"]
