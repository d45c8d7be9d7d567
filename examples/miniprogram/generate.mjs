// Generates the types of the OpenAPI document that the variable OPENAPI names, and prints them.
import { readFileSync } from "node:fs";
import { createClient } from "@hey-api/openapi-ts";

// The client has its own methods: it needs only the types of bodies that it names.
const client = readFileSync("miniprogram/api/client.ts", "utf8");
const [, names] = /import type \{([^}]+)\} from ".\/types.js"/.exec(client);

await createClient({
  input: process.env.OPENAPI,
  parser: { filters: { operations: { exclude: ["/.*/"] }, schemas: { include: names.match(/\w+/g) } } },
  output: { path: "generated" },
  plugins: ["@hey-api/typescript"],
  logs: { level: "silent", file: false },
});
process.stdout.write(readFileSync("generated/types.gen.ts", "utf8"));
