# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Types of messages that are only handed on as bytes, so that no code of theirs is needed.

Who publishes bytes needs no more of a type than its name and its hash. So the type support of a
message that is there, std_msgs/String, is taken under another name: what would pack fields is never
called.
"""
from __future__ import annotations

import ctypes
import functools
import typing

from std_msgs.msg import String

from px4_sim_ros.model.errors import ParameterError

_FASTDDS = b'rosidl_typesupport_fastrtps_c'
# The callbacks of Fast DDS begin with namespace and name.
_NAMESPACE, _NAME, _CALLBACKS = 0, 1, ctypes.c_void_p * 7
_HASH_VERSION, _HASH = 1, ctypes.c_uint8 * 33
_CONVERSIONS = ('_CREATE_ROS_MESSAGE', '_CONVERT_FROM_PY', '_CONVERT_TO_PY',
                '_DESTROY_ROS_MESSAGE')
_Find = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_TypeHash = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
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


_kept: list[object] = []
"""What type supports point to, for as long as the process lives."""


@functools.cache
def _of_string() -> tuple[int, typing.Callable[[int, bytes], int | None]]:
    """Return the address of the type support of std_msgs/String, and what finds another of it."""
    meta: typing.Any = type(String)
    if meta._TYPE_SUPPORT is None:
        meta.__import_type_support__()
    capsule = meta._TYPE_SUPPORT
    address = _api.PyCapsule_GetPointer(capsule, _api.PyCapsule_GetName(capsule))
    return address, _Find(_TypeSupport.from_address(address).func)


@functools.cache
def raw_class(type_name: str, type_hash: str = '') -> type:
    """Return a class for publishers and subscriptions of bytes.

    :param type_name: `package/msg/Name`
    :param type_hash: by REP-2011 (`RIHS01_...`), which tools show; '' if it is not known
    :raises ParameterError: the middleware is another one than Fast DDS
    """
    package, kind, name = type_name.split('/')
    string, find = _of_string()
    of_fastdds = find(string, _FASTDDS)
    if not of_fastdds:
        raise ParameterError(
            'px4_topics: px4_msgs is not installed, and without it only rmw_fastrtps_cpp can hand'
            ' on messages of PX4; install it, or use that middleware')
    support = _TypeSupport.from_buffer_copy(_TypeSupport.from_address(of_fastdds))
    callbacks = _CALLBACKS.from_buffer_copy(_CALLBACKS.from_address(support.data))
    texts = ctypes.c_char_p(f'{package}::{kind}'.encode()), ctypes.c_char_p(name.encode())
    callbacks[_NAMESPACE], callbacks[_NAME] = (
        ctypes.cast(text, ctypes.c_void_p).value for text in texts)
    digest = bytes.fromhex(type_hash.removeprefix('RIHS01_'))
    hash_struct = _HASH(*([_HASH_VERSION, *digest] if digest else bytes(33)))
    hash_function = _TypeHash(lambda _: ctypes.addressof(hash_struct))
    find_of_it = _Find(lambda _, identifier: (
        ctypes.addressof(support) if identifier == _FASTDDS else find(string, identifier)))
    support.data = ctypes.addressof(callbacks)
    support.func = ctypes.cast(find_of_it, ctypes.c_void_p).value
    support.get_type_hash_func = ctypes.cast(hash_function, ctypes.c_void_p).value
    _kept.append((support, callbacks, texts, hash_struct, hash_function, find_of_it))
    # rclpy wants to see all of them; those of the string are as good as any.
    meta = type(f'Metaclass_{name}', (type,), {
        **{part: getattr(type(String), part) for part in _CONVERSIONS},
        '_TYPE_SUPPORT': _api.PyCapsule_New(ctypes.addressof(support), None, None)})
    return meta(name, (), {})
