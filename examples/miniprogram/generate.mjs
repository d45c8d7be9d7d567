// Generates the types of the OpenAPI document that the variable OPENAPI names, and prints them.
import { readFileSync } from "node:fs";
import { createClient } from "@hey-api/openapi-ts";

await createClient({
  input: process.env.OPENAPI,
  // The client has its own methods: it needs the types of bodies only.
  parser: { filters: { operations: { exclude: ["/.*/"] }, orphans: true } },
  output: { path: "generated" },
  plugins: ["@hey-api/typescript"],
  logs: { level: "silent", file: false },
});
process.stdout.write(readFileSync("generated/types.gen.ts", "utf8"));
