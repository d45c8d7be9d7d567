// Runs the mini program on a phone against the server SERVER: with the argument "contract", what
// the transport carries; else the test of that name. It prints what it found, as JSON.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mustCompile } from "./compile.mjs";
import { Phone } from "./phone.mjs";

mustCompile("-p", ".", "--noCheck"); // another test checks the types
const { SERVER: server, RECORDINGS, CODES } = process.env;
const recordings = RECORDINGS.split("\n");
const phone = new Phone(mkdtempSync(join(tmpdir(), "phone-")), CODES.split("\n"), { server });

async function contract() {
  phone.launch("compiled");
  const { contract } = phone.load("test/contract.js");
  const { wxTransport } = phone.load("miniprogram/api/wx.js");
  await contract(wxTransport, { server, code: phone.codes.shift(), recordings: recordings.slice(0, 2) });
  return { uploads: phone.uploads };
}

const [, , name] = process.argv;
const test = name === "contract" ? contract : (await import(`./${name}.mjs`)).default;
console.log(JSON.stringify(await test(phone, server, recordings)));
process.exit(0);
