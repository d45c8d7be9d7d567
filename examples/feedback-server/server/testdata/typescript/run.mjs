// Generates a client from the document that the variable OPENAPI names, compiles it with main.ts,
// and runs that.
import { spawnSync } from "node:child_process";
import { createClient } from "@hey-api/openapi-ts";

await createClient({
  input: process.env.OPENAPI,
  output: { path: "client" },
  plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"],
  logs: { level: "silent", file: false },
});
const compile = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc"], { encoding: "utf8" });
if (compile.status !== 0) throw new Error(compile.stdout + compile.stderr);
await import("./compiled/main.js");
