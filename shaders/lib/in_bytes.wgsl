// Inputs of truth values, a byte each: element i is byte i % 4 of word i / 4, true unless zero.
alias word = u32;

fn slot(i: u32) -> u32 { return i / 4u; }

fn pick(w: word, i: u32) -> bool { return ((w >> (8u * (i % 4u))) & 255u) != 0u; }
