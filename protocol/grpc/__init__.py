"""What gRPC says on the wire: definitions, framing, status, without HTTP/2 and without sockets.

Imported only by a cluster with the gRPC front: it needs protobuf, of the extra ``fakemq[grpc]``.
"""
