// The dot product of four i8 pairs, for any WGSL.
// needs: lib/int8
fn dot4(a: u32, b: u32) -> i32 { return dot(bytes_of(a), bytes_of(b)); }
