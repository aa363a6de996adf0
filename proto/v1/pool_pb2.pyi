from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Device(_message.Message):
    __slots__ = ("ordinal", "name", "kind", "memory_bytes", "compute_capability", "uuid")
    ORDINAL_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    COMPUTE_CAPABILITY_FIELD_NUMBER: _ClassVar[int]
    UUID_FIELD_NUMBER: _ClassVar[int]
    ordinal: int
    name: str
    kind: str
    memory_bytes: int
    compute_capability: str
    uuid: str
    def __init__(self, ordinal: _Optional[int] = ..., name: _Optional[str] = ..., kind: _Optional[str] = ..., memory_bytes: _Optional[int] = ..., compute_capability: _Optional[str] = ..., uuid: _Optional[str] = ...) -> None: ...

class Session(_message.Message):
    __slots__ = ("session_id", "lease_id", "device_ordinal", "memory_bytes", "memory_used_bytes", "worker_pid", "client", "whole_device", "job_id", "connected", "operations", "job_token_hash", "lease_index", "lease_size")
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
    def __init__(self, session_id: _Optional[str] = ..., lease_id: _Optional[str] = ..., device_ordinal: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., memory_used_bytes: _Optional[int] = ..., worker_pid: _Optional[int] = ..., client: _Optional[str] = ..., whole_device: bool = ..., job_id: _Optional[str] = ..., connected: bool = ..., operations: _Optional[int] = ..., job_token_hash: _Optional[str] = ..., lease_index: _Optional[int] = ..., lease_size: _Optional[int] = ...) -> None: ...

class AcquireRequest(_message.Message):
    __slots__ = ("job_id", "gpus", "memory_bytes", "wait_s", "client", "carriers", "host", "job_token")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    GPUS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    WAIT_S_FIELD_NUMBER: _ClassVar[int]
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    CARRIERS_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    JOB_TOKEN_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    gpus: int
    memory_bytes: int
    wait_s: float
    client: str
    carriers: _containers.RepeatedScalarFieldContainer[str]
    host: str
    job_token: str
    def __init__(self, job_id: _Optional[str] = ..., gpus: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., wait_s: _Optional[float] = ..., client: _Optional[str] = ..., carriers: _Optional[_Iterable[str]] = ..., host: _Optional[str] = ..., job_token: _Optional[str] = ...) -> None: ...

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
    __slots__ = ("position", "length", "reason")
    POSITION_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    position: int
    length: int
    reason: str
    def __init__(self, position: _Optional[int] = ..., length: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class Grant(_message.Message):
    __slots__ = ("lease_id", "devices", "joined")
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    JOINED_FIELD_NUMBER: _ClassVar[int]
    lease_id: str
    devices: _containers.RepeatedCompositeFieldContainer[GrantedDevice]
    joined: bool
    def __init__(self, lease_id: _Optional[str] = ..., devices: _Optional[_Iterable[_Union[GrantedDevice, _Mapping]]] = ..., joined: bool = ...) -> None: ...

class GrantedDevice(_message.Message):
    __slots__ = ("server", "device", "session_id", "token", "urls", "memory_bytes")
    SERVER_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    URLS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    server: str
    device: Device
    session_id: str
    token: str
    urls: _containers.RepeatedScalarFieldContainer[str]
    memory_bytes: int
    def __init__(self, server: _Optional[str] = ..., device: _Optional[_Union[Device, _Mapping]] = ..., session_id: _Optional[str] = ..., token: _Optional[str] = ..., urls: _Optional[_Iterable[str]] = ..., memory_bytes: _Optional[int] = ...) -> None: ...

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
    __slots__ = ("interval_s",)
    INTERVAL_S_FIELD_NUMBER: _ClassVar[int]
    interval_s: float
    def __init__(self, interval_s: _Optional[float] = ...) -> None: ...

class StatusReply(_message.Message):
    __slots__ = ("broker", "version", "uptime_s", "servers", "leases", "waiting")
    BROKER_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    UPTIME_S_FIELD_NUMBER: _ClassVar[int]
    SERVERS_FIELD_NUMBER: _ClassVar[int]
    LEASES_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    broker: str
    version: str
    uptime_s: float
    servers: _containers.RepeatedCompositeFieldContainer[ServerStatus]
    leases: _containers.RepeatedCompositeFieldContainer[LeaseStatus]
    waiting: _containers.RepeatedCompositeFieldContainer[WaitingStatus]
    def __init__(self, broker: _Optional[str] = ..., version: _Optional[str] = ..., uptime_s: _Optional[float] = ..., servers: _Optional[_Iterable[_Union[ServerStatus, _Mapping]]] = ..., leases: _Optional[_Iterable[_Union[LeaseStatus, _Mapping]]] = ..., waiting: _Optional[_Iterable[_Union[WaitingStatus, _Mapping]]] = ...) -> None: ...

class ServerStatus(_message.Message):
    __slots__ = ("name", "state", "heartbeat_age_s", "devices", "address", "warm_workers")
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_AGE_S_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    WARM_WORKERS_FIELD_NUMBER: _ClassVar[int]
    name: str
    state: str
    heartbeat_age_s: float
    devices: _containers.RepeatedCompositeFieldContainer[DeviceStatus]
    address: str
    warm_workers: int
    def __init__(self, name: _Optional[str] = ..., state: _Optional[str] = ..., heartbeat_age_s: _Optional[float] = ..., devices: _Optional[_Iterable[_Union[DeviceStatus, _Mapping]]] = ..., address: _Optional[str] = ..., warm_workers: _Optional[int] = ...) -> None: ...

class DeviceStatus(_message.Message):
    __slots__ = ("device", "granted_bytes", "used_bytes", "sessions")
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    GRANTED_BYTES_FIELD_NUMBER: _ClassVar[int]
    USED_BYTES_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    device: Device
    granted_bytes: int
    used_bytes: int
    sessions: _containers.RepeatedCompositeFieldContainer[Session]
    def __init__(self, device: _Optional[_Union[Device, _Mapping]] = ..., granted_bytes: _Optional[int] = ..., used_bytes: _Optional[int] = ..., sessions: _Optional[_Iterable[_Union[Session, _Mapping]]] = ...) -> None: ...

class LeaseStatus(_message.Message):
    __slots__ = ("lease_id", "job_id", "client", "age_s", "sessions", "devices")
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    AGE_S_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    lease_id: str
    job_id: str
    client: str
    age_s: float
    sessions: int
    devices: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, lease_id: _Optional[str] = ..., job_id: _Optional[str] = ..., client: _Optional[str] = ..., age_s: _Optional[float] = ..., sessions: _Optional[int] = ..., devices: _Optional[_Iterable[str]] = ...) -> None: ...

class WaitingStatus(_message.Message):
    __slots__ = ("client", "position", "gpus", "memory_bytes", "waited_s", "reason")
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    GPUS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    WAITED_S_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    client: str
    position: int
    gpus: int
    memory_bytes: int
    waited_s: float
    reason: str
    def __init__(self, client: _Optional[str] = ..., position: _Optional[int] = ..., gpus: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., waited_s: _Optional[float] = ..., reason: _Optional[str] = ...) -> None: ...

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
    __slots__ = ("name", "instance", "devices", "sessions", "version", "host", "pid")
    NAME_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    name: str
    instance: str
    devices: _containers.RepeatedCompositeFieldContainer[Device]
    sessions: _containers.RepeatedCompositeFieldContainer[Session]
    version: str
    host: str
    pid: int
    def __init__(self, name: _Optional[str] = ..., instance: _Optional[str] = ..., devices: _Optional[_Iterable[_Union[Device, _Mapping]]] = ..., sessions: _Optional[_Iterable[_Union[Session, _Mapping]]] = ..., version: _Optional[str] = ..., host: _Optional[str] = ..., pid: _Optional[int] = ...) -> None: ...

class Heartbeat(_message.Message):
    __slots__ = ("sessions", "warm_workers")
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    WARM_WORKERS_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[Session]
    warm_workers: int
    def __init__(self, sessions: _Optional[_Iterable[_Union[Session, _Mapping]]] = ..., warm_workers: _Optional[int] = ...) -> None: ...

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
    __slots__ = ("registered", "open", "close")
    REGISTERED_FIELD_NUMBER: _ClassVar[int]
    OPEN_FIELD_NUMBER: _ClassVar[int]
    CLOSE_FIELD_NUMBER: _ClassVar[int]
    registered: Registered
    open: OpenSession
    close: CloseSession
    def __init__(self, registered: _Optional[_Union[Registered, _Mapping]] = ..., open: _Optional[_Union[OpenSession, _Mapping]] = ..., close: _Optional[_Union[CloseSession, _Mapping]] = ...) -> None: ...

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
    __slots__ = ("session_id", "lease_id", "job_id", "token", "device_ordinal", "memory_bytes", "client", "carriers", "whole_device", "connect_within_s", "job_token_hash", "lease_index", "lease_size")
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
    def __init__(self, session_id: _Optional[str] = ..., lease_id: _Optional[str] = ..., job_id: _Optional[str] = ..., token: _Optional[str] = ..., device_ordinal: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., client: _Optional[str] = ..., carriers: _Optional[_Iterable[str]] = ..., whole_device: bool = ..., connect_within_s: _Optional[float] = ..., job_token_hash: _Optional[str] = ..., lease_index: _Optional[int] = ..., lease_size: _Optional[int] = ...) -> None: ...

class CloseSession(_message.Message):
    __slots__ = ("session_id", "reason")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    reason: str
    def __init__(self, session_id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...
