// The dot product of four i8 pairs, by WGSL's packed_4x8_integer_dot_product.
fn dot4(a: u32, b: u32) -> i32 { return dot4I8Packed(a, b); }
