"""Probes of one operation each that a public study planned on M4 with macOS 27.0.1, as MIL text.

The models follow the study's generator, 751K/Apple-Neural-Engine-Microarchitecture-Study-M6 at 5cb462b,
tools/03_compile/opdispatch_gen.py (MIT): names, shapes, data types and parameters, written again here as
programs. Its results are in the table support.tsv.
"""

from __future__ import annotations

X = "fp16, [1, 64, 32, 32]"
SAME_SHAPE = """
    relu sigmoid tanh silu softplus softsign erf exp exp2 log sqrt rsqrt inverse abs sign sin cos tan asin acos
    atan sinh cosh atanh floor ceil round square relu6 leaky_relu elu prelu clip thresholded_relu scaled_tanh
    add sub mul real_div maximum minimum pow floor_div mod instance_norm batch_norm l2_norm affine resample
    fill_like sliding_windows band_part
"""
OTHER_NAMES = {
    "gelu_exact": "gelu", "gelu_tanh": "gelu", "gelu_sigmoid": "gelu", "hard_sigmoid": "sigmoid_hard",
    "linear_act": "linear_activation", "pow_const": "pow", "pow_half": "pow", "lrn": "local_response_norm",
    "add_bc_ch": "add", "add_bc_hw": "add", "add_bc_w": "add", "add_bc_both": "add", "add_bc_batch": "add",
    "softmax_c": "softmax", "softmax_w": "softmax", "softmax_h": "softmax", "softmax_n": "softmax",
    "layer_norm_c": "layer_norm", "layer_norm_w": "layer_norm", "layer_norm_hw": "layer_norm",
    "layer_norm_chw": "layer_norm", "global_avg": "reduce_mean", "reduce_sum_w": "reduce_sum",
    "reduce_sum_all": "reduce_sum", "cumsum_w": "cumsum", "cumsum_c": "cumsum", "reshape_split_c": "reshape",
    "transpose_hw": "transpose", "transpose_cw": "transpose", "transpose_nc": "transpose",
    "transpose_r5": "transpose", "concat_c": "concat", "concat_w": "concat", "concat_n": "concat",
    "concat_interleave": "concat", "split_c": "split", "reverse_w": "reverse", "pad_const": "pad",
    "pad_reflect": "pad", "pad_replicate": "pad", "pad_c": "pad", "upsample_nearest": "upsample_nearest_neighbor",
    "upsample_nearest_x3": "upsample_nearest_neighbor", "upsample_nearest_frac": "upsample_nearest_neighbor",
    "upsample_bilinear_ac": "upsample_bilinear", "resize_nearest": "resize_nearest_neighbor",
    "resize_down": "resize", "slice_c": "slice_by_index", "slice_w_stride2": "slice_by_index",
}  # fmt: skip
SAME_NAMES = """
    reshape stack tile space_to_depth depth_to_space pixel_shuffle pixel_unshuffle space_to_batch
    batch_to_space upsample_bilinear resize_bilinear slice_by_size
"""
REDUCTIONS = (
    "sum mean max min prod l1_norm l2_norm sum_square log_sum log_sum_exp".split()  # noqa: SIM905 - words
)


def _weight(name: str, shape: str) -> str:
    stored = 'BLOBFILE(path = string("w"), offset = uint64(64))'
    return f"tensor<fp16, {shape}> {name} = const()[val = tensor<fp16, {shape}>({stored})];"


def _convolve(shape: str, kind: str = "conv", output: str = X, more: str = "") -> str:
    return f"{_weight('w', shape)} tensor<{output}> y = {kind}(x = x, weight = w{more});"


def _pool(kind: str, *kernel: int) -> str:
    sizes = ", ".join(map(str, kernel))
    return f"tensor<{X}> y = {kind}(x = x, kernel_sizes = tensor<int32, [{len(kernel)}]>([{sizes}]));"


def _relu(shape: str) -> tuple[str, str]:
    return f"fp16, {shape}", f"tensor<fp16, {shape}> y = relu(x = x);"


def _multiply(length: int) -> tuple[str, str]:
    return f"fp16, [1, 16, {length}]", "tensor<fp16, [1, 16, 16]> y = matmul(x = x, y = z);"


INDICES = "tensor<int32, [1, 64]> i = const()[val = tensor<int32, [2]>([0, 1])];"
BACK = "tensor<fp16, [1, 64]> y = cast(x = r);"


def list_probes() -> dict[str, tuple[str, str]]:
    """Return the type of ``x`` and the statements of each probe, by its name.

    ``z`` is another input in fp16, ``n`` one in int32.
    """
    probes = {name: (X, f"tensor<{X}> y = {name}(x = x);") for name in (SAME_SHAPE + SAME_NAMES).split()}
    probes |= {name: (X, f"tensor<{X}> y = {kind}(x = x);") for name, kind in OTHER_NAMES.items()}
    probes |= {
        f"reduce_{name}_c": (X, f"tensor<fp16, [1, 1, 32, 32]> y = reduce_{name}(x = x);")
        for name in REDUCTIONS
    }
    for name in "equal not_equal less less_equal greater greater_equal".split():  # noqa: SIM905 - words
        probes[name] = (X, f"tensor<bool, [1, 64]> r = {name}(x = x, y = z); {BACK}")
    return probes | {name: (given, text) for name, (given, text) in _SPECIAL.items()}


_SPECIAL: dict[str, tuple[str, str]] = {
    "select": (X, f"tensor<bool, [1]> g = greater(x = z, y = z); tensor<{X}> y = select(cond = g, a = x, b = x);"),
    "logical_and": (X, f"tensor<bool, [1, 64]> r = logical_and(x = z, y = z); {BACK}"),
    # Inputs in fp32 are cast, and computed in fp16.
    "relu_f32": ("fp32, [1, 64]", "tensor<fp16, [1, 64]> c = cast(x = x); tensor<fp16, [1, 64]> y = relu(x = c);"),
    "add_f32": ("fp32, [1, 64]", "tensor<fp16, [1, 64]> c = cast(x = x); tensor<fp16, [1, 64]> y = add(x = c, y = c);"),
    "matmul_f32": ("fp32, [1, 64]", "tensor<fp16, [1, 64]> c = cast(x = x); tensor<fp16, [1, 64]> y = matmul(x = c, y = c);"),
    "add_i32": ("int32, [1, 64]", "tensor<int32, [1, 64]> y = add(x = x, y = x);"),
    "mul_i32": ("int32, [1, 64]", "tensor<int32, [1, 64]> y = mul(x = x, y = x);"),
    "matmul_i32": ("int32, [1, 64]", "tensor<int32, [1, 64]> y = matmul(x = x, y = x);"),
    "cast_f16_i32": (X, "tensor<int32, [1, 64]> y = cast(x = x);"),
    "cast_i32_f16": ("int32, [1, 64]", "tensor<fp16, [1, 64]> y = cast(x = x);"),
    "cast_f16_f32": (X, "tensor<fp32, [1, 64]> y = cast(x = x);"),
    "cast_f16_i8": (X, "tensor<int8, [1, 64]> y = cast(x = x);"),
    "quantize_i8": (X, "tensor<int8, [1, 64]> y = quantize(input = x);"),
    "q_dq_i8": (X, "tensor<int8, [1, 64]> q = quantize(input = x); tensor<fp16, [1, 64]> y = dequantize(input = q);"),
    "relu_r1": _relu("[65536]"), "relu_r2": _relu("[256, 256]"), "relu_r3": _relu("[1, 128, 256]"),
    "relu_r5": _relu("[1, 4, 16, 32, 32]"), "relu_w16384": _relu("[1, 1, 1, 16384]"),
    "relu_w16385": _relu("[1, 1, 1, 16385]"), "relu_w65536": _relu("[1, 1, 1, 65536]"),
    "relu_w65537": _relu("[1, 1, 1, 65537]"), "relu_c65536": _relu("[1, 65536, 1, 1]"),
    "relu_c65537": _relu("[1, 65537, 1, 1]"), "relu_h65536": _relu("[1, 1, 65536, 1]"),
    "relu_h65537": _relu("[1, 1, 65537, 1]"), "relu_n64": _relu("[64, 64, 8, 8]"),
    "conv1x1": (X, _convolve("[64, 64, 1, 1]")), "conv3x3": (X, _convolve("[64, 64, 3, 3]")),
    "conv3x3_dw": (X, _convolve("[64, 1, 3, 3]")), "conv7x7_s2": (X, _convolve("[64, 64, 7, 7]")),
    "conv3x3_d2": (X, _convolve("[64, 64, 3, 3]", more=", dilations = tensor<int32, [2]>([2, 2])")),
    "conv_k17": (X, _convolve("[64, 64, 17, 17]")), "conv_k1x31": (X, _convolve("[64, 64, 1, 31]")),
    "conv_s5": (X, _convolve("[64, 64, 5, 5]", more=", strides = tensor<int32, [2]>([5, 5])")),
    "conv1d": ("fp16, [1, 64, 1024]", _convolve("[64, 64, 3]")),
    "conv3d": ("fp16, [1, 16, 8, 16, 16]", _convolve("[16, 16, 3, 3, 3]")),
    "conv_dynw": (X, f"tensor<{X}> y = conv(x = x, weight = z);"),
    "conv_transpose": (X, _convolve("[64, 64, 2, 2]", "conv_transpose")),
    "conv_transpose_k3s2": (X, _convolve("[64, 64, 3, 3]", "conv_transpose")),
    "conv_transpose_1d": (X, _convolve("[64, 64, 4]", "conv_transpose")),
    "conv_transpose_3d": (X, _convolve("[16, 16, 2, 2, 2]", "conv_transpose")),
    "linear": ("fp16, [1, 128, 256]", _convolve("[512, 256]", "linear", "fp16, [1, 128, 512]")),
    "matmul_const": _multiply(256), "matmul_dyn": _multiply(256), "matmul_dyn_tr": _multiply(256),
    "matmul_batched4d": _multiply(64), "matmul_bc": _multiply(64),
    "sdpa": (X, f"tensor<{X}> y = scaled_dot_product_attention(query = x, key = x, value = x);"),
    "sdpa_mask": (X, f"tensor<{X}> y = scaled_dot_product_attention(query = x, key = x, attn_mask = z);"),
    "lstm": (X, "tensor<fp16, [1, 64]> y = lstm(x = x);"), "gru": (X, "tensor<fp16, [1, 64]> y = gru(x = x);"),
    "rnn": (X, "tensor<fp16, [1, 64]> y = rnn(x = x);"),
    "avg_pool": (X, _pool("avg_pool", 2, 2)), "max_pool": (X, _pool("max_pool", 3, 3)),
    "max_pool_k15": (X, _pool("max_pool", 15, 15)), "l2_pool": (X, _pool("l2_pool", 2, 2)),
    "avg_pool3d": (X, _pool("avg_pool", 2, 2, 2)),
    "log_softmax": (X, f"tensor<fp16, [1, 1, 32, 32]> r = reduce_log_sum_exp(x = x); tensor<{X}> y = sub(x = x, y = r);"),
    "reduce_argmax_c": (X, f"tensor<int32, [1, 64]> r = reduce_argmax(x = x); {BACK}"),
    "reduce_argmax_w": (X, f"tensor<int32, [1, 64]> r = reduce_argmax(x = x); {BACK}"),
    "argmax_flat": (X, f"tensor<int32, [1, 64]> r = reduce_argmax(x = x); {BACK}"),
    "argsort_w": (X, f"tensor<int32, [1, 64]> r = argsort(x = x); {BACK}"),
    "slice_dyn": (X, "tensor<fp16, [1, 32, 16, 16]> y = slice_by_size(x = x, begin = n);"),
    "squeeze_expand": (X, "tensor<fp16, [1, 64]> s = squeeze(x = x); tensor<fp16, [1, 64]> y = expand_dims(x = s);"),
    "crop_resize": (X, "tensor<fp16, [1, 64]> y = crop_resize(x = x);"),
    "gather_c": (X, f"{INDICES} tensor<{X}> y = gather(x = x, indices = i);"),
    "gather_w": (X, f"{INDICES} tensor<{X}> y = gather(x = x, indices = i);"),
    "gather_dyn": (X, f"tensor<{X}> y = gather(x = x, indices = n);"),
    "embedding": ("int32, [1, 64]", f"{_weight('w', '[32000, 256]')} tensor<fp16, [1, 64]> y = gather(x = w, indices = x);"),
    "gather_along_axis": (X, f"tensor<{X}> y = gather_along_axis(x = x, indices = n);"),
    "gather_nd": (X, f"tensor<{X}> y = gather_nd(x = x, indices = n);"),
    "scatter": (X, f"tensor<{X}> y = scatter(data = x, indices = n, updates = z);"),
    "scatter_along_axis": (X, f"tensor<{X}> y = scatter_along_axis(data = x, indices = n, updates = z);"),
    "topk_w": (X, "tensor<fp16, [1, 64]> y, tensor<int32, [1, 64]> i = topk(x = x);"),
    "topk_c": (X, "tensor<fp16, [1, 64]> y, tensor<int32, [1, 64]> i = topk(x = x);"),
    "topk_large": (X, "tensor<fp16, [1, 40]> y, tensor<int32, [1, 40]> i = topk(x = x);"),
    "one_hot": ("int32, [1, 64]", "tensor<fp16, [1, 64, 128]> y = one_hot(indices = x);"),
    "range_1d": ("int32, [1]", f"tensor<int32, [1, 64]> r = range_1d(end = x); {BACK}"),
    "random_normal": (X, f"tensor<fp16, [1, 64]> r = random_normal(shape = n); {BACK}"),
    "nonzero": (X, f"tensor<int32, [1, 64]> r = non_zero(x = x); {BACK}"),
}  # fmt: skip
