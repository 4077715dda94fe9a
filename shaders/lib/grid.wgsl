// One invocation an item: the item's number, whether or not the grid was folded into two dimensions.
override WG: u32 = 64u;

fn flat(gid: vec3u, groups: vec3u) -> u32 {
  return gid.x + gid.y * groups.x * WG;
}
