# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Types of messages that are only handed on as bytes, so that no code of theirs is needed.

Who publishes bytes needs no more of a type than its name and its hash. So the type support of a
message that is there, std_msgs/String, is taken under another name: what would pack fields is never
called. ROS offers no bytes of a service: there the fields are bytes, as many as a request has.
"""
from __future__ import annotations

import ctypes
import functools
import typing

from std_msgs.msg import String, UInt8
from std_srvs.srv import Trigger

from px4_sim_ros.model.errors import ParameterError

_FASTDDS = b'rosidl_typesupport_fastrtps_c'
# The callbacks of Fast DDS: namespace, name, writing, reading, size, longest size, keys; those of a
# service: namespace, name, request, response.
_NAMESPACE, _NAME, _WRITES, _READS, _SIZE = range(5)
_CALLBACKS, _PARTS = ctypes.c_void_p * 7, ctypes.c_void_p * 4
_REQUEST, _RESPONSE = 2, 3
_HASH_VERSION, _HASH = 1, ctypes.c_uint8 * 33
_CONVERSIONS = ('_CREATE_ROS_MESSAGE', '_CONVERT_FROM_PY', '_CONVERT_TO_PY',
                '_DESTROY_ROS_MESSAGE')
_Find = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_TypeHash = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
_Code = ctypes.PYFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p)
_Size = ctypes.PYFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)
_Create = ctypes.PYFUNCTYPE(ctypes.c_void_p)
_FromPython = ctypes.PYFUNCTYPE(ctypes.c_bool, ctypes.py_object, ctypes.c_void_p)
_ToPython = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)
_Destroy = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_api = ctypes.pythonapi
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_GetName.restype = ctypes.c_char_p
_api.PyCapsule_GetName.argtypes = [ctypes.py_object]
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class _TypeSupport(ctypes.Structure):
    """The rosidl_message_type_support_t of Iron and later."""

    _fields_ = (
        ('identifier', ctypes.c_char_p), ('data', ctypes.c_void_p), ('func', ctypes.c_void_p),
        ('get_type_hash_func', ctypes.c_void_p), ('get_type_description_func', ctypes.c_void_p),
        ('get_type_description_sources_func', ctypes.c_void_p))


class _ServiceSupport(ctypes.Structure):
    """The rosidl_service_type_support_t of Iron and later."""

    _fields_ = (
        ('identifier', ctypes.c_char_p), ('data', ctypes.c_void_p), ('func', ctypes.c_void_p),
        ('request', ctypes.c_void_p), ('response', ctypes.c_void_p),
        *((name, ctypes.c_void_p) for name in (
            'event', 'create_event', 'destroy_event', 'type_hash', 'description', 'sources')))


_kept: list[object] = []
"""What type supports point to, for as long as the process lives."""


@functools.cache
def _support_of(kind: typing.Any) -> tuple[int, int | None]:
    """Return the addresses of the type support of a type, and of that for Fast DDS."""
    meta: typing.Any = type(kind)
    if meta._TYPE_SUPPORT is None:
        meta.__import_type_support__()
    capsule = meta._TYPE_SUPPORT
    address = _api.PyCapsule_GetPointer(capsule, _api.PyCapsule_GetName(capsule))
    # Those of messages and services begin alike.
    return address, _Find(_TypeSupport.from_address(address).func)(address, _FASTDDS)


def _for_fastdds(kind: typing.Any) -> int:
    """Return the address of the type support of a type for Fast DDS.

    :raises ParameterError: the middleware is another one
    """
    found = _support_of(kind)[1]
    if not found:
        raise ParameterError(
            'px4_topics: px4_msgs is not installed, and without it only rmw_fastrtps_cpp can hand'
            ' on messages of PX4; install it, or use that middleware')
    return found


def _keep_name(parts: typing.Any, namespace: str, name: str) -> None:
    texts = ctypes.c_char_p(namespace.encode()), ctypes.c_char_p(name.encode())
    parts[_NAMESPACE], parts[_NAME] = (ctypes.cast(text, ctypes.c_void_p).value for text in texts)
    _kept.append(texts)


def _function(function: typing.Any) -> int | None:
    """Return the address of a function that lives as long as the process."""
    _kept.append(function)
    return ctypes.cast(function, ctypes.c_void_p).value


def _finder(support: ctypes.Structure, kind: typing.Any) -> int | None:
    """Return the address of a look-up: that for Fast DDS is the support, all else another type."""
    address, other = ctypes.addressof(support), _support_of(kind)[0]
    find = _Find(_TypeSupport.from_address(other).func)
    _kept.append(support)
    return _function(_Find(lambda _, identifier: (
        address if identifier == _FASTDDS else find(other, identifier))))


def _type_support(
    type_name: str, type_hash: str, functions: typing.Mapping[int, typing.Any] | None = None,
) -> _TypeSupport:
    """Return the type support of a message, std_msgs/String under another name.

    :param functions: in place of its callbacks
    """
    package, kind, name = type_name.split('/')
    support = _TypeSupport.from_buffer_copy(
        _TypeSupport.from_address(_for_fastdds(String)))
    callbacks = _CALLBACKS.from_buffer_copy(_CALLBACKS.from_address(support.data))
    _keep_name(callbacks, f'{package}::{kind}', name)
    for place, function in (functions or {}).items():
        callbacks[place] = _function(function)
    digest = bytes.fromhex(type_hash.removeprefix('RIHS01_'))
    hash_struct = _HASH(*([_HASH_VERSION, *digest] if digest else bytes(33)))
    support.data = ctypes.addressof(callbacks)
    support.func = _finder(support, String)
    support.get_type_hash_func = _function(_TypeHash(lambda _: ctypes.addressof(hash_struct)))
    _kept.extend((callbacks, hash_struct))
    return support


def _capsule(address: int | None) -> typing.Any:
    return _api.PyCapsule_New(address, None, None)


@functools.cache
def raw_class(type_name: str, type_hash: str = '') -> type:
    """Return a class for publishers and subscriptions of bytes.

    :param type_name: `package/msg/Name`
    :param type_hash: by REP-2011 (`RIHS01_...`), which tools show; '' if it is not known
    :raises ParameterError: the middleware is another one than Fast DDS
    """
    support = _type_support(type_name, type_hash)
    name = type_name.rpartition('/')[2]
    # rclpy wants to see all of them; those of the string are as good as any.
    meta = type(f'Metaclass_{name}', (type,), {
        **{part: getattr(type(String), part) for part in _CONVERSIONS},
        '_TYPE_SUPPORT': _capsule(ctypes.addressof(support))})
    return meta(name, (), {})


@functools.cache
def raw_service(type_name: str, request_bytes: int, response_bytes: int) -> type:
    """Return a class for a service; requests and responses have their CDR as `data`.

    :param type_name: `package/srv/Name`
    :param request_bytes: how long each request is, without the encapsulation header
    :raises ParameterError: the middleware is another one than Fast DDS
    """
    package, kind, name = type_name.split('/')
    support = _ServiceSupport.from_buffer_copy(
        _ServiceSupport.from_address(_for_fastdds(Trigger)))
    parts = _PARTS()
    _keep_name(parts, f'{package}::{kind}', name)
    request, response = (
        _fixed_class(f'{type_name}_{which}', count)
        for which, count in (('Request', request_bytes), ('Response', response_bytes)))
    parts[_REQUEST], parts[_RESPONSE] = (
        ctypes.addressof(its.support) for its in (request, response))
    support.request, support.response = parts[_REQUEST:]
    support.data = ctypes.addressof(parts)
    support.func = _finder(support, Trigger)
    _kept.append(parts)
    meta = type(f'Metaclass_{name}', (type,), {
        '_TYPE_SUPPORT': _capsule(ctypes.addressof(support))})
    return meta(name, (), {'Request': request, 'Response': response})


def _fixed_class(type_name: str, count: int) -> typing.Any:
    """Return a class of messages that are so many bytes."""
    of_byte: typing.Any = _CALLBACKS.from_address(
        _TypeSupport.from_address(_for_fastdds(UInt8)).data)
    write, read = _Code(of_byte[_WRITES]), _Code(of_byte[_READS])
    memory: dict[int, typing.Any] = {}

    def create() -> int:
        buffer = ctypes.create_string_buffer(count)
        memory[ctypes.addressof(buffer)] = buffer
        return ctypes.addressof(buffer)

    def fill(message: typing.Any, address: int) -> bool:
        ctypes.memmove(address, message.data, min(count, len(message.data)))
        return True

    def read_out(address: int) -> typing.Any:
        message = found()
        message.data = ctypes.string_at(address, count)
        return message

    support = _type_support(type_name, '', {
        _WRITES: _Code(lambda address, cdr: all(write(address + i, cdr) for i in range(count))),
        _READS: _Code(lambda cdr, address: all(read(cdr, address + i) for i in range(count))),
        _SIZE: _Size(lambda address: count)})
    conversions = (_Create(create), _FromPython(fill), _ToPython(read_out),
                   _Destroy(lambda address: memory.pop(address) and None))
    name = type_name.rpartition('/')[2]
    meta = type(f'Metaclass_{name}', (type,), {
        **{part: _capsule(_function(its)) for part, its in zip(_CONVERSIONS, conversions)},
        '_TYPE_SUPPORT': _capsule(ctypes.addressof(support))})
    found: typing.Any = meta(name, (), {'data': b'', 'support': support})
    return found
