import { contract } from "../test/contract.js";
import { fetchTransport } from "./fetch.js";

// The page's address has the login code. The result is the title: "done", or what went wrong.

async function main(): Promise<void> {
  const recording = async (name: string) => (await fetch(name)).blob();
  const recordings: [Blob, Blob] = [await recording("0.mp3"), await recording("1.mp3")];
  const code = new URLSearchParams(location.search).get("code") ?? "";
  await contract(fetchTransport, { server: location.origin, code, recordings });
}

main().then(() => { document.title = "done"; }, (error: unknown) => { document.title = "failed: " + String(error); });
