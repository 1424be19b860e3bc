# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Machine code of a function that takes addresses, kept and loaded without the compiler.

Numba turns the function into LLVM's own code, once on a machine; llvmlite makes an object file of
that, and loads it. It takes a fifth of the time that Numba takes to be loaded, and less memory.
"""
from __future__ import annotations

import functools
import hashlib
import os
import pathlib
import re
import typing

from px4_sim_ros.jit.code_cache import cache_folder
from px4_sim_ros.jit.compiled import load_compiler

if typing.TYPE_CHECKING:
    import llvmlite.binding as llvm

# What a function of Numba calls when it raises, or frees an array: those here do neither.
_OF_NUMBA = re.compile(r'^declare (?:noalias )?(\S+) @((?:numba|NRT)_\w+)\((.*?)\).*$', re.M)
_NEVER_CALLED = r'define internal \1 @\2(\3) { call void @abort() unreachable }'

_ENTRY = 'entry'           # the function's name in its object file
_engines: list[llvm.ExecutionEngine] = []      # their code is gone with them


def load(
    name: str, make: typing.Callable[[typing.Any], tuple[typing.Any, typing.Any]],
) -> int:
    """Return the address of the machine code of a function; it is made if none is kept.

    :param name: of the file that it is kept in
    :param make: returns signature and function, given the module `numba`. It calls compiled
        functions with what `numba.carray` makes of its addresses, and raises nothing
    """
    folder = cache_folder()
    if folder is None:
        return _load(_compile(make))
    file = folder / f'{name}-{_processor()}.o'
    if not file.is_file():
        _keep(file, _compile(make))
    return _load(file.read_bytes())


def _llvm() -> typing.Any:
    import llvmlite.binding  # it takes a while, and most nodes do without
    return llvmlite.binding


@functools.cache
def _processor() -> str:
    """Return a name for what this processor can do: code for one that can do more ends here."""
    llvm = _llvm()
    can = f'{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}'
    return hashlib.sha256(can.encode()).hexdigest()[:8]


def _compile(make: typing.Callable[[typing.Any], tuple[typing.Any, typing.Any]]) -> bytes:
    """Return the object file of a function."""
    numba = load_compiler()
    signature, function = make(numba)
    compiled = numba.cfunc(signature, error_model='numpy')(function)
    text = compiled.inspect_llvm().replace(compiled.native_name, _ENTRY)
    module = _llvm().parse_assembly(
        _OF_NUMBA.sub(_NEVER_CALLED, text) + '\ndeclare void @abort()\n')
    code: bytes = _machine().emit_object(module)
    return code


def caller(numba: typing.Any) -> typing.Any:
    """Return a compiled function that calls machine code, which returns an integer, at an address.

    It takes the address and a tuple of integers, of 64 bits as addresses are, and real numbers.
    """
    from llvmlite import ir

    @numba.extending.intrinsic
    def call(context, address, arguments):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            place, packed = values
            given = [builder.extract_value(packed, i) for i in range(len(arguments))]
            kind = ir.FunctionType(ir.IntType(64), [value.type for value in given])
            return builder.call(builder.inttoptr(place, kind.as_pointer()), given)

        return numba.types.int64(address, arguments), generate

    return call


def _keep(file: pathlib.Path, code: bytes) -> None:
    """Write a file that is there as a whole or not at all."""
    import tempfile
    with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as new:
        new.write(code)
    os.replace(new.name, file)


def _load(code: bytes) -> int:
    """Return the address of the function in an object file, which stays loaded."""
    llvm = _llvm()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(''), _machine())
    engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    address: int = engine.get_function_address(_ENTRY)
    return address


def _machine() -> llvm.TargetMachine:
    llvm = _llvm()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3,
        codemodel='jitdefault', jit=True)
