"""Kinds of operations that the formats define: those that rules can be about. Others are of newer versions.

ML Programs: coremltools 9.0, coremltools/converters/mil/mil/ops/defs (BSD-3), and what compiled models hold
besides. Core AI: the dialect of coreai-core 1.0.0b3 (BSD-3). Neural networks: the layers of ``coreml_names``.
"""

from __future__ import annotations

from tracekit.mlmodels.coreml_names import LAYERS

_ML_PROGRAM = """
    clamped_relu elu gelu leaky_relu linear_activation prelu relu relu6 scaled_tanh sigmoid sigmoid_hard silu
    softplus softplus_parametric softmax softsign thresholded_relu classify cond const select while_loop
    make_list list_length list_write list_read list_gather list_scatter conv conv_quantized conv_transpose add
    equal floor_div greater greater_equal less less_equal logical_and logical_or logical_xor maximum minimum
    mod mul not_equal pow real_div sub abs acos acosh asin asinh atan atanh cast ceil clip cos cosh erf exp
    exp2 floor inverse log logical_not round rsqrt sign sin sinh sqrt square tan tanh threshold affine crop
    crop_resize resample resize resize_bilinear resize_nearest_neighbor upsample_bilinear
    upsample_nearest_neighbor linear matmul einsum batch_norm instance_norm l2_norm layer_norm
    local_response_norm avg_pool max_pool l2_pool random_bernoulli random_categorical random_normal
    random_uniform gru lstm rnn reduce_argmax reduce_argmin reduce_l1_norm reduce_l2_norm reduce_log_sum
    reduce_log_sum_exp reduce_max reduce_mean reduce_min reduce_prod reduce_sum reduce_sum_square gather
    gather_along_axis gather_nd scatter scatter_along_axis scatter_nd argsort band_part concat cumsum fill
    fill_like flatten2d identity non_maximum_suppression non_zero one_hot pad range_1d shape split stack tile
    topk depth_to_space expand_dims pixel_shuffle pixel_unshuffle reshape reshape_like reverse
    reverse_sequence slice_by_index slice_by_size slice_update sliding_windows space_to_batch batch_to_space
    space_to_depth squeeze transpose constexpr_affine_dequantize constexpr_cast constexpr_lut_to_dense
    constexpr_sparse_to_dense constexpr_blockwise_shift_scale constexpr_lut_to_sparse
    constexpr_sparse_blockwise_shift_scale quantize dequantize scaled_dot_product_attention read_state
    write_state coreml_update_state custom_layer tensor_buffer_to_tensor tensor_to_tensor_buffer
    pixel_buffer_to_tensor tensor_to_pixel_buffer
"""
_CORE_AI = """
    abs acos acosh add all and any argmax argsort asin asinh asymmetric_quantization_statistics atan atanh
    batch_matmul bitwise_and bitwise_or bitwise_xor blockwise_shift_scale broadcast_in_dims broadcast_shapes
    broadcast_to broadcasting_add broadcasting_and broadcasting_batch_matmul broadcasting_bitwise_and
    broadcasting_bitwise_or broadcasting_bitwise_xor broadcasting_divide broadcasting_equal
    broadcasting_floor_divide broadcasting_greater broadcasting_maximum broadcasting_minimum
    broadcasting_modulo broadcasting_mul broadcasting_not_equal broadcasting_or broadcasting_pow
    broadcasting_sub broadcasting_where broadcasting_xor build_sparse_with_bitmask cast concat condition
    constant conv2d conv3d conv_transpose2d conv_transpose3d cos cosh create_complex create_token delegate
    dequantize divide equal erf exp expand_dims floor_divide gather_along_axis gather_nd gelu get_shape
    greater
    if image_to_tensor imaginary_part interpolate interpolate_coordinates invoke isolated_group join_token log
    lut_to_dense lut_to_sparse_with_bitmask max_pool_2d max_pool_3d maximum metal4_kernel minimum modulo mul
    non_zero not not_equal or pad pow quantize range read_handle real_part reduce reduce_index reduce_max
    reduce_mean reduce_min reduce_product reduce_sum relu reshape reverse round rsqrt scan scatter_along_axis
    scatter_nd shrink_dims sigmoid silu sin sinh slice slice_update softmax sort sparse_with_bitmask_to_dense
    split sqrt sub sum_pool_2d sum_pool_3d symmetric_quantization_statistics tan tanh target_spec
    tensor_to_image tile transpose where while write_handle xor
"""

KNOWN_KINDS: dict[str, frozenset[str]] = {
    "ML Program": frozenset(_ML_PROGRAM.split()),
    "Core AI program": frozenset(_CORE_AI.split()),
    "neural network": frozenset(LAYERS.values()),
}
"""The kinds of operations by the form of a model."""
