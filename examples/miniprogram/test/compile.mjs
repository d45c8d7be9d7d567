// Compiles the project, and requires that a wrong program is refused.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

export function compile(...args) {
  const tsc = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc", ...args], { encoding: "utf8" });
  return tsc.status === 0 ? "" : tsc.stdout + tsc.stderr;
}

export function mustCompile(...args) {
  const problems = compile(...args);
  if (problems) throw new Error(problems);
}

if (process.argv[2] === "check") {
  mustCompile("-p", ".", "--noEmit");
  const page = "miniprogram/pages/lesson/lesson.ts";
  const wrong = readFileSync(page, "utf8")
    .replace("session.feedback_date", "session.feedback_day") // not in the document
    .replace("event.currentTarget", "event.targets"); // not in the platform's types
  writeFileSync(page, wrong);
  const problems = compile("-p", ".", "--noEmit");
  for (const name of ["feedback_day", "targets"]) {
    if (!problems.includes(`'${name}' does not exist`)) throw new Error(name + " compiles: " + problems);
  }
}
