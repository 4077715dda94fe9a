// 16 queries of a head against its keys, 16 at a time through workgroup memory: which they are, and
// the keys and values of a step. For the kernel's bindings k and v; E4 <= 16 vec4 a head.
// needs: lib/step
struct Params { b: u32, t: u32, h: u32, s: u32, g: u32, scale: f32, pos: u32, pos_slot: u32 }
@group(1) @binding(0) var<uniform> params: Params;
const PITCH = E4 + 1u; // one more: 16 keys at one place lie in different banks
var<workgroup> keys: array<vec4f, 16u * PITCH>;
var<workgroup> values: array<vec4f, 16u * PITCH>;

// Where the workgroup's queries begin and its keys end; `lead + time` is the first key that the query
// of that time does not see, `place` where the head's keys lie. Nothing here differs in a workgroup.
struct Queries { batch: u32, head: u32, begin: u32, lead: u32, end: u32, place: u32, there: bool }

fn queries_of(wid: vec3u, groups: vec3u) -> Queries {
  let blocks = (params.t + 15u) / 16u;
  let tile = wid.x + wid.y * groups.x;
  let batch = min(tile / blocks / params.h, params.b - 1u);
  let head = tile / blocks % params.h;
  let begin = tile % blocks * 16u;
  let lead = moving(params.pos, params.pos_slot) + 1u;
  let end = min(params.s, lead + min(begin + 15u, params.t - 1u));
  let place = (batch * params.s * params.g + head / (params.h / params.g)) * E4;
  return Queries(batch, head, begin, lead, end, place, tile / blocks / params.h < params.b);
}

// The row of q and out of the invocation's query; the last one's where there is none.
fn query_row(block: Queries, y: u32) -> u32 {
  return (block.batch * params.t + min(block.begin + y, params.t - 1u)) * params.h + block.head;
}

fn is_query(block: Queries, y: u32) -> bool { return block.there && block.begin + y < params.t; }

fn sees(block: Queries, y: u32, key: u32) -> bool {
  return key < min(params.s, block.lead + block.begin + y);
}

fn stage(first: u32, block: Queries, lane: u32) {
  for (var i = lane; i < 16u * E4; i += 256u) {
    let at = block.place + min(first + i / E4, params.s - 1u) * params.g * E4 + i % E4;
    let there = first + i / E4 < block.end; // a cache may hold anything after its end
    keys[i / E4 * PITCH + i % E4] = select(vec4f(), k[at], there);
    values[i / E4 * PITCH + i % E4] = select(vec4f(), v[at], there);
  }
}
