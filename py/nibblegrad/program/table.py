"""Which operator of the catalogue answers to which of a program's names. A line: the name, its
overloads (delegates and ExecuTorch's kernels have the same arguments), the operator, and how each
argument is read (arguments.READ). A `:` in front marks a function of special.py; `!t` is written
in place, `@i` may move from replay to replay."""

TABLE = """
aten.add             Tensor,out,Scalar,Scalar_out             add            p p n
aten.sub             Tensor,out,Scalar,Scalar_out             sub            p p n
aten.rsub            Tensor,Tensor_out,Scalar,Scalar_out      :rsub          p p n
aten.mul             Tensor,out,Scalar,Scalar_out             mul            p p
aten.div             Tensor,out,Scalar,Scalar_out             div            p p
aten.div             Tensor_mode,out_mode,Scalar_mode,Scalar_mode_out  div   p p s?
aten.floor_divide    default,out                              floor_divide   p p
aten.remainder       Tensor,Tensor_out,Scalar,Scalar_out      remainder      p p
aten.fmod            Tensor,Tensor_out,Scalar,Scalar_out      fmod           p p
aten.minimum         default,out                              minimum        p p
aten.maximum         default,out                              maximum        p p
aten.pow             Tensor_Tensor,Tensor_Tensor_out,Scalar,Scalar_out  pow  p p
aten.pow             Tensor_Scalar,Tensor_Scalar_out          :pow_scalar    t n
aten.eq              Tensor,Tensor_out                        eq             p p
aten.ne              Tensor,Tensor_out                        ne             p p
aten.lt              Tensor,Tensor_out                        lt             p p
aten.le              Tensor,Tensor_out                        le             p p
aten.gt              Tensor,Tensor_out                        gt             p p
aten.ge              Tensor,Tensor_out                        ge             p p
aten.eq              Scalar,Scalar_out                        eq_scalar      t n
aten.ne              Scalar,Scalar_out                        ne_scalar      t n
aten.lt              Scalar,Scalar_out                        lt_scalar      t n
aten.le              Scalar,Scalar_out                        le_scalar      t n
aten.gt              Scalar,Scalar_out                        gt_scalar      t n
aten.ge              Scalar,Scalar_out                        ge_scalar      t n
aten.logical_and     default,out                              logical_and    p p
aten.logical_or      default,out                              logical_or     p p
aten.logical_xor     default,out                              logical_xor    p p
aten.logical_not     default,out                              logical_not    t
aten.bitwise_and     Tensor,Tensor_out,Scalar,Scalar_out      bitwise_and    p p
aten.bitwise_or      Tensor,Tensor_out,Scalar,Scalar_out      bitwise_or     p p
aten.bitwise_xor     Tensor,Tensor_out,Scalar,Scalar_out      bitwise_xor    p p
aten.bitwise_not     default,out                              bitwise_not    t
aten.where           self,self_out                            where          t p p

aten.abs             default,out                              abs            t
aten.ceil            default,out                              ceil           t
aten.cos             default,out                              cos            t
aten.erf             default,out                              erf            t
aten.exp             default,out                              exp            t
aten.floor           default,out                              floor          t
aten.hardsigmoid     default,out                              hardsigmoid    t
aten.hardswish       default,out                              hardswish      t
aten.log             default,out                              log            t
aten.log10           default,out                              log10          t
aten.neg             default,out                              neg            t
aten.reciprocal      default,out                              reciprocal     t
aten.relu            default,out                              relu           t
aten.round           default,out                              round          t
aten.rsqrt           default,out                              rsqrt          t
aten.sigmoid         default,out                              sigmoid        t
aten.sign            default,out                              sign           t
aten.silu            default,out                              silu           t
aten.sin             default,out                              sin            t
aten.sqrt            default,out                              sqrt           t
aten.tan             default,out                              tan            t
aten.tanh            default,out                              tanh           t
aten.trunc           default,out                              trunc          t
aten.clamp           default,out                              clamp          t n? n?
aten.clamp           Tensor,Tensor_out                        :clamp_tensor  t t? t?
aten.elu             default,out                              elu            t f f f
aten.gelu            default,out                              gelu           t s
aten.hardshrink      default,out                              hardshrink     t f
aten.hardtanh        default,out                              hardtanh       t n n
aten.leaky_relu      default,out                              leaky_relu     t f

aten._softmax        default,out                              softmax        t i -
aten._log_softmax    default,out                              log_softmax    t i -
aten.sum             dim_IntList,IntList_out                  :sum           t is? b -
aten.mean            dim,out                                  :mean          t is? b -
aten.mean            default,dtype_out                        :mean          t -
aten.amax            default,out                              amax           t is b
aten.amin            default,out                              amin           t is b
aten.argmax          default,out                              argmax         t i? b
aten.argmin          default,out                              argmin         t i? b
aten.any             dim,out                                  :any           t i b
aten.any             dims,dims_out                            :any           t is? b
aten.any             default,all_out                          :any           t
aten.all             dim,out                                  :all           t i b
aten.all             dims,dims_out                            :all           t is? b
aten.all             default,all_out                          :all           t
aten.var             correction,correction_out                :var           t is? n? b
aten.max             default,unary_out                        amax           t
aten.min             default,unary_out                        amin           t
aten.max             dim,dim_max                              :max_dim       t i b
aten.min             dim,dim_min                              :min_dim       t i b
aten.sort            values,default                           sort           t i b
aten.topk            values,default                           topk           t i i b b
aten.cumsum          out,default                              :cumsum        t i -
aten.native_layer_norm   default,out          native_layer_norm    t is t? t? n?
aten.native_group_norm   default,out          native_group_norm    t t? t? i i i i n?
aten._native_batch_norm_legit_no_training  default,out  native_batch_norm_legit_no_training \
t t? t? t t f f
aten.mm              default,out                              mm             t t
aten.bmm             default,out                              bmm            t t
aten.addmm           default,out                              addmm          t t t n n
aten.linear          default,out                              linear         t t t?

aten.gather          default,out                              gather         t i t -
aten.index_select    default,out                              index_select   t i t
aten.index           Tensor,Tensor_out                        :index         t t?s
aten.embedding       default,out                              embedding      t t - - -
aten.masked_fill     Scalar,Scalar_out,Tensor,Tensor_out      :masked_fill   t t tn
aten.stack           default,out                              :stack         ts i
aten.cat             default,out                              :cat           ts i
aten.split_with_sizes_copy  default,out                       split_with_sizes  t is i
aten.split_copy      Tensor,Tensor_out                        split          t i i
aten.unbind_copy     int,int_out                              :unbind        t i
aten.slice_copy      Tensor,Tensor_out                        slice          t i i? i? i
aten.select_copy     int,int_out                              select         t i i
aten.constant_pad_nd default,out                              constant_pad_nd  t is n
aten.view_copy       default,out                              view           t is
aten._unsafe_view    default,out                              view           t is
executorch_prim.et_view  default                              view           t is
aten.squeeze_copy    dims,dims_out                            squeeze        t is
aten.squeeze_copy    dim,dim_out                              squeeze        t i
aten.squeeze_copy    default,out                              squeeze        t
aten.unsqueeze_copy  default,out                              unsqueeze      t i
aten.permute         default                                  permute        t is
aten.permute_copy    default,out                              permute        t is
aten.transpose_copy  int,int_out                              transpose      t i i
aten.t_copy          default,out                              t              t
aten.unfold_copy     default,out                              unfold         t i i i
aten.expand_copy     default,out                              expand         t is -
aten.repeat          default,out                              repeat         t is
aten.flip            default,out                              flip           t is
aten.clone           default,out                              :same          t ...
aten.alias_copy      default,out                              :same          t
aten.detach_copy     default,out                              :same          t
aten.lift_fresh_copy default,out                              :same          t
dim_order_ops._clone_dim_order     default,out                :same          t ...
aten._to_copy        default,out                              :same          t ...
dim_order_ops._to_dim_order_copy   default,out                :same          t ...
aten.copy            default,out                              :copy          t t -
aten.copy_           default,                                 :copy_in       !t t -
executorch_prim.et_copy_index  tensor                         :copy_index    !t t i
aten.pixel_shuffle   default,out                              pixel_shuffle  t i
aten.pixel_unshuffle default,out                              pixel_unshuffle  t i

aten.full            default,out                              :full          is n ...
aten.full_like       default,out                              :full_like     t n ...
aten.zeros           default,out                              :zeros         is ...
aten.zeros_like      default,out                              :zeros_like    t ...
aten.ones            default,out                              :ones          is ...
aten.ones_like       default,out                              :ones_like     t ...
aten.empty           memory_format,out                        :zeros         is ...
aten.scalar_tensor   default,out                              :scalar_tensor n ...
aten.arange          start_step,start_out,start               :arange        n n n ...
aten.arange          default,out                              :arange_to     n ...
"""

# operators that upstream's Vulkan backend adds, quantised ones, images
MORE = """
aten.convolution     default,out              convolution     t t t? is is is b is i
et_vk.conv_with_clamp  default,out            conv_with_clamp t t t? is is is b is i n? n?
aten.avg_pool2d      default,out              avg_pool2d      t is is is b b i?
aten._adaptive_avg_pool2d  default,out        _adaptive_avg_pool2d  t is
aten.max_pool2d_with_indices  default,out     max_pool2d_with_indices  t is is is is b
aten.max_pool2d      default                  max_pool2d      t is is is is b
aten.upsample_nearest2d   vec,vec_out         upsample_nearest2d   t is? fs?
aten.upsample_bilinear2d  vec,vec_out         upsample_bilinear2d  t is? b fs?
aten.grid_sampler_2d default,out              grid_sampler_2d t t i i b
et_vk.grid_priors    default,out              grid_priors     t i f
et_vk.rms_norm       default,out              rms_norm        t t f
et_vk.apply_rotary_emb     default,out        apply_rotary_emb     t t t t
et_vk.apply_rotary_emb_hf  default,out        :rotary_hf  t t t t @i
et_vk.apply_rotary_emb_interleaved  default,out  apply_rotary_emb_interleaved  t t
et_vk.sdpa           default,out              sdpa            t t t t? f?
sdpa_with_kv_cache   default                  :sdpa_with_kv_cache  t t t !t !t @i - t? f? b? f?
llama.sdpa_with_kv_cache   default,out        :sdpa_with_kv_cache  t t t !t !t @i - t? f? b? f?
custom_sdpa          default                  :custom_sdpa    t t t @i t? f? b? f?
llama.custom_sdpa    default,out              :custom_sdpa    t t t @i t? f? b? f?
update_cache         default                  :update_cache   t !t @i
llama.update_cache   default,out              :update_cache   t !t @i
et_vk.prepack        default                  :same           t
et_vk.linear_q4gsw   default,out              linear_q4gsw    t t t i t?
et_vk.linear_q4gsw_backward  default,out      linear_q4gsw_backward  t t t i
et_vk.linear_dW      default,out              linear_dW       t t
et_vk.q4gsw_requant  default,out              q4gsw_requant   t t i
et_vk.fused_ce       default,out              fused_ce        t t f
et_vk.adamw_step     default,out              :adamw_step     !t !t !t t f f f f f f f
et_vk.embedding_q4gsw  default,out            embedding_q4gsw t t i t b
et_vk.linear_qcs4w   default,out              linear_qcs4w    t t t
torchao.choose_qparams_affine  default        :choose_qparams  t s is - i i n? - - b
et_vk.linear_dq8ca_q4gsw  default,out         linear_dq8ca_q4gsw  t t t t t t i t?
aten._weight_int8pack_mm  default             :weight_int8pack_mm  t t t
quantized_decomposed.dequantize_per_channel  default,out  :dequantize_per_channel  t t t? i ...
et_vk.linear_q8ta_q8csw   default,out         linear_q8ta_q8csw   t f i t t t t?
et_vk.q8ta_linear         default,out         q8ta_linear     t f i t t t f i t? s
et_vk.q8ta_linear_gemv    default,out         q8ta_linear_gemv  t f i t t t f i t? s
et_vk.q8ta_add            default,out         q8ta_add        t t f i f i f i f
et_vk.q8ta_relu           default,out         q8ta_relu       t f i f i
et_vk.q8ta_pixel_shuffle  default,out         q8ta_pixel_shuffle  t f i f i i
et_vk.q8ta_conv2d         default,out         q8ta_conv2d     t f i t t t f i t? is is is is i s
et_vk.q8ta_conv2d_dw      default,out         q8ta_conv2d_dw  t f i t t t f i t? is is is is i s
et_vk.q8ta_conv2d_pw      default,out         q8ta_conv2d_pw  t f i t t t f i t? is is is is i s
et_vk.q8ta_conv2d_transposed  default,out     q8ta_conv2d_transposed \
t f i t t t f i t? is is is is is i s
quantized_decomposed.quantize_per_tensor    default,out  quantize_per_tensor    t f i i i ...
quantized_decomposed.dequantize_per_tensor  default,out  dequantize_per_tensor  t f i i i ...
"""
