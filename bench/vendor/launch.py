"""Launches what `hone export` wrote: a cubin and its launch plan (docs/launch_plans.md). Needs the CUDA driver and nothing of Hone."""

import ctypes
import json
import pathlib

FORMAT, VERSION = "hone launch plan", 1
MAX_DYNAMIC_SHARED, NON_PORTABLE_CLUSTER = 8, 14  # CUfunction_attribute
COOPERATIVE, CLUSTER_DIMENSION, PROGRAMMATIC_STREAM_SERIALIZATION = 2, 4, 6  # CUlaunchAttributeID
DEFAULT_SHARED, PORTABLE_CLUSTER = 48 << 10, 8
TENSOR_MAP_BYTES, TENSOR_MAP_ALIGNMENT = 128, 64
TENSOR_MAP_TYPES = {"e4m3": 0, "i32": 3, "f16": 6, "f32": 7, "f64": 8, "bf16": 9}
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
L2_PROMOTIONS = {0: 0, 64: 1, 128: 2, 256: 3}
SCALARS = {"f32": ctypes.c_float, "f64": ctypes.c_double, "i32": ctypes.c_int32}


class Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("padding", ctypes.c_char * 4), ("value", ctypes.c_uint32 * 16)]


class LaunchConfig(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared_bytes", ctypes.c_uint), ("stream", ctypes.c_void_p),
                ("attributes", ctypes.POINTER(Attribute)), ("attribute_count", ctypes.c_uint)]


_driver = None


def driver():
    global _driver
    if _driver is None:
        _driver = ctypes.CDLL("libcuda.so.1")
    return _driver


def check(status, doing):
    if status != 0:
        text = ctypes.c_char_p()
        driver().cuGetErrorString(status, ctypes.byref(text))
        raise RuntimeError(f"{doing}: {text.value.decode() if text.value else status}")


class Plan:
    """A launch plan as it lies in a folder, checked when it is read."""

    def __init__(self, file):
        self.file = pathlib.Path(file)
        self.json = json.loads(self.file.read_text())
        if self.json.get("format") != FORMAT or self.json.get("version") != VERSION:
            raise ValueError(f"{file}: not a launch plan of version {VERSION}")
        self.arguments = self.json["arguments"]
        self.passes = self.json["passes"]
        self.constants = self.json.get("constants", [])
        self.problem = bytes.fromhex(self.json["problem"]["bytes"])
        self.code = self.file.parent / self.json["code"]["file"]
        by_name = {argument["name"]: argument for argument in self.arguments}
        for launch in self.passes:
            for parameter in launch["parameters"]:
                if "argument" in parameter and parameter["argument"] not in by_name:
                    raise ValueError(f"{file}: {launch['symbol']} takes '{parameter['argument']}', which is no argument")

    def of_role(self, *roles):
        return [argument for argument in self.arguments if argument["role"] in roles]

    def match_inputs(self, sizes):
        """[(argument, index of the input)], in order; the index is None for an argument of one element, or none, that this problem does not use."""
        matched, following = [], 0
        for argument in self.of_role("in", "inout"):
            if following < len(sizes) and sizes[following] == argument["elements"]:
                matched.append((argument, following))
                following += 1
            elif argument["elements"] <= 1:
                matched.append((argument, None))
            else:
                raise ValueError(f"{self.file.name}: {argument['name']} has {argument['elements']} elements; the inputs have {list(sizes)}")
        if following < len(sizes):
            raise ValueError(f"{self.file.name}: of inputs of {list(sizes)} elements only {following} are arguments")
        return matched


class Code:
    """A loaded cubin. The driver's context must be current: PyTorch's is, once it has allocated."""

    def __init__(self, plan):
        self.plan = plan
        self.module = ctypes.c_void_p()
        self.image = plan.code.read_bytes()
        check(driver().cuModuleLoadData(ctypes.byref(self.module), self.image), f"load {plan.code.name}")
        self.functions = [self._function(launch) for launch in plan.passes]
        self.constants = [(self._variable(copy["symbol"]), copy["argument"], copy["bytes"]) for copy in plan.constants]

    def _variable(self, symbol):
        address, size = ctypes.c_uint64(), ctypes.c_size_t()
        check(driver().cuModuleGetGlobal_v2(ctypes.byref(address), ctypes.byref(size), self.module, symbol.encode()), f"find {symbol}")
        return address

    def _function(self, launch):
        function, symbol = ctypes.c_void_p(), launch["symbol"]
        check(driver().cuModuleGetFunction(ctypes.byref(function), self.module, symbol.encode()), f"find {symbol}")
        if launch["shared_bytes"] > DEFAULT_SHARED // 2:  # with static shared memory it may pass the limit
            check(driver().cuFuncSetAttribute(function, MAX_DYNAMIC_SHARED, launch["shared_bytes"]), f"{symbol}: dynamic shared memory")
        cluster = launch["cluster"]
        if cluster[0] * cluster[1] * cluster[2] > PORTABLE_CLUSTER:
            check(driver().cuFuncSetAttribute(function, NON_PORTABLE_CLUSTER, 1), f"{symbol}: cluster")
        return function


def _aligned(size, alignment):
    holder = ctypes.create_string_buffer(size + alignment)
    offset = -ctypes.addressof(holder) % alignment
    return holder, ctypes.addressof(holder) + offset


def encode_tensor_map(parameter, address):
    """(owner of the memory, its address): a CUtensorMap over the argument's memory; zeros where the configuration does not use it."""
    holder, place = _aligned(TENSOR_MAP_BYTES, TENSOR_MAP_ALIGNMENT)
    axes = len(parameter["size"])
    if axes > 0:
        check(driver().cuTensorMapEncodeTiled(
            ctypes.c_void_p(place), TENSOR_MAP_TYPES[parameter["dtype"]], ctypes.c_uint32(axes),
            ctypes.c_void_p(address + parameter.get("offset_bytes", 0)),
            (ctypes.c_uint64 * axes)(*parameter["size"]), (ctypes.c_uint64 * axes)(*parameter["stride_bytes"][1:], 0),
            (ctypes.c_uint32 * axes)(*parameter["box"]), (ctypes.c_uint32 * axes)(*[1] * axes), 0, SWIZZLES[parameter["swizzle"]],
            L2_PROMOTIONS[parameter["l2"]], 0), f"tensor map of {parameter['argument']}")
    return holder, place


class Launch:
    """A plan bound to memory: calling it enqueues all passes on a stream.

    `addresses` has the device address of every buffer by name, workspaces included; `scalars` what differs from the kernel file's defaults.
    """

    def __init__(self, code, addresses, scalars=None):
        self.code = code
        self.keep = []
        plan = code.plan
        values = {name: self._hold(ctypes.c_uint64(address)) for name, address in addresses.items()}
        for argument in plan.of_role("scalar"):
            value = (scalars or {}).get(argument["name"], argument["default"])
            kind = SCALARS[argument["dtype"]]
            values[argument["name"]] = self._hold(kind(int(value) if kind is ctypes.c_int32 else value))
        problem = ctypes.create_string_buffer(plan.problem, len(plan.problem))
        self.keep.append(problem)
        self.zeroed = [(addresses[argument["name"]], argument["bytes"]) for argument in plan.arguments if argument.get("zeroed")]
        self.copies = [(address, addresses[argument], size) for address, argument, size in code.constants]
        self.launches = []
        for function, launch in zip(code.functions, plan.passes):
            places = []
            for parameter in launch["parameters"]:
                if parameter["kind"] == "problem":
                    places.append(ctypes.addressof(problem))
                elif parameter["kind"] == "run_index":
                    places.append(self._hold(ctypes.c_int32(parameter["value"])))
                elif parameter["kind"] == "tensor_map":
                    holder, place = encode_tensor_map(parameter, addresses[parameter["argument"]])
                    self.keep.append(holder)
                    places.append(place)
                else:
                    places.append(values[parameter["argument"]])
            self.launches.append((function, self._config(launch), (ctypes.c_void_p * len(places))(*places)))

    def _hold(self, value):
        self.keep.append(value)
        return ctypes.addressof(value)

    def _config(self, launch):
        attributes = []
        if launch["cluster"] != [1, 1, 1]:
            attributes.append(Attribute(CLUSTER_DIMENSION, b"", (ctypes.c_uint32 * 16)(*launch["cluster"])))
        if launch["cooperative"]:
            attributes.append(Attribute(COOPERATIVE, b"", (ctypes.c_uint32 * 16)(1)))
        if launch.get("overlap"):
            attributes.append(Attribute(PROGRAMMATIC_STREAM_SERIALIZATION, b"", (ctypes.c_uint32 * 16)(1)))
        array = (Attribute * max(1, len(attributes)))(*attributes)
        self.keep.append(array)
        grid, block = (ctypes.c_uint * 3)(*launch["grid"]), (ctypes.c_uint * 3)(*launch["block"])
        return LaunchConfig(grid, block, launch["shared_bytes"], None, array, len(attributes))

    def __call__(self, stream):
        api = driver()
        for address, size in self.zeroed:
            check(api.cuMemsetD8Async(ctypes.c_uint64(address), 0, ctypes.c_size_t(size), ctypes.c_void_p(stream)), "clear an argument")
        for to, address, size in self.copies:
            check(api.cuMemcpyDtoDAsync_v2(to, ctypes.c_uint64(address), ctypes.c_size_t(size), ctypes.c_void_p(stream)), "copy to constant memory")
        for function, config, parameters in self.launches:
            config.stream = stream
            status = api.cuLaunchKernelEx(ctypes.byref(config), function, parameters, None)
            if status != 0:
                check(status, f"launch {self.code.plan.file.name}")
