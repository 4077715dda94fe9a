// Inputs of four-byte elements: element i is word i. The prelude says what `elem` is.
alias word = elem;

fn slot(i: u32) -> u32 { return i; }

fn pick(w: word, i: u32) -> elem { return w; }
