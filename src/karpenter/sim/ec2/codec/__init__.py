"""AWS's wire protocols, read and written by the shapes of a service model: EC2 query, query, JSON, REST JSON.

Values are plain Python: structures are dicts by member name, timestamps are seconds since the epoch, blobs are bytes.
Never here: what an operation does.
"""
