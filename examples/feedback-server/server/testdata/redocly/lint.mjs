// Lints the document that the variable OPENAPI names, by the recommended rules, and prints the
// result as JSON.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";

writeFileSync("redocly.yaml", "extends: [recommended]\ntelemetry: 'off'\n");
const cli = "node_modules/@redocly/cli/bin/cli.js";
const lint = spawnSync(process.execPath, [cli, "lint", process.env.OPENAPI, "--format=json"], {
  encoding: "utf8",
  env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
});
if (!lint.stdout.includes("{")) throw new Error(lint.stderr);
process.stdout.write(lint.stdout.slice(lint.stdout.indexOf("{"), lint.stdout.lastIndexOf("}") + 1));
