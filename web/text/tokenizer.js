// Text to token ids, back, and chat messages to text. Knows what nibblegrad.io.tokenizer describes,
// nothing of models; all four calls are synchronous once it is made.

import { Tokenizer } from "@huggingface/tokenizers";
import { template } from "./template.js";

/**
 * @typedef {object} TextCodec
 * @property {(text: string, addSpecial?: boolean) => number[]} encode
 * @property {(ids: Iterable<number>, skipSpecial?: boolean) => string} decode
 * @property {(id: number) => string | null} token the token as the vocabulary spells it
 * @property {(messagesJson: string, addGenerationPrompt?: boolean) => string} render
 */

/**
 * @param {string} jsonText the JSON of what nibblegrad.io.tokenizer's from_gguf or from_hf returns
 * @returns {Promise<TextCodec>}
 */
export async function tokenizer(jsonText) {
  const { tokenizer: spec, config, template: source } = JSON.parse(jsonText);
  const inner = built(spec, config);
  const render = template(source, config);
  return {
    encode: (text, addSpecial = false) =>
      inner.encode(text, { add_special_tokens: addSpecial }).ids,
    decode(ids, skipSpecial = false) {
      const list = Array.from(ids, Number);
      const stranger = list.find((id) => inner.id_to_token(id) === undefined);
      if (stranger !== undefined) throw new Error(`tokenizer: no token has the id ${stranger}`);
      // the library refuses an empty list, and never answers for one with nothing but specials
      return list.length ? inner.decode(list, { skip_special_tokens: skipSpecial }) : "";
    },
    token: (id) => inner.id_to_token(id) ?? null,
    render,
  };
}

/**
 * @param {object} spec
 * @param {object} config
 */
function built(spec, config) {
  try {
    return new Tokenizer(spec, config);
  } catch (error) {
    throw new Error(`tokenizer: cannot be built from its description: ${reason(error)}`);
  }
}

/** @param {unknown} error */
function reason(error) {
  return error instanceof Error ? error.message : String(error);
}
