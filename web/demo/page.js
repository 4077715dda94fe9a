// The page: a form, Start and Stop. The job itself is Python, in the worker.
import "./page.css";
import { expose } from "./driver.js";
import { Engine } from "./engine.js";
import { alert, clear, log, offer, show, status } from "./show.js";

/** @type {any} */
const host = self;
const form = /** @type {HTMLFormElement} */ (document.forms.namedItem("job"));
const field = (/** @type {string} */ name) =>
  /** @type {HTMLInputElement} */ (form.elements.namedItem(name));
const stop = /** @type {HTMLButtonElement} */ (document.getElementById("stop"));
const start = /** @type {HTMLButtonElement} */ (document.getElementById("start"));

const NUMBERS = ["steps", "seq_len", "learning_rate", "lora_r", "seed"];
const NO_WEBGPU = "This browser offers no WebGPU, which the training needs. ";

/** What build.py serves: where Python is, and the default model. */
const served = fetch("config.json").then((answer) => answer.json());
const engine = new Engine();
engine.listeners.add(show);
/** @type {Promise<any> | undefined} */
let booted;
const boot = () => (booted ??= served.then((options) => engine.boot(options)));

/** The last line says it; a traceback is for the log. @param {string} error */
function fail(error) {
  const lines = error.trim().split("\n");
  alert(lines.at(-1) ?? "");
  if (lines.length > 1) log(error);
}

/** Shows the job while it runs; build.py calls it as the form does. @param {object} config */
async function finetune(config) {
  clear();
  start.disabled = true;
  stop.disabled = false;
  status("Starting");
  try {
    const end = await engine.call("finetune", config);
    if (!end.ok) fail(end.error);
    return end;
  } finally {
    start.disabled = false;
    stop.disabled = true;
  }
}

/** The chosen file or the default, shown to Python; its path. @param {string} name @param {string} [or] */
async function give(name, or) {
  const file = field(name).files?.[0];
  if (!file && !or) return null;
  const label = file ? file.name : /** @type {string} */ (or);
  await engine.call("addFile", label, file ?? `files/${encodeURIComponent(label)}`);
  return `/files/${label}`;
}

async function submit() {
  clear();
  status("Starting Python, some seconds");
  await boot();
  await engine.call("clearOut");
  status("Reading the files");
  const model = await give("model", (await served).model.name);
  const data = await give("data");
  const numbers = NUMBERS.map((n) => [n, field(n).value === "" ? null : field(n).valueAsNumber]);
  const end = await finetune({ model, data, out: "/out", ...Object.fromEntries(numbers) });
  for (const name of await engine.call("outFiles")) offer(name, await engine.call("readOut", name));
  if (!end.ok) status("Ended with an error");
}

/** Why there is no WebGPU and what to do, or "". */
async function noWebgpu() {
  if (!isSecureContext) return `${NO_WEBGPU}Open the page at localhost or over https.`;
  if (!navigator.gpu) return `${NO_WEBGPU}Use Chrome or Edge 113, Safari 26, Firefox 141 or newer.`;
  if (await navigator.gpu.requestAdapter()) return "";
  return `${NO_WEBGPU}It found no GPU: see chrome://gpu, update the driver, or on Linux start
    Chrome with --enable-unsafe-webgpu --enable-features=Vulkan.`;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  start.disabled = true;
  submit()
    .catch((error) => alert(error.message))
    .finally(() => (start.disabled = false));
});
stop.addEventListener("click", () => {
  stop.disabled = true;
  status("Stopping after this step");
  engine.call("stop");
});

const driver = expose(engine);
host.driver = {
  ...driver,
  boot,
  finetune: (/** @type {object} */ config) => driver.whole(finetune(config)),
};
clear();
served.then(({ model }) => {
  if (!model) return;
  const about = `Empty: ${model.about}, ${(model.bytes / 1e6).toFixed(0)} MB.`;
  /** @type {HTMLElement} */ (document.getElementById("default-model")).textContent = about;
});
if (!host.driverEvents) noWebgpu().then(alert);
