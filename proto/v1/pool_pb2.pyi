from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Device(_message.Message):
    __slots__ = ("ordinal", "name", "kind", "memory_bytes", "compute_capability", "uuid", "model", "maker", "partition", "unhealthy", "taints", "cost")
    ORDINAL_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    COMPUTE_CAPABILITY_FIELD_NUMBER: _ClassVar[int]
    UUID_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    MAKER_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    UNHEALTHY_FIELD_NUMBER: _ClassVar[int]
    TAINTS_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    ordinal: int
    name: str
    kind: str
    memory_bytes: int
    compute_capability: str
    uuid: str
    model: str
    maker: str
    partition: str
    unhealthy: str
    taints: _containers.RepeatedScalarFieldContainer[str]
    cost: float
    def __init__(self, ordinal: _Optional[int] = ..., name: _Optional[str] = ..., kind: _Optional[str] = ..., memory_bytes: _Optional[int] = ..., compute_capability: _Optional[str] = ..., uuid: _Optional[str] = ..., model: _Optional[str] = ..., maker: _Optional[str] = ..., partition: _Optional[str] = ..., unhealthy: _Optional[str] = ..., taints: _Optional[_Iterable[str]] = ..., cost: _Optional[float] = ...) -> None: ...

class Nic(_message.Message):
    __slots__ = ("name", "bandwidth_mbps")
    NAME_FIELD_NUMBER: _ClassVar[int]
    BANDWIDTH_MBPS_FIELD_NUMBER: _ClassVar[int]
    name: str
    bandwidth_mbps: float
    def __init__(self, name: _Optional[str] = ..., bandwidth_mbps: _Optional[float] = ...) -> None: ...

class Session(_message.Message):
    __slots__ = ("session_id", "lease_id", "device_ordinal", "memory_bytes", "memory_used_bytes", "worker_pid", "client", "whole_device", "job_id", "connected", "operations", "job_token_hash", "lease_index", "lease_size", "terms", "device_time_s")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    DEVICE_ORDINAL_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    MEMORY_USED_BYTES_FIELD_NUMBER: _ClassVar[int]
    WORKER_PID_FIELD_NUMBER: _ClassVar[int]
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    WHOLE_DEVICE_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    CONNECTED_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    JOB_TOKEN_HASH_FIELD_NUMBER: _ClassVar[int]
    LEASE_INDEX_FIELD_NUMBER: _ClassVar[int]
    LEASE_SIZE_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    DEVICE_TIME_S_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    lease_id: str
    device_ordinal: int
    memory_bytes: int
    memory_used_bytes: int
    worker_pid: int
    client: str
    whole_device: bool
    job_id: str
    connected: bool
    operations: int
    job_token_hash: str
    lease_index: int
    lease_size: int
    terms: LeaseTerms
    device_time_s: float
    def __init__(self, session_id: _Optional[str] = ..., lease_id: _Optional[str] = ..., device_ordinal: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., memory_used_bytes: _Optional[int] = ..., worker_pid: _Optional[int] = ..., client: _Optional[str] = ..., whole_device: bool = ..., job_id: _Optional[str] = ..., connected: bool = ..., operations: _Optional[int] = ..., job_token_hash: _Optional[str] = ..., lease_index: _Optional[int] = ..., lease_size: _Optional[int] = ..., terms: _Optional[_Union[LeaseTerms, _Mapping]] = ..., device_time_s: _Optional[float] = ...) -> None: ...

class LeaseTerms(_message.Message):
    __slots__ = ("tenant", "priority", "share_milli", "cap_milli", "ends_in_s", "bandwidth_mbps", "partition", "overcommit", "hold")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    SHARE_MILLI_FIELD_NUMBER: _ClassVar[int]
    CAP_MILLI_FIELD_NUMBER: _ClassVar[int]
    ENDS_IN_S_FIELD_NUMBER: _ClassVar[int]
    BANDWIDTH_MBPS_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    OVERCOMMIT_FIELD_NUMBER: _ClassVar[int]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    priority: int
    share_milli: int
    cap_milli: int
    ends_in_s: float
    bandwidth_mbps: float
    partition: str
    overcommit: bool
    hold: bool
    def __init__(self, tenant: _Optional[str] = ..., priority: _Optional[int] = ..., share_milli: _Optional[int] = ..., cap_milli: _Optional[int] = ..., ends_in_s: _Optional[float] = ..., bandwidth_mbps: _Optional[float] = ..., partition: _Optional[str] = ..., overcommit: bool = ..., hold: bool = ...) -> None: ...

class AcquireRequest(_message.Message):
    __slots__ = ("job_id", "gpus", "memory_bytes", "wait_s", "client", "carriers", "host", "job_token", "share_milli", "cap_milli", "models", "min_compute_capability", "priority", "tenant", "spread", "bandwidth_mbps", "zone", "policy", "max_time_s", "overcommit", "tolerations", "hold")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    GPUS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    WAIT_S_FIELD_NUMBER: _ClassVar[int]
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    CARRIERS_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    JOB_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SHARE_MILLI_FIELD_NUMBER: _ClassVar[int]
    CAP_MILLI_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    MIN_COMPUTE_CAPABILITY_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    SPREAD_FIELD_NUMBER: _ClassVar[int]
    BANDWIDTH_MBPS_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    MAX_TIME_S_FIELD_NUMBER: _ClassVar[int]
    OVERCOMMIT_FIELD_NUMBER: _ClassVar[int]
    TOLERATIONS_FIELD_NUMBER: _ClassVar[int]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    gpus: int
    memory_bytes: int
    wait_s: float
    client: str
    carriers: _containers.RepeatedScalarFieldContainer[str]
    host: str
    job_token: str
    share_milli: int
    cap_milli: int
    models: _containers.RepeatedScalarFieldContainer[str]
    min_compute_capability: str
    priority: int
    tenant: str
    spread: str
    bandwidth_mbps: float
    zone: str
    policy: str
    max_time_s: float
    overcommit: bool
    tolerations: _containers.RepeatedScalarFieldContainer[str]
    hold: bool
    def __init__(self, job_id: _Optional[str] = ..., gpus: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., wait_s: _Optional[float] = ..., client: _Optional[str] = ..., carriers: _Optional[_Iterable[str]] = ..., host: _Optional[str] = ..., job_token: _Optional[str] = ..., share_milli: _Optional[int] = ..., cap_milli: _Optional[int] = ..., models: _Optional[_Iterable[str]] = ..., min_compute_capability: _Optional[str] = ..., priority: _Optional[int] = ..., tenant: _Optional[str] = ..., spread: _Optional[str] = ..., bandwidth_mbps: _Optional[float] = ..., zone: _Optional[str] = ..., policy: _Optional[str] = ..., max_time_s: _Optional[float] = ..., overcommit: bool = ..., tolerations: _Optional[_Iterable[str]] = ..., hold: bool = ...) -> None: ...

class AcquireEvent(_message.Message):
    __slots__ = ("queued", "grant", "refusal")
    QUEUED_FIELD_NUMBER: _ClassVar[int]
    GRANT_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    queued: Queued
    grant: Grant
    refusal: Refusal
    def __init__(self, queued: _Optional[_Union[Queued, _Mapping]] = ..., grant: _Optional[_Union[Grant, _Mapping]] = ..., refusal: _Optional[_Union[Refusal, _Mapping]] = ...) -> None: ...

class Queued(_message.Message):
    __slots__ = ("position", "length", "reason", "request")
    POSITION_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    position: int
    length: int
    reason: str
    request: str
    def __init__(self, position: _Optional[int] = ..., length: _Optional[int] = ..., reason: _Optional[str] = ..., request: _Optional[str] = ...) -> None: ...

class Grant(_message.Message):
    __slots__ = ("lease_id", "devices", "joined", "terms")
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    JOINED_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    lease_id: str
    devices: _containers.RepeatedCompositeFieldContainer[GrantedDevice]
    joined: bool
    terms: LeaseTerms
    def __init__(self, lease_id: _Optional[str] = ..., devices: _Optional[_Iterable[_Union[GrantedDevice, _Mapping]]] = ..., joined: bool = ..., terms: _Optional[_Union[LeaseTerms, _Mapping]] = ...) -> None: ...

class GrantedDevice(_message.Message):
    __slots__ = ("server", "device", "session_id", "token", "urls", "memory_bytes", "share_milli")
    SERVER_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    URLS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHARE_MILLI_FIELD_NUMBER: _ClassVar[int]
    server: str
    device: Device
    session_id: str
    token: str
    urls: _containers.RepeatedScalarFieldContainer[str]
    memory_bytes: int
    share_milli: int
    def __init__(self, server: _Optional[str] = ..., device: _Optional[_Union[Device, _Mapping]] = ..., session_id: _Optional[str] = ..., token: _Optional[str] = ..., urls: _Optional[_Iterable[str]] = ..., memory_bytes: _Optional[int] = ..., share_milli: _Optional[int] = ...) -> None: ...

class Refusal(_message.Message):
    __slots__ = ("reason", "message", "remedy")
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    REMEDY_FIELD_NUMBER: _ClassVar[int]
    reason: str
    message: str
    remedy: str
    def __init__(self, reason: _Optional[str] = ..., message: _Optional[str] = ..., remedy: _Optional[str] = ...) -> None: ...

class ReleaseRequest(_message.Message):
    __slots__ = ("session_id", "lease_id")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    lease_id: str
    def __init__(self, session_id: _Optional[str] = ..., lease_id: _Optional[str] = ...) -> None: ...

class ReleaseReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RenewRequest(_message.Message):
    __slots__ = ("lease_id",)
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    lease_id: str
    def __init__(self, lease_id: _Optional[str] = ...) -> None: ...

class RenewReply(_message.Message):
    __slots__ = ("expires_in_s",)
    EXPIRES_IN_S_FIELD_NUMBER: _ClassVar[int]
    expires_in_s: float
    def __init__(self, expires_in_s: _Optional[float] = ...) -> None: ...

class ExplainRequest(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class ExplainReply(_message.Message):
    __slots__ = ("state", "message", "server")
    STATE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    SERVER_FIELD_NUMBER: _ClassVar[int]
    state: str
    message: str
    server: str
    def __init__(self, state: _Optional[str] = ..., message: _Optional[str] = ..., server: _Optional[str] = ...) -> None: ...

class StatusRequest(_message.Message):
    __slots__ = ("interval_s", "tenant")
    INTERVAL_S_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    interval_s: float
    tenant: str
    def __init__(self, interval_s: _Optional[float] = ..., tenant: _Optional[str] = ...) -> None: ...

class StatusReply(_message.Message):
    __slots__ = ("broker", "version", "uptime_s", "servers", "leases", "waiting", "epoch", "note")
    BROKER_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    UPTIME_S_FIELD_NUMBER: _ClassVar[int]
    SERVERS_FIELD_NUMBER: _ClassVar[int]
    LEASES_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    broker: str
    version: str
    uptime_s: float
    servers: _containers.RepeatedCompositeFieldContainer[ServerStatus]
    leases: _containers.RepeatedCompositeFieldContainer[LeaseStatus]
    waiting: _containers.RepeatedCompositeFieldContainer[WaitingStatus]
    epoch: int
    note: str
    def __init__(self, broker: _Optional[str] = ..., version: _Optional[str] = ..., uptime_s: _Optional[float] = ..., servers: _Optional[_Iterable[_Union[ServerStatus, _Mapping]]] = ..., leases: _Optional[_Iterable[_Union[LeaseStatus, _Mapping]]] = ..., waiting: _Optional[_Iterable[_Union[WaitingStatus, _Mapping]]] = ..., epoch: _Optional[int] = ..., note: _Optional[str] = ...) -> None: ...

class ServerStatus(_message.Message):
    __slots__ = ("name", "state", "heartbeat_age_s", "devices", "address", "warm_workers", "zone", "rack", "partition", "note")
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_AGE_S_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    WARM_WORKERS_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    RACK_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    name: str
    state: str
    heartbeat_age_s: float
    devices: _containers.RepeatedCompositeFieldContainer[DeviceStatus]
    address: str
    warm_workers: int
    zone: str
    rack: str
    partition: str
    note: str
    def __init__(self, name: _Optional[str] = ..., state: _Optional[str] = ..., heartbeat_age_s: _Optional[float] = ..., devices: _Optional[_Iterable[_Union[DeviceStatus, _Mapping]]] = ..., address: _Optional[str] = ..., warm_workers: _Optional[int] = ..., zone: _Optional[str] = ..., rack: _Optional[str] = ..., partition: _Optional[str] = ..., note: _Optional[str] = ...) -> None: ...

class DeviceStatus(_message.Message):
    __slots__ = ("device", "granted_bytes", "used_bytes", "sessions", "granted_milli")
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    GRANTED_BYTES_FIELD_NUMBER: _ClassVar[int]
    USED_BYTES_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    GRANTED_MILLI_FIELD_NUMBER: _ClassVar[int]
    device: Device
    granted_bytes: int
    used_bytes: int
    sessions: _containers.RepeatedCompositeFieldContainer[Session]
    granted_milli: int
    def __init__(self, device: _Optional[_Union[Device, _Mapping]] = ..., granted_bytes: _Optional[int] = ..., used_bytes: _Optional[int] = ..., sessions: _Optional[_Iterable[_Union[Session, _Mapping]]] = ..., granted_milli: _Optional[int] = ...) -> None: ...

class LeaseStatus(_message.Message):
    __slots__ = ("lease_id", "job_id", "client", "age_s", "sessions", "devices", "terms", "note")
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    AGE_S_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    lease_id: str
    job_id: str
    client: str
    age_s: float
    sessions: int
    devices: _containers.RepeatedScalarFieldContainer[str]
    terms: LeaseTerms
    note: str
    def __init__(self, lease_id: _Optional[str] = ..., job_id: _Optional[str] = ..., client: _Optional[str] = ..., age_s: _Optional[float] = ..., sessions: _Optional[int] = ..., devices: _Optional[_Iterable[str]] = ..., terms: _Optional[_Union[LeaseTerms, _Mapping]] = ..., note: _Optional[str] = ...) -> None: ...

class WaitingStatus(_message.Message):
    __slots__ = ("client", "position", "gpus", "memory_bytes", "waited_s", "reason", "request", "tenant", "priority", "expected_in_s", "share_milli")
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    GPUS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    WAITED_S_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_IN_S_FIELD_NUMBER: _ClassVar[int]
    SHARE_MILLI_FIELD_NUMBER: _ClassVar[int]
    client: str
    position: int
    gpus: int
    memory_bytes: int
    waited_s: float
    reason: str
    request: str
    tenant: str
    priority: int
    expected_in_s: float
    share_milli: int
    def __init__(self, client: _Optional[str] = ..., position: _Optional[int] = ..., gpus: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., waited_s: _Optional[float] = ..., reason: _Optional[str] = ..., request: _Optional[str] = ..., tenant: _Optional[str] = ..., priority: _Optional[int] = ..., expected_in_s: _Optional[float] = ..., share_milli: _Optional[int] = ...) -> None: ...

class WhyRequest(_message.Message):
    __slots__ = ("id", "tenant")
    ID_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    id: str
    tenant: str
    def __init__(self, id: _Optional[str] = ..., tenant: _Optional[str] = ...) -> None: ...

class WhyReply(_message.Message):
    __slots__ = ("state", "summary", "details", "expected_in_s")
    STATE_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_IN_S_FIELD_NUMBER: _ClassVar[int]
    state: str
    summary: str
    details: _containers.RepeatedScalarFieldContainer[str]
    expected_in_s: float
    def __init__(self, state: _Optional[str] = ..., summary: _Optional[str] = ..., details: _Optional[_Iterable[str]] = ..., expected_in_s: _Optional[float] = ...) -> None: ...

class CordonRequest(_message.Message):
    __slots__ = ("server", "off", "reason")
    SERVER_FIELD_NUMBER: _ClassVar[int]
    OFF_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    server: str
    off: bool
    reason: str
    def __init__(self, server: _Optional[str] = ..., off: bool = ..., reason: _Optional[str] = ...) -> None: ...

class DrainRequest(_message.Message):
    __slots__ = ("server", "within_s", "reason")
    SERVER_FIELD_NUMBER: _ClassVar[int]
    WITHIN_S_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    server: str
    within_s: float
    reason: str
    def __init__(self, server: _Optional[str] = ..., within_s: _Optional[float] = ..., reason: _Optional[str] = ...) -> None: ...

class AdminReply(_message.Message):
    __slots__ = ("changed", "message", "leases")
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    LEASES_FIELD_NUMBER: _ClassVar[int]
    changed: bool
    message: str
    leases: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, changed: bool = ..., message: _Optional[str] = ..., leases: _Optional[_Iterable[str]] = ...) -> None: ...

class NameRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ListRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Quota(_message.Message):
    __slots__ = ("tenant", "milli", "memory_bytes", "borrow_milli", "weight", "max_priority", "used_milli", "used_memory_bytes")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    MILLI_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    BORROW_MILLI_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    MAX_PRIORITY_FIELD_NUMBER: _ClassVar[int]
    USED_MILLI_FIELD_NUMBER: _ClassVar[int]
    USED_MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    milli: int
    memory_bytes: int
    borrow_milli: int
    weight: float
    max_priority: int
    used_milli: int
    used_memory_bytes: int
    def __init__(self, tenant: _Optional[str] = ..., milli: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., borrow_milli: _Optional[int] = ..., weight: _Optional[float] = ..., max_priority: _Optional[int] = ..., used_milli: _Optional[int] = ..., used_memory_bytes: _Optional[int] = ...) -> None: ...

class QuotaList(_message.Message):
    __slots__ = ("quotas",)
    QUOTAS_FIELD_NUMBER: _ClassVar[int]
    quotas: _containers.RepeatedCompositeFieldContainer[Quota]
    def __init__(self, quotas: _Optional[_Iterable[_Union[Quota, _Mapping]]] = ...) -> None: ...

class Partition(_message.Message):
    __slots__ = ("name", "tenants", "servers")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TENANTS_FIELD_NUMBER: _ClassVar[int]
    SERVERS_FIELD_NUMBER: _ClassVar[int]
    name: str
    tenants: _containers.RepeatedScalarFieldContainer[str]
    servers: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., tenants: _Optional[_Iterable[str]] = ..., servers: _Optional[_Iterable[str]] = ...) -> None: ...

class PartitionList(_message.Message):
    __slots__ = ("partitions",)
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    partitions: _containers.RepeatedCompositeFieldContainer[Partition]
    def __init__(self, partitions: _Optional[_Iterable[_Union[Partition, _Mapping]]] = ...) -> None: ...

class AuditRequest(_message.Message):
    __slots__ = ("follow",)
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    follow: bool
    def __init__(self, follow: bool = ...) -> None: ...

class AuditRecord(_message.Message):
    __slots__ = ("json",)
    JSON_FIELD_NUMBER: _ClassVar[int]
    json: str
    def __init__(self, json: _Optional[str] = ...) -> None: ...

class NodeEvent(_message.Message):
    __slots__ = ("register", "heartbeat", "opened", "failed", "ended", "draining")
    REGISTER_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    OPENED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    DRAINING_FIELD_NUMBER: _ClassVar[int]
    register: Register
    heartbeat: Heartbeat
    opened: SessionOpened
    failed: SessionFailed
    ended: SessionEnded
    draining: Draining
    def __init__(self, register: _Optional[_Union[Register, _Mapping]] = ..., heartbeat: _Optional[_Union[Heartbeat, _Mapping]] = ..., opened: _Optional[_Union[SessionOpened, _Mapping]] = ..., failed: _Optional[_Union[SessionFailed, _Mapping]] = ..., ended: _Optional[_Union[SessionEnded, _Mapping]] = ..., draining: _Optional[_Union[Draining, _Mapping]] = ...) -> None: ...

class Register(_message.Message):
    __slots__ = ("name", "instance", "devices", "sessions", "version", "host", "pid", "zone", "rack", "partition", "nics", "taints")
    NAME_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    RACK_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    NICS_FIELD_NUMBER: _ClassVar[int]
    TAINTS_FIELD_NUMBER: _ClassVar[int]
    name: str
    instance: str
    devices: _containers.RepeatedCompositeFieldContainer[Device]
    sessions: _containers.RepeatedCompositeFieldContainer[Session]
    version: str
    host: str
    pid: int
    zone: str
    rack: str
    partition: str
    nics: _containers.RepeatedCompositeFieldContainer[Nic]
    taints: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., instance: _Optional[str] = ..., devices: _Optional[_Iterable[_Union[Device, _Mapping]]] = ..., sessions: _Optional[_Iterable[_Union[Session, _Mapping]]] = ..., version: _Optional[str] = ..., host: _Optional[str] = ..., pid: _Optional[int] = ..., zone: _Optional[str] = ..., rack: _Optional[str] = ..., partition: _Optional[str] = ..., nics: _Optional[_Iterable[_Union[Nic, _Mapping]]] = ..., taints: _Optional[_Iterable[str]] = ...) -> None: ...

class Heartbeat(_message.Message):
    __slots__ = ("sessions", "warm_workers", "health")
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    WARM_WORKERS_FIELD_NUMBER: _ClassVar[int]
    HEALTH_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[Session]
    warm_workers: int
    health: _containers.RepeatedCompositeFieldContainer[DeviceHealth]
    def __init__(self, sessions: _Optional[_Iterable[_Union[Session, _Mapping]]] = ..., warm_workers: _Optional[int] = ..., health: _Optional[_Iterable[_Union[DeviceHealth, _Mapping]]] = ...) -> None: ...

class DeviceHealth(_message.Message):
    __slots__ = ("ordinal", "unhealthy")
    ORDINAL_FIELD_NUMBER: _ClassVar[int]
    UNHEALTHY_FIELD_NUMBER: _ClassVar[int]
    ordinal: int
    unhealthy: str
    def __init__(self, ordinal: _Optional[int] = ..., unhealthy: _Optional[str] = ...) -> None: ...

class SessionOpened(_message.Message):
    __slots__ = ("session_id", "urls", "worker_pid")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    URLS_FIELD_NUMBER: _ClassVar[int]
    WORKER_PID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    urls: _containers.RepeatedScalarFieldContainer[str]
    worker_pid: int
    def __init__(self, session_id: _Optional[str] = ..., urls: _Optional[_Iterable[str]] = ..., worker_pid: _Optional[int] = ...) -> None: ...

class SessionFailed(_message.Message):
    __slots__ = ("session_id", "message")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    message: str
    def __init__(self, session_id: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class SessionEnded(_message.Message):
    __slots__ = ("session_id", "state", "message")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    state: str
    message: str
    def __init__(self, session_id: _Optional[str] = ..., state: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class Draining(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class NodeCommand(_message.Message):
    __slots__ = ("registered", "open", "close", "notice", "epoch")
    REGISTERED_FIELD_NUMBER: _ClassVar[int]
    OPEN_FIELD_NUMBER: _ClassVar[int]
    CLOSE_FIELD_NUMBER: _ClassVar[int]
    NOTICE_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    registered: Registered
    open: OpenSession
    close: CloseSession
    notice: Notice
    epoch: int
    def __init__(self, registered: _Optional[_Union[Registered, _Mapping]] = ..., open: _Optional[_Union[OpenSession, _Mapping]] = ..., close: _Optional[_Union[CloseSession, _Mapping]] = ..., notice: _Optional[_Union[Notice, _Mapping]] = ..., epoch: _Optional[int] = ...) -> None: ...

class Registered(_message.Message):
    __slots__ = ("heartbeat_s", "lease_s", "broker")
    HEARTBEAT_S_FIELD_NUMBER: _ClassVar[int]
    LEASE_S_FIELD_NUMBER: _ClassVar[int]
    BROKER_FIELD_NUMBER: _ClassVar[int]
    heartbeat_s: float
    lease_s: float
    broker: str
    def __init__(self, heartbeat_s: _Optional[float] = ..., lease_s: _Optional[float] = ..., broker: _Optional[str] = ...) -> None: ...

class OpenSession(_message.Message):
    __slots__ = ("session_id", "lease_id", "job_id", "token", "device_ordinal", "memory_bytes", "client", "carriers", "whole_device", "connect_within_s", "job_token_hash", "lease_index", "lease_size", "terms")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    DEVICE_ORDINAL_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    CARRIERS_FIELD_NUMBER: _ClassVar[int]
    WHOLE_DEVICE_FIELD_NUMBER: _ClassVar[int]
    CONNECT_WITHIN_S_FIELD_NUMBER: _ClassVar[int]
    JOB_TOKEN_HASH_FIELD_NUMBER: _ClassVar[int]
    LEASE_INDEX_FIELD_NUMBER: _ClassVar[int]
    LEASE_SIZE_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    lease_id: str
    job_id: str
    token: str
    device_ordinal: int
    memory_bytes: int
    client: str
    carriers: _containers.RepeatedScalarFieldContainer[str]
    whole_device: bool
    connect_within_s: float
    job_token_hash: str
    lease_index: int
    lease_size: int
    terms: LeaseTerms
    def __init__(self, session_id: _Optional[str] = ..., lease_id: _Optional[str] = ..., job_id: _Optional[str] = ..., token: _Optional[str] = ..., device_ordinal: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., client: _Optional[str] = ..., carriers: _Optional[_Iterable[str]] = ..., whole_device: bool = ..., connect_within_s: _Optional[float] = ..., job_token_hash: _Optional[str] = ..., lease_index: _Optional[int] = ..., lease_size: _Optional[int] = ..., terms: _Optional[_Union[LeaseTerms, _Mapping]] = ...) -> None: ...

class Notice(_message.Message):
    __slots__ = ("session_id", "reason", "message", "within_s")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    WITHIN_S_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    reason: str
    message: str
    within_s: float
    def __init__(self, session_id: _Optional[str] = ..., reason: _Optional[str] = ..., message: _Optional[str] = ..., within_s: _Optional[float] = ...) -> None: ...

class CloseSession(_message.Message):
    __slots__ = ("session_id", "reason")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    reason: str
    def __init__(self, session_id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...
