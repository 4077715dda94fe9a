// What an int8 product stores: f32.
alias quad = vec4f;

fn finish(v: f32) -> f32 { return v; }

fn finish4(v: vec4f) -> vec4f { return v; }
