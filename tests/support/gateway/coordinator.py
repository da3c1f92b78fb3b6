"""A minimal coordinator of one classic group that answers requests. It has no timers and no log."""

from __future__ import annotations

import asyncio
import itertools

from kafka.protocol.admin.groups import DescribeGroupsRequest, DescribeGroupsResponse
from kafka.protocol.consumer.fetch import FetchRequest, FetchResponse
from kafka.protocol.consumer.group import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kafka.protocol.metadata import MetadataRequest, MetadataResponse
from kafka.protocol.producer import TxnOffsetCommitRequest, TxnOffsetCommitResponse

TOPICS = {"t": 16}
MEMBER_ID_REQUIRED, INCONSISTENT = 79, 23


class ToyCoordinator:
    """Completes a generation when ``members`` have joined. ``errors``: request class -> error code of its answers."""

    def __init__(self, members=1, *, topics=None, racks=None):
        self.members, self.topics, self.racks = members, topics or TOPICS, racks or {}
        self.generation, self.protocol = 0, None
        self.errors, self.skip_assignment, self.delay = {}, False, None
        self.assignments, self.leader = {}, None
        self._names = itertools.count(1)
        self.somebody_waits = asyncio.Event()
        self._joining, self._synced, self._completed = {}, None, None

    async def __call__(self, message):
        return await {
            JoinGroupRequest: self._join,
            SyncGroupRequest: self._sync,
            HeartbeatRequest: self._plain,
            LeaveGroupRequest: self._plain,
            OffsetCommitRequest: self._commit,
            TxnOffsetCommitRequest: self._commit,
            FetchRequest: self._plain,
            MetadataRequest: self._metadata,
            DescribeGroupsRequest: self._describe,
        }[type(message)](message)

    async def _join(self, request):
        version = request.version
        if error := self.errors.get(JoinGroupRequest):
            return self._joined(version, error, "", None, [])
        member = request.member_id
        if not member:
            # A real coordinator gives a static member a new id; here it keeps its own, and its assignment.
            member = f"member-{request.group_instance_id or next(self._names)}"
            if version >= 4 and request.group_instance_id is None:
                return self._joined(version, MEMBER_ID_REQUIRED, member, None, [])
        if self._completed is None:
            self._completed, self._synced = asyncio.Event(), asyncio.Event()
        self._joining[member] = request
        self.somebody_waits.set()
        completed = self._completed
        if len(self._joining) == self.members:
            self.generation += 1
            self.leader = next(iter(self._joining))
            common = set.intersection(*({each.name for each in r.protocols} for r in self._joining.values()))
            self.protocol = next(e.name for e in self._joining[self.leader].protocols if e.name in common)
            self._current, self._joining, self._completed = self._joining, {}, None
            completed.set()
        await completed.wait()
        kind = JoinGroupResponse.JoinGroupResponseMember
        members = []
        if member == self.leader:
            for name, r in self._current.items():
                (data,) = (each.metadata for each in r.protocols if each.name == self.protocol)
                fields = {"group_instance_id": r.group_instance_id} if version >= 5 else {}
                members.append(kind(version=version, member_id=name, metadata=data, **fields))
        return self._joined(version, 0, member, self.protocol, members)

    def _joined(self, version, error, member, protocol, members):
        fields = {"protocol_type": "consumer"} if version >= 7 else {}
        if version >= 9:
            fields["skip_assignment"] = self.skip_assignment and member == self.leader
        return JoinGroupResponse(
            version=version,
            error_code=error,
            generation_id=self.generation if protocol else -1,
            protocol_name=protocol or "",
            leader=self.leader or "",
            member_id=member,
            members=members,
            **fields,
        )

    async def _sync(self, request):
        version, error = request.version, self.errors.get(SyncGroupRequest, 0)
        if version >= 5 and request.protocol_name != self.protocol:
            error = INCONSISTENT
        if not error and request.member_id == self.leader and not self.skip_assignment:
            self.assignments = {each.member_id: bytes(each.assignment) for each in request.assignments}
            self._synced.set()
        if not error and not self.skip_assignment:
            await self._synced.wait()
        fields = {"protocol_type": "consumer", "protocol_name": self.protocol} if version >= 5 else {}
        data = b"" if error else self.assignments.get(request.member_id, b"")
        return SyncGroupResponse(version=version, error_code=error, assignment=data, **fields)

    async def _plain(self, request):
        kinds = {
            HeartbeatRequest: HeartbeatResponse,
            LeaveGroupRequest: LeaveGroupResponse,
            FetchRequest: FetchResponse,
        }
        return kinds[type(request)](version=request.version, error_code=self.errors.get(type(request), 0))

    async def _commit(self, request):
        error = self.errors.get(type(request), 0)
        if isinstance(request, TxnOffsetCommitRequest):
            answer, kind = TxnOffsetCommitResponse, TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic
            one = kind.TxnOffsetCommitResponsePartition
        else:
            answer, kind = OffsetCommitResponse, OffsetCommitResponse.OffsetCommitResponseTopic
            one = kind.OffsetCommitResponsePartition
        topics = [
            kind(
                version=request.version,
                name=topic.name,
                partitions=[
                    one(version=request.version, partition_index=each.partition_index, error_code=error)
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
        return answer(version=request.version, topics=topics)

    async def _metadata(self, request):
        if self.delay is not None:
            await self.delay
        version = request.version
        broker, topic = MetadataResponse.MetadataResponseBroker, MetadataResponse.MetadataResponseTopic
        partition = topic.MetadataResponsePartition
        return MetadataResponse(
            version=version,
            brokers=[
                broker(version=version, node_id=node, host="h", port=1, rack=rack) for node, rack in self.racks.items()
            ],
            topics=[
                topic(
                    version=version,
                    error_code=0 if each.name in self.topics else 3,
                    name=each.name,
                    partitions=[
                        partition(
                            version=version,
                            partition_index=number,
                            replica_nodes=[number % max(1, len(self.racks))],
                            isr_nodes=[],
                        )
                        for number in range(self.topics.get(each.name, 0))
                    ],
                )
                for each in request.topics
            ],
        )

    async def _describe(self, request):
        version = request.version
        group = DescribeGroupsResponse.DescribedGroup
        member = group.DescribedGroupMember
        return DescribeGroupsResponse(
            version=version,
            groups=[
                group(
                    version=version,
                    group_id=request.groups[0],
                    group_state="Stable",
                    protocol_type="consumer",
                    protocol_data=self.protocol or "",
                    members=[
                        member(version=version, member_id=name, member_metadata=b"", member_assignment=data)
                        for name, data in self.assignments.items()
                    ],
                )
            ],
        )
