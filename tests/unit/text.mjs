// Runs web/text/tokenizer.js outside a page: JSON calls on stdin, JSON answers on stdout.
// {"spec": ..., "calls": [[method, ...arguments], ...]} -> [{"ok": value} | {"error": text}, ...]

import { text } from "node:stream/consumers";
import { tokenizer } from "../../web/text/tokenizer.js";

const { spec, calls } = JSON.parse(await text(process.stdin));
const answers = [];
try {
  const codec = await tokenizer(JSON.stringify(spec));
  for (const [method, ...args] of calls) answers.push(attempt(() => codec[method](...args)));
} catch (error) {
  answers.push({ error: error.message });
}
process.stdout.write(JSON.stringify(answers));

function attempt(call) {
  try {
    return { ok: call() };
  } catch (error) {
    return { error: error.message };
  }
}
