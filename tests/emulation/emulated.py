"""Copies of the attention kernels for tensor cores that run on the cpu device: their instructions are replaced by emulations (warp.h,
warpgroup.h). What they share and how they index is as it is; timing, asynchrony and registers are not emulated."""

import pathlib
import re
import shutil

HERE = pathlib.Path(__file__).resolve().parent
KERNELS = HERE.parents[1] / "kernels_src"


def substitute(text, pattern, replacement):
    """Raises ValueError where the sources have changed so much that nothing matches."""
    changed, count = re.subn(pattern, replacement, text)
    if count == 0:
        raise ValueError(f"nothing matches {pattern}")
    return changed


def by_warps(folder, name):
    """Instructions of a warp: attention_mma, attention_backward_mma, decode_mma, decode_latent_mma."""
    shutil.copy(HERE / "warp.h", folder / "gemm_mma" / "instructions.h")
    (folder / "attention_copies.h").write_text('#include "gemm_mma/instructions.h"\n')
    file = folder / name / f"{name}.cu"
    file.write_text(substitute(file.read_text(), r".*d\.compute_capability < 80.*\n", ""))
    for file in [*folder.glob("attention*.h"), *folder.glob("attention_mma/*"), *folder.glob(f"{name}/*")]:
        text = file.read_text().replace("#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800", "#if !defined(HONE_READ)")
        file.write_text(text.replace("__cvta_generic_to_shared", "shared_address_of"))


# What the kernels' marks say of their tensor maps.
ATTENTION_MAPS = """
  const bool first = p.layout == 1;
  const long of_q = query_heads(p);
  const EmulatedMap q_map{q, {p.head, first ? of_q : p.queries, first ? p.queries : of_q, lines_of(p)},
                          {kLine, first ? 1 : rows_of(c), first ? rows_of(c) : 1, 1}, kOperandBytes};
  const auto map_of = [&](const void* array, long elements) {
    return EmulatedMap{array, {elements, first ? p.heads : p.keys, first ? p.keys : p.heads, lines_of(p)},
                       {kLine, first ? 1 : c.bn, first ? c.bn : 1, 1}, kOperandBytes};
  };
  const EmulatedMap k_map = map_of(k, p.head), v_map = map_of(v, head_of_values());
"""
LATENT_MAPS = """
  const EmulatedMap q_map{q, {kLineOfCache, query_rows(p), 1, 1}, {kPanelLine, kRows, 1, 1}, 2};
  const EmulatedMap cache_map{cache, {kLineOfCache, kCacheLines, 1, 1}, {kPanelLine, (int)lines_of_copy(p, c), 1, 1}, 2};
"""
BACKWARD_MAPS = """
  const auto map_of = [&](const void* array, long elements, long heads, long tokens, int rows) {
    const bool first = p.layout == 1;
    return EmulatedMap{array, {elements, first ? heads : tokens, first ? tokens : heads, lines_of(p)}, {kLine, first ? 1 : rows, first ? rows : 1, 1}, 2};
  };
  const EmulatedMap q_map = map_of(q, p.head, query_heads(p), p.queries, c.bm), k_map = map_of(k, p.head, p.heads, p.keys, keys_of(c));
  const EmulatedMap v_map = map_of(v, head_of_values(), p.heads, p.keys, keys_of(c)), dout_map = map_of(dout, head_of_values(), query_heads(p), p.queries, c.bm);
"""
BY_WARPGROUPS = {"attention_wgmma": ATTENTION_MAPS, "attention_fp8": ATTENTION_MAPS, "decode_latent_wgmma": LATENT_MAPS,
                 "attention_backward_wgmma": BACKWARD_MAPS}


def by_warpgroups(folder, name):
    """Instructions of a warpgroup."""
    shutil.copy(HERE / "warpgroup.h", folder / "attention_wgmma" / "instructions.h")
    for left_out in ("attention_wgmma/products.h", "gemm_mma/instructions.h", "attention_backward_wgmma/instructions.h"):
        (folder / left_out).write_text("#pragma once\n")
    for file in [*(folder / "attention_wgmma").glob("*.h"), *(folder / name).glob("*.h")]:
        if file.name not in ("instructions.h", "products.h"):
            text = file.read_text().replace("#if defined(HONE_HOPPER)", "#if !defined(HONE_READ)").replace("TensorMap", "EmulatedMap")
            text = re.sub(r'asm volatile\("st\.shared\.b32 .*?"r"\((\w+)\), "r"\((\w+)\) : "memory"\)', r"*(int*)hopper::shared_at(\1) = \2", text)
            text = re.sub(r'asm volatile\("ld\.shared\.b32 .*?"=r"\((\w+)\) : "r"\((.*?)\) : "memory"\)', r"\1 = *(int*)hopper::shared_at(\2)", text)
            file.write_text(text)
    file = folder / name / f"{name}.cu"
    text = substitute(file.read_text(), r".*d\.compute_capability != 90.*\n", "")
    # What the second pass of decoding needs before the kernel includes it.
    early = '#if defined(HONE_READ)\n#include <hone/kernel_hopper.h>\n#else\n#include "../attention_wgmma/instructions.h"\n#endif\n'
    text = substitute(text, r"#include <hone/kernel_hopper\.h>\n", early if name.startswith("decode") else "")
    text = substitute(text, r"(?s)TENSOR_MAP\(q,.*?TensorMap (v|cache|dout)_map,(?!\s*TENSOR_MAP)", "")
    text = substitute(text, r"#if defined\(HONE_HOPPER\)", "#if !defined(HONE_READ)")
    file.write_text(substitute(text, r"(SHARED_DYNAMIC\(unsigned char, memory\);)", lambda found: found[1] + "\n  hopper::clear_barriers();" + BY_WARPGROUPS[name]))
    for file in (folder / "attention_rows.h", folder / "attention_work.h", folder / "attention_backward_work.h"):
        file.write_text(file.read_text().replace("#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800", "#if !defined(HONE_READ)"))


def emulated(name, folder):
    """The file of kernel `name`, in a copy of the sources in `folder`, which must not be there yet. Of the small problems that a
    configuration is held against, larger ones are left out: an emulated product takes thousands of times as long."""
    folder = pathlib.Path(folder)
    shutil.copytree(KERNELS, folder)
    for file in (folder / "attention.h", folder / "attention_backward.h", folder / "decode.h", folder / "decode_latent.h"):  # a kernel of its own, with the operation's reference
        file.write_text(substitute(file.read_text(), r"OPERATION\(\w+\);\n", ""))
    (by_warpgroups if name in BY_WARPGROUPS else by_warps)(folder, name)
    file = folder / name / f"{name}.cu"
    pairs = "query_rows(p) * p.longest > 1600" if name.startswith("decode") else "query_rows(p) * p.keys > 12000"
    if name in BY_WARPGROUPS and name.startswith("attention"):  # whole tiles are multiplied, whatever is in them
        rows = "keys_of(c) * c.bm" if "backward" in name else "rows_of(c) * c.bn"
        pairs += f" || tiles_of(p, c) * {rows} > 150000"
    text = substitute(file.read_text(), r"(constexpr bool valid\(.*\) \{\n)", rf"\1  if ({pairs}) return false;\n")
    file.write_text(substitute(text, r"(?s)\nSHAPES\(.*?\);\n", ""))
    return file
