// Runs the bench in a page of its own and POSTs what it says: lines to /__log, the report to
// /__result. bench.json has all that build.py would have told it; the query changes it.
import { Engine } from "../../../web/demo/engine.js";

const engine = new Engine();
const query = new URLSearchParams(location.search);
const post = (path, body) => fetch(path, { method: "POST", body });
let said = Promise.resolve();
engine.listeners.add(({ type, text }) => {
  if (type !== "stdout" && type !== "stderr") return;
  document.querySelector("pre").append(text);
  const line = text.replace(/\n$/, "");
  if (line) said = said.then(() => post("/__log", line));
});

async function model({ name, parts }) {
  const pieces = await Promise.all(parts.map(async (part) => (await fetch(part)).blob()));
  await engine.call("addFile", name, new Blob(pieces));
  return `/files/${name}`;
}

async function main() {
  const told = await (await fetch("bench.json")).json();
  const { options } = told;
  if (query.has("only")) options.only = query.getAll("only");
  if (query.has("routes")) options.routes = query.get("routes") !== "0";
  if (query.has("tokens")) options.tokens = Number(query.get("tokens"));
  if (query.get("peers") === "0") options.peers = {};
  const began = performance.now();
  const versions = await engine.boot(told.boot);
  const boot_s = (performance.now() - began) / 1e3;
  options.model = told.model && query.get("model") !== "0" ? await model(told.model) : null;
  const data = JSON.stringify({ files: told.files, options });
  const end = await engine.call("evaluate", told.start, data);
  await said;
  if (!end.ok) await post("/__log", end.error);
  const about = { agent: navigator.userAgent, boot_s, ...versions };
  await post("/__result", JSON.stringify({ ...about, error: end.error, ...end.value }));
}

main().catch(async (error) => {
  await post("/__log", String(error));
  await post("/__result", JSON.stringify({ error: String(error) }));
});
