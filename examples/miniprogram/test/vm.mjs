// Runs the mini program on a phone against the server SERVER: with the argument "contract", what
// the transport carries; with "pages", a teacher's way from the sign-in to the saved record, with a
// network that goes away and a program that is closed. It prints what it found, as JSON.
import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mustCompile } from "./compile.mjs";
import { Phone } from "./phone.mjs";

mustCompile("-p", ".", "--noCheck"); // another test checks the types
const { SERVER: server, RECORDINGS, CODES } = process.env;
const recordings = RECORDINGS.split("\n");
const phone = new Phone(mkdtempSync(join(tmpdir(), "phone-")), CODES.split("\n"), { server });

if (process.argv[2] === "contract") {
  phone.launch("compiled");
  const { contract } = phone.load("test/contract.js");
  const { wxTransport } = phone.load("miniprogram/api/wx.js");
  await contract(wxTransport, { server, code: phone.codes.shift(), recordings: recordings.slice(0, 2) });
  console.log(JSON.stringify({ uploads: phone.uploads }));
  process.exit(0);
}

const tap = (handler, dataset = {}) => phone.page[handler]({ currentTarget: { dataset } });
const type = (handler, value) => phone.page[handler]({ detail: { value } });
const outbox = () => readdirSync(join(phone.directory, "outbox"));

phone.launch("compiled");
await phone.until("/pages/signin/signin");
await tap("signIn");
await phone.until("/pages/student/student", (data) => data.students.length === 0);
type("typeName", "小明");
await tap("add");
const { data } = await phone.until("/pages/student/student", (data) => data.students.length === 1);
tap("open", { id: data.students[0].profile_id });
await phone.until("/pages/recording/recording", (data) => data.session !== "");

// Two segments arrive; the third is recorded without a network and survives the end of the program.
phone.sounds = [...recordings];
await tap("record");
await phone.until("/pages/recording/recording", (data) => data.recording);
phone.recorder.stop(); // its duration has passed
await phone.until("/pages/recording/recording", (data) => data.recording && data.seconds === 5);
phone.recorder.on.interruptionEnd(); // a call has ended
await phone.until("/pages/recording/recording", (data) => data.seconds === 10 && phone.uploads === 2);
const before = phone.uploads;
phone.online = false;
tap("stop");
await phone.until("/pages/recording/recording", (data) => !data.recording && data.waiting === 1 && data.problem !== "");
const kept = outbox();
phone.launch("compiled");
await phone.until("/pages/signin/signin");
phone.connect();
phone.page.onLoad(); // the session is still there
await phone.until("/pages/student/student", (data) => data.students.length === 1);
tap("open", { id: data.students[0].profile_id });
await phone.until("/pages/recording/recording", (data) => data.session !== "");
await phone.until("/pages/recording/recording", () => outbox().length === 0);

// The program goes on with the lesson that was recording.
phone.sounds = [recordings[0]];
await tap("record");
await phone.until("/pages/recording/recording", (data) => data.recording);
tap("stop");
await phone.until("/pages/recording/recording", (data) => !data.recording && data.seconds === 5 && phone.uploads === 4);
await tap("finish");
await phone.until("/pages/text/text", (data) => data.lessons.length === 1 && data.lessons[0].waiting.length === 0);
const { parts } = phone.page.data.lessons[0];
const transcript = parts.map((part) => part.text).join("\n");
await tap("listen", { id: parts[1].id });
await tap("generate");
const generated = phone.page.data.text;
type("typeText", "She mixed her own greens today.");
await tap("copy");
const copied = [phone.clipboard];
await tap("save");
await phone.until("/pages/text/text", (data) => data.saved !== "");
const shared = phone.page.onShareAppMessage().title;
phone.clipboard = null;
await tap("copy"); // is refused
copied.push(phone.page.data.message);

// The student is done today, and the record is found, unfolded and shared.
phone.launch("compiled");
await phone.until("/pages/student/student", (data) => data.students[0]?.done);
tap("openRecords");
await phone.until("/pages/records/records", (data) => data.records.length === 1);
type("typeText", "nothing like it");
await tap("read");
const unfound = phone.page.data.records.length;
type("typeText", "GREENS");
await tap("read");
await tap("open", { id: phone.page.data.records[0].id });
const found = { ...phone.page.data.records[0], unfound, shared: phone.page.onShareAppMessage().title };

// A page on a computer shows a code; the phone, in Chinese now, signs it in and out.
const api = (path, body, headers = {}) => fetch(server + "/api/v1/auth/" + path, {
  method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json", ...headers },
});
const started = await (await api("device", undefined, { "User-Agent": "Firefox/140.0 Windows" })).json();
const session = () => api("device/session", { device_code: started.device_code });
phone.language = "zh_CN";
phone.launch("compiled");
await phone.until("/pages/student/student", (data) => data.students.length === 1);
tap("openDevices");
await phone.until("/pages/device/device", (data) => data.sessions.length === 1 && data.sessions[0].name === "本手机");
await tap("scan"); // and goes back
phone.seen = "https://elsewhere.example";
await tap("scan");
phone.seen = "sign-in:" + started.code;
await tap("scan");
const { asking } = phone.page.data;
const pending = (await session()).status;
await tap("confirm");
const confirmed = await session();
await phone.page.list();
const listed = phone.page.data.sessions.map((s) => s.name);
await tap("end", { id: phone.page.data.sessions.find((s) => s.name === asking.device).id });
const cookie = confirmed.headers.get("set-cookie").split(";")[0];
const ended = (await fetch(server + "/api/v1/auth/me", { headers: { Cookie: cookie } })).status;
console.log(JSON.stringify({
  day: new Date().toLocaleDateString("sv"),
  transcript, generated, copied, found, played: phone.played, kept, uploads: phone.uploads, before, token: phone.storage.token, left: outbox(),
  toasts: phone.toasts, shared, device: asking.device, statuses: [pending, confirmed.status, ended], listed,
}));
process.exit(0);
