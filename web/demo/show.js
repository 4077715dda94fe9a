// Shows the job's events in the page, one function an event. Computes nothing.
import { LossChart } from "./chart.js";

/** @typedef {import("../runtime/worker.js").WorkerEvent} WorkerEvent */

const at = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const say = (/** @type {string} */ id, /** @type {string} */ text) =>
  void (at(id).textContent = text);
const fixed = (/** @type {number | null} */ n) => n?.toFixed(3) ?? "not measured";
const megabytes = (/** @type {number} */ n) => `${(n / 1e6).toFixed(1)} MB`;
const bar = () => /** @type {HTMLProgressElement} */ (at("bar"));

/** @type {LossChart} */
let chart;
/** @type {{first?: number, last?: number, step: number}} */
let run = { step: 0 };
/** When the status line, which is read aloud, was last changed. */
let spoken = 0;

/** @param {string} text */
export function log(text) {
  const item = document.createElement("li");
  item.textContent = text;
  at("log").append(item);
}

/** @param {string} text */
export function status(text) {
  spoken = performance.now();
  say("status", text);
}

/** @param {string} text "" hides it */
export function alert(text) {
  say("alert", text);
  at("alert").hidden = !text;
}

export function clear() {
  chart ??= new LossChart(at("chart"));
  chart.clear();
  run = { step: 0 };
  for (const id of ["log", "files", "prompt", "before", "after", "summary", "numbers"]) say(id, "");
  bar().value = 0;
  alert("");
}

/** A screen reader hears a step every ten seconds, not each. @param {WorkerEvent} e */
function step(e) {
  run = { first: run.first ?? e.loss, last: e.loss, step: e.step };
  chart.addLoss(e.step, e.loss);
  bar().max = e.steps;
  bar().value = e.step;
  const speed = `${e.tokens_per_s.toFixed(0)} tokens/s, ${e.eta_s.toFixed(0)} s left`;
  say("numbers", `Step ${e.step} of ${e.steps}, loss ${fixed(e.loss)}, ${speed}`);
  say("summary", `Training loss went from ${fixed(run.first ?? null)} to ${fixed(e.loss)}.`);
  if (performance.now() - spoken > 10000) status(`Training: step ${e.step} of ${e.steps}`);
}

/** @type {Record<string, (e: WorkerEvent) => void>} */
const shows = {
  adapter: ({ info }) =>
    log(
      `GPU: ${info.description || `${info.vendor} ${info.architecture}`}${info.fallback ? " (software, slow)" : ""}`,
    ),
  loading: ({ loaded, total }) => {
    bar().max = total;
    bar().value = loaded;
    say("numbers", `Loading the model: ${megabytes(loaded)} of ${megabytes(total)}`);
  },
  model: (e) => {
    log(`Model: ${e.name}, ${megabytes(e.bytes)}, licence ${e.license}, ${e.load_s.toFixed(1)} s`);
    status("Model loaded");
  },
  data: (e) =>
    log(`Data: ${e.source}, ${e.train} examples, ${e.heldout} held out, ${e.tokens} tokens`),
  note: ({ text }) => log(text),
  config: (e) =>
    log(`Options: ${e.steps} steps, rank ${e.lora_r}, learning rate ${e.learning_rate}`),
  eval: ({ when, loss }) => {
    chart.addEval(run.step, loss);
    log(`Held-out loss ${when} training: ${fixed(loss)}`);
    status(when === "before" ? "Training" : "Trained");
  },
  sample: ({ when, prompt, text }) => {
    say("prompt", prompt);
    say(when, text);
  },
  step,
  saved: ({ files }) => log(`Saved: ${files.join(", ")}`),
  done: (e) =>
    status(`Done: held-out loss ${fixed(e.eval_before)} before, ${fixed(e.eval_after)} after`),
};

/** @param {WorkerEvent} e */
export function show(e) {
  if (e.type === "job") shows[e.event]?.(e);
  if (e.type === "stdout" || e.type === "stderr") log(e.text.trimEnd());
}

/** @param {string} name @param {Uint8Array} bytes */
export function offer(name, bytes) {
  const link = document.createElement("a");
  link.download = name.split("/").at(-1) ?? name;
  link.href = URL.createObjectURL(new Blob([/** @type {BlobPart} */ (bytes)]));
  link.textContent = `${name} (${(bytes.length / 1024).toFixed(1)} kB)`;
  const item = document.createElement("li");
  item.append(link);
  at("files").append(item);
}
