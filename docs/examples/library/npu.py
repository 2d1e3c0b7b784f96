# SPDX-License-Identifier: Apache-2.0
"""libnpu for Python, through ctypes: functions, structs and words are read from the installed npu.h, none is written here.

    npu = Npu("/usr/local")
    b = npu.builder("mine", limits=dict(sram_bytes=1 << 20, ...), ...)
    b.load(local=x, dram=X.addr, rows=64, cols=64, post=[full])     # a word of docs/isa.md, with its initial values
    b.finish("mine.npub")
"""

import ctypes
import glob
import re
import sys

SCALARS = {
    "bool": ctypes.c_bool, "char": ctypes.c_char, "float": ctypes.c_float, "double": ctypes.c_double, "int": ctypes.c_int,
    "unsigned": ctypes.c_uint, "size_t": ctypes.c_size_t, "void": None, "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64, "uint8_t": ctypes.c_uint8, "uint16_t": ctypes.c_uint16,
    "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64,
}


class NpuError(Exception):
    pass


class Npu:
    def __init__(self, prefix):
        with open(f"{prefix}/include/npu.h", encoding="ascii") as file:
            text = file.read()
        self.words = dict((word, (op, struct)) for word, op, struct in re.findall(
            r"#define npu_(\w+)\(builder, \.\.\.\) \\\n\s*NPU_WORD\(builder, (\w+), (\w+),", text))
        text = re.sub(r"/\*.*?\*/|__attribute__\(\(.*?\)\)\)", "", text, flags=re.S)
        text = re.sub(r"^[ \t]*#.*?[^\\]\n", "", text, flags=re.M | re.S)
        self.constants, self.structs = {}, {}
        for body in re.findall(r"\benum \w* ?\{(.*?)\}", text, re.S):
            self._enum(body)
        for name, body in re.findall(r"\bstruct (\w+) \{(.*?)\n\};", text, re.S):
            self._struct(name, body)
        abi = self.constants["NPU_ABI"]
        self.lib = ctypes.CDLL((glob.glob(f"{prefix}/lib/libnpu.so.{abi}") + glob.glob(f"{prefix}/lib/*/libnpu.so.{abi}"))[0])
        for result, name, arguments in re.findall(r"^(?!static)([\w ]+?[ *]+)(npu_\w+)\(([^()]*)\);", text, re.M):
            function = getattr(self.lib, name)
            function.restype = self._type(result)
            # What follows "..." is the caller's.
            function.argtypes = [self._type(a) for a in arguments.split(",") if a.strip() not in ("void", "...")]

    def _enum(self, body):
        value = -1
        for item in filter(None, (part.strip() for part in body.split(","))):
            name, _, number = (part.strip() for part in item.partition("="))
            value = int(number, 0) if number else value + 1
            self.constants[name] = value

    def _struct(self, name, body):
        fields = []
        for member in filter(None, (part.strip() for part in body.split(";"))):
            if "(*" in member:
                fields.append((re.search(r"\(\*(\w+)\)", member).group(1), ctypes.c_void_p))
                continue
            kind, field, count = re.fullmatch(r"(.*?[ *])(\w+)(?:\[(\w+)\])?", " ".join(member.split())).groups()
            kind = self._type(kind)
            count = self.constants.get(count) or int(count) if count else 0
            fields.append((field, kind * count if count else kind))
        self.structs[name] = type(name, (ctypes.Structure,), {"_fields_": fields})

    def _type(self, text):
        """The ctypes type of a C type, an argument's name behind it or not."""
        text = text.replace("const ", "")
        if "*" in text:
            return ctypes.c_char_p if text.strip().startswith("char") and text.count("*") == 1 else ctypes.c_void_p
        words = text.split()
        if words[0] == "enum":
            return ctypes.c_int
        return self.structs[words[1]] if words[0] == "struct" else SCALARS[words[0]]

    def struct(self, name, **values):
        """A struct of npu.h; structs inside it may be dicts."""
        made = self.structs[name]()
        for field, value in values.items():
            if isinstance(value, dict):
                value = self.struct(type(getattr(made, field)).__name__, **value)
            setattr(made, field, value)
        return made

    def builder(self, name, **capacity):
        return Builder(self, name, self.struct("npu_capacity", **capacity))


class Builder:
    """Its methods are the words of npu.h, without npu_."""

    def __init__(self, npu, name, capacity):
        self.npu, self.lib = npu, npu.lib
        self.handle = self.lib.npu_builder_new(name.encode(), ctypes.byref(capacity))

    def tensor(self, name, dtype, direction, *shape):
        c = self.npu.constants
        sizes = (ctypes.c_uint64 * len(shape))(*shape)
        return self.lib.npu_tensor(self.handle, name.encode(), c["NPU_" + dtype.upper()],
                                   c["NPU_TENSOR_" + direction.upper()], len(shape), sizes)

    def sram(self, name, nbytes, group=-1):
        return self.lib.npu_sram(self.handle, name.encode(), nbytes, group)

    def acc(self, name, nbytes, bank=-1):
        return self.lib.npu_acc(self.handle, name.encode(), nbytes, bank)

    def semaphore(self, name, initial=0):
        return self.lib.npu_semaphore(self.handle, name.encode(), initial)

    def __getattr__(self, word):
        if word not in self.npu.words:
            raise AttributeError(f"npu.h has no word npu_{word}")
        op, struct = self.npu.words[word]
        op = self.npu.constants[op]

        def emit(**fields):
            operands = self.npu.structs[struct]()
            self.lib.npu_operands_initial(op, ctypes.byref(operands), ctypes.sizeof(operands))
            for field, value in fields.items():
                if field in ("wait", "post"):
                    for i, semaphore in enumerate(value):
                        getattr(operands, field)[i] = semaphore
                elif not hasattr(operands, field):
                    raise AttributeError(f"{word} has no field {field}")
                else:
                    setattr(operands, field, self.npu.constants["NPU_" + value.upper()] if isinstance(value, str) else value)
            caller = sys._getframe(1)
            self.lib.npu_emit_op(self.handle, caller.f_code.co_filename.encode(), caller.f_lineno, op,
                                 ctypes.byref(operands), ctypes.sizeof(operands))
        return emit

    def finish(self, path):
        """Writes the program; raises the first error of all calls."""
        error = self.npu.structs["npu_error"]()
        program = self.lib.npu_builder_finish(self.handle, ctypes.byref(error))
        self.handle = None
        if not program or not self.lib.npu_program_write(program, path.encode(), ctypes.byref(error)):
            raise NpuError(error.text.decode())
        self.lib.npu_program_free(program)
