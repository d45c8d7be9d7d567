// Prints the script of axe-core, for a page to evaluate.
import { readFileSync } from "node:fs";

process.stdout.write(readFileSync("node_modules/axe-core/axe.min.js"));
