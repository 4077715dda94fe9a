// Chat templates are programs from strangers' files: they run with a budget, and every way they
// fail is told as "chat template: cause".

import { Environment, Interpreter, Template } from "@huggingface/jinja";

const MOST_OUTPUT = 1_000_000; // characters of any text a template makes, also in between
const MOST_SOURCE = 256_000;
// One evaluated node costs 1, plus 1 for each 64 characters or items of its value: what a node
// yields is also the most it can add to the output, so time and memory are bounded together.
const MOST_WORK = 1_000_000;
const RANGE_ITEM = 10; // a turn of a loop takes some 10 microseconds, even with nothing in it
const MOST_MS = 1000;

class TemplateError extends Error {}

class Metered extends Interpreter {
  work = 0;
  deadline = performance.now() + MOST_MS;

  /** @param {number} cost */
  spend(cost) {
    this.work += cost;
    const isInBudget = this.work <= MOST_WORK && performance.now() < this.deadline;
    if (!isInBudget) throw new TemplateError("runs too long; it may never end");
  }

  /** @type {Interpreter["evaluate"]} */
  evaluate(statement, environment) {
    const value = super.evaluate(statement, environment);
    const size = sizeOf(value.value);
    if (size > MOST_OUTPUT) {
      throw new TemplateError(`makes more than ${MOST_OUTPUT} characters; shorten the messages`);
    }
    this.spend(1 + size / 64);
    return value;
  }
}

/** @param {unknown} value */
function sizeOf(value) {
  return typeof value === "string" || Array.isArray(value) ? value.length : 0;
}

/**
 * @param {string | null} source Jinja, as transformers renders it
 * @param {Record<string, unknown>} config bos_token, eos_token and so on
 * @returns {(messagesJson: string, addGenerationPrompt?: boolean) => string}
 */
export function template(source, config) {
  /** @type {Template | undefined} */
  let parsed;
  return (messagesJson, addGenerationPrompt = false) => {
    const messages = JSON.parse(messagesJson);
    try {
      parsed ??= parse(source);
      return run(parsed, {
        ...tokens(config),
        messages,
        add_generation_prompt: addGenerationPrompt,
      });
    } catch (error) {
      throw new Error(`chat template: ${cause(error)}`);
    }
  };
}

/** @param {string | null} source */
function parse(source) {
  if (source == null) {
    throw new TemplateError("this model has none, so it cannot chat; give it plain text instead");
  }
  if (source.length > MOST_SOURCE) {
    throw new TemplateError(`is ${source.length} characters long; at most ${MOST_SOURCE} are read`);
  }
  return new Template(source);
}

/**
 * @param {Template} parsed
 * @param {Record<string, unknown>} variables
 */
function run(parsed, variables) {
  const environment = new Environment();
  const interpreter = new Metered(environment);
  for (const [name, value] of Object.entries({ ...globals(interpreter), ...variables })) {
    environment.set(name, value);
  }
  return String(interpreter.run(parsed.parsed).value);
}

/**
 * As the library's own, but range is metered, and strftime_now is left undefined: templates then
 * take their fixed date, and the same seed gives the same losses tomorrow.
 * @param {Metered} interpreter
 */
function globals(interpreter) {
  return {
    true: true,
    True: true,
    false: false,
    False: false,
    none: null,
    None: null,
    /** @param {unknown} message */
    raise_exception(message) {
      throw new TemplateError(`refuses these messages: ${message}`);
    },
    /** @param {number} start @param {number} [stop] @param {number} [step] */
    range(start, stop, step = 1) {
      const [from, to] = stop == null ? [0, start] : [start, stop];
      const length = Math.max(0, Math.ceil((to - from) / step));
      interpreter.spend(length * RANGE_ITEM);
      return Array.from({ length }, (_, i) => from + i * step);
    },
  };
}

/** @param {Record<string, unknown>} config */
function tokens(config) {
  return Object.fromEntries(
    Object.entries(config).filter(([name, value]) => name.endsWith("_token") && value != null),
  );
}

/** @param {unknown} error */
function cause(error) {
  if (error instanceof RangeError) return "is nested too deeply, or asks for a text too long";
  if (error instanceof TemplateError) return error.message;
  return `is broken or uses what is not supported: ${error instanceof Error ? error.message : error}`;
}
