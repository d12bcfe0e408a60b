/**
 * Packs the o200k_base ranks that js-tiktoken publishes into the binary module that the meter counts with.
 * Layout: token count (u32, little endian), one length byte per token, then all token bytes; a token's rank is its place.
 * (Lengths stand apart because that gzips 60 KiB smaller than lengths between the tokens.)
 * The same ranks always give the same bytes; a file that is already right is not written again.
 */
import { existsSync, readFileSync, realpathSync, renameSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import o200k from "js-tiktoken/ranks/o200k_base";

/** Where the packed vocabulary lies. For plain Node: `createCounter(readVocabulary())`. */
export const vocabularyFile: URL = new URL("../src/meter/o200k_base.bin", import.meta.url);

/** @throws Error when the ranks are not one gapless run from 0 of tokens of 1 to 255 bytes. */
export function packVocabulary(ranks: string): Uint8Array {
  const [, first, ...encoded] = ranks.trimEnd().split(" ");
  if (first !== "0" || ranks.includes("\n")) throw new Error("the ranks are not one gapless run from 0");
  const tokens = encoded.map((token) => Buffer.from(token, "base64"));
  if (tokens.some((token) => token.length === 0 || token.length > 255)) {
    throw new Error("a token's length does not fit one byte");
  }
  const count = Buffer.alloc(4);
  count.writeUInt32LE(tokens.length);
  return Buffer.concat([count, Uint8Array.from(tokens, (token) => token.length), ...tokens]);
}

/** The packed vocabulary's bytes, as `createCounter` takes them; packs the file first when it is missing. */
export function readVocabulary(): ArrayBuffer {
  if (!existsSync(vocabularyFile)) writeVocabulary();
  return new Uint8Array(readFileSync(vocabularyFile)).buffer;
}

function writeVocabulary(): boolean {
  const packed = packVocabulary(o200k.bpe_ranks);
  if (existsSync(vocabularyFile) && readFileSync(vocabularyFile).equals(packed)) return false;
  const path = fileURLToPath(vocabularyFile);
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, packed);
  renameSync(draft, path);
  return true;
}

if (realpathSync(process.argv[1] ?? "") === fileURLToPath(import.meta.url)) {
  console.log(`o200k_base.bin: ${writeVocabulary() ? "packed" : "up to date"}`);
}
