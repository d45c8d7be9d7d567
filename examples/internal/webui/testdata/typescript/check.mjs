// Checks the types of the page, which the variable PAGE names: its JSDoc comments declare them.
import { spawnSync } from "node:child_process";

const tsc = spawnSync(process.execPath, [
  "node_modules/typescript/bin/tsc", "--allowJs", "--checkJs", "--noEmit", "--strict", "--noUnusedLocals",
  "--noUncheckedIndexedAccess", "--noImplicitReturns", "--target", "es2022", "--module", "esnext",
  "--moduleResolution", "bundler", "--lib", "es2022,dom,dom.iterable,dom.asynciterable", "--resolveJsonModule",
  process.env.PAGE + "/app.js", process.env.PAGE + "/../types.d.ts",
], { encoding: "utf8" });
if (tsc.status !== 0) throw new Error(tsc.stdout + tsc.stderr);
