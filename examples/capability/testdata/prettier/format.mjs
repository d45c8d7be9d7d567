// Reads an array of texts from standard input and writes them as Prettier does with its defaults.
import { readFileSync } from "node:fs";
import { format } from "prettier";

const texts = JSON.parse(readFileSync(process.argv[2], "utf8"));
const formatted = [];
for (const text of texts) {
  formatted.push(await format(text, { parser: "json" }));
}
process.stdout.write(JSON.stringify(formatted));
