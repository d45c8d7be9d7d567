// A teacher's way from the sign-in to the saved record, with a network that goes away and a program
// that is closed; three taps for a note; records; a page on a computer that is signed in.

export default async function pages(phone, server, recordings) {
  await phone.signIn("小明");
  const { students: [{ profile_id: id }] } = phone.page.data;
  await phone.tap("open", { id });
  const lesson = (condition) => phone.until("/pages/lesson/lesson", condition);
  await lesson();

  // Two segments arrive; the third is recorded without a network and survives the end of the program.
  phone.sounds = [...recordings];
  await phone.tap("record");
  await lesson((data) => data.recording);
  phone.recorder.stop(); // its duration has passed
  await lesson((data) => data.recording && data.seconds === 5);
  phone.recorder.on.interruptionBegin();
  await lesson((data) => data.paused);
  phone.recorder.on.interruptionEnd(); // a call has ended
  await lesson((data) => !data.paused && data.seconds === 10 && phone.uploads === 2);
  const before = phone.uploads;
  const { data: { lessons: [{ parts: [played] }] } } = await lesson((data) => data.lessons[0]?.parts.length === 2);
  await phone.tap("edit", { id: played.id });
  await phone.until("/pages/edit/edit", (data) => data.ready);
  await phone.tap("listen"); // is not played: it would be recorded
  phone.back();
  await lesson();
  const { token } = phone.storage;
  phone.storage.token = "expired"; // which both pages are told
  await Promise.all([phone.page.refresh(), phone.pages[0].onShow()]);
  const expired = phone.toasts.splice(0);
  phone.storage.token = token;
  phone.page.onShow();
  phone.online = false;
  phone.tap("stop");
  await lesson((data) => !data.recording && data.waiting === 1 && data.offline);
  const kept = phone.outbox();

  // The program starts without a network, and goes on with the lesson that was recording.
  phone.launch("compiled");
  await phone.until("/pages/student/student", (data) => data.students.length === 1 && data.offline);
  await phone.tap("open", { id });
  await lesson((data) => data.waiting === 1 && data.offline);
  phone.sounds = [recordings[0]];
  phone.recorder.denied = true;
  phone.confirms = true;
  phone.tap("record");
  await lesson(() => phone.settings);
  phone.recorder.denied = false;
  await phone.tap("record");
  await lesson((data) => data.recording);
  const awake = [phone.awake];
  phone.hide(); // which ends the recording
  awake.push(phone.awake);
  phone.show();
  await lesson((data) => !data.recording && data.waiting === 2);
  phone.connect();
  await lesson((data) => phone.uploads === 4 && data.waiting === 0 && data.text !== "" // by itself
    && data.lessons[0]?.parts.length === 4);
  const { parts, id: lessonID } = phone.page.data.lessons[0];
  const transcript = parts.map((part) => part.text).join("\n");
  const generated = phone.page.data.text;
  await phone.tap("listen", { id: parts[1].id });
  await phone.tap("finish", { id: lessonID });
  phone.type("typeText", "She mixed her own greens today.");
  await phone.tap("copy");
  const copied = [phone.clipboard];
  await phone.tap("save");
  await lesson((data) => data.saved !== "");
  phone.clipboard = null;
  await phone.tap("copy"); // is refused
  copied.push(phone.page.data.refusedCopy);

  // The student is done today. The next note takes three taps.
  phone.launch("compiled");
  await phone.until("/pages/student/student", (data) => data.students[0]?.done);
  phone.sounds = [recordings[2]];
  phone.tap("open", { id, record: "1" });
  await lesson((data) => data.recording);
  phone.tap("stop");
  const note = (await lesson((data) => data.text !== "")).data.text;
  await phone.tap("save");
  await lesson((data) => data.saved !== "");
  phone.back();

  // The first record is found, unfolded and copied.
  phone.tap("openRecords");
  await phone.until("/pages/records/records", (data) => data.records.length === 2);
  phone.type("typeText", "nothing like it");
  await phone.tap("read");
  const unfound = phone.page.data.records.length;
  phone.type("typeText", "GREENS");
  await phone.tap("read");
  await phone.tap("open", { id: phone.page.data.records[0].id });
  phone.clipboard = "";
  await phone.tap("copy");
  const found = { ...phone.page.data.records[0], unfound, copied: phone.clipboard };

  // A page on a computer shows a code; the phone, in Chinese now, signs it in and out.
  const api = (path, body, headers = {}) => fetch(server + "/api/v1/auth/" + path, {
    method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json", ...headers },
  });
  const started = await (await api("device", undefined, { "User-Agent": "Firefox/140.0 Windows" })).json();
  const session = () => api("device/session", { device_code: started.device_code });
  phone.language = "zh_CN";
  phone.launch("compiled");
  await phone.until("/pages/student/student", (data) => data.students.length === 1);
  phone.tap("openDevices");
  await phone.until("/pages/device/device", (data) => data.sessions.length === 1 && data.sessions[0].name === "本手机");
  await phone.tap("scan"); // and goes back
  phone.seen = "https://elsewhere.example";
  await phone.tap("scan");
  phone.seen = "sign-in:" + started.code;
  await phone.tap("scan");
  const { asking } = phone.page.data;
  const pending = (await session()).status;
  await phone.tap("confirm");
  const confirmed = await session();
  await phone.page.list();
  const listed = phone.page.data.sessions.map((s) => s.name);
  await phone.tap("end", { id: phone.page.data.sessions.find((s) => s.name === asking.device).id });
  const cookie = confirmed.headers.get("set-cookie").split(";")[0];
  const ended = (await fetch(server + "/api/v1/auth/me", { headers: { Cookie: cookie } })).status;
  return {
    day: new Date().toLocaleDateString("sv"),
    transcript, generated, expired, note, copied, found, played: phone.played, kept, uploads: phone.uploads, before,
    token: phone.storage.token, left: phone.outbox(), toasts: phone.toasts, device: asking.device,
    awake, questions: phone.questions, statuses: [pending, confirmed.status, ended], listed,
  };
}
