// A new student's lesson is recorded without a network, while answers are lost and another device
// records; what the phone keeps belongs to one teacher, and goes with the sign-out.

export default async function offline(phone, _, recordings) {
  const api = (token, method, path, body) => phone.call(method, path, body, token);
  const lesson = (condition) => phone.until("/pages/lesson/lesson", condition);
  await phone.signIn("小明");
  const { students: [{ profile_id: student }] } = phone.page.data;
  const { token } = phone.storage;

  // The network is away when the lesson begins, and the phone is switched off.
  phone.online = false;
  phone.launch("compiled");
  await phone.until("/pages/student/student", (data) => data.offline && data.students.length === 1);
  phone.sounds = [...recordings];
  phone.tap("open", { id: student, record: "1" });
  await lesson((data) => data.recording);
  phone.recorder.stop();
  phone.tap("stop");
  await lesson((data) => data.waiting === 2);
  phone.type("typeText", "Typed without a network.");
  await lesson((data) => data.state.startsWith("Not saved"));
  phone.launch("compiled");
  await phone.until("/pages/student/student", (data) => data.students.length === 1);

  // Another teacher signs in on the phone, and sees nothing of it.
  phone.storage.token = "expired";
  phone.connect();
  await phone.page.onShow();
  await phone.until("/pages/signin/signin");
  phone.online = false;
  await phone.tap("signIn");
  const away = phone.toasts.at(-1);
  phone.online = true;

  // Teachers sign in to another server on its page only.
  phone.passes = async () => {
    const answer = await fetch(process.env.OAUTH + "/api/v1/auth/miniapp/login", { method: "POST" });
    return { statusCode: answer.status, data: await answer.text(), header: {} };
  };
  phone.codes.unshift("");
  await phone.tap("signIn");
  const onPage = phone.toasts.at(-1);
  phone.passes = (_, send) => send();
  await phone.tap("signIn");
  await phone.until("/pages/student/student", (data) => data.ready);
  await phone.load("miniprogram/service.js").outbox.flush();
  const others = { students: phone.page.data.students, stored: phone.storage.students, kept: phone.outbox().length };
  phone.online = false;
  phone.launch("compiled");
  await phone.until("/pages/student/student", (data) => data.offline);
  others.offline = phone.page.data.students;
  phone.connect();
  phone.tap("openDevices");
  await phone.until("/pages/device/device", (data) => data.sessions.length === 1);
  phone.tap("end", phone.page.data.sessions[0]); // of this phone
  await phone.until("/pages/signin/signin", () => phone.storage.teacher === ""); // all is forgotten
  others.after = phone.outbox().length;

  // The first one is back. Meanwhile another device has begun the lesson and written a text; the
  // answers to the first upload of each recording are lost.
  const { session_id: session } = await api(token, "POST", "feedback-sessions", { profile_id: student });
  const { lesson_id: begun } = await api(token, "POST", `feedback-sessions/${session}/lessons`);
  await api(token, "PUT", "feedback-sessions/" + session, { feedback_text: "Typed elsewhere." });
  const names = new Set();
  phone.uploaded = (name) => {
    if (names.has(name)) return;
    names.add(name);
    throw new Error("uploadFile:fail the connection ended");
  };
  await phone.tap("signIn");
  await phone.until("/pages/student/student", (data) => data.ready);
  phone.tap("open", { id: student });
  await lesson((data) => data.waiting === 0 && data.lessons[0]?.parts.length === 2 && phone.outbox().length === 0);
  const { data: { other, text, lessons } } =
    await lesson((data) => data.other !== "" && data.lessons[0].parts.every((p) => p.text));
  const theirs = (await api(token, "GET", "feedback-sessions/" + session)).feedback_text;

  // The other device saves the record: what is recorded and typed here begins the next.
  await api(token, "POST", "feedback-records",
    { profile_id: student, feedback_session_id: session, feedback_date: "2026-05-31", content: theirs });
  phone.sounds = [recordings[0]];
  phone.tap("record");
  await lesson((data) => data.recording);
  phone.tap("stop");
  await lesson((data) => data.session !== session && data.lessons[0]?.parts.length === 1 && data.lessons[0].parts[0].text);
  await lesson((data) => data.state === "Saved." && phone.outbox().length === 0); // it is sent twice
  const nextText = phone.page.data.text;

  // Proxies answer for the server: a recording is sent again. What the server refuses is told, after a restart too.
  const refused = [];
  phone.sounds = [recordings[1], recordings[2]];
  for (const what of ["resend", "discard"]) {
    phone.answers = [{ statusCode: 200, data: "{}" }, { statusCode: 404, data: "<html>" }, { statusCode: 415, data: '{"code":"not_audio"}' }];
    phone.tap("record");
    await lesson((data) => data.recording);
    phone.tap("stop");
    await lesson((data) => data.refused.length === 1);
    phone.launch("compiled");
    const { data } = await phone.until("/pages/student/student", ({ refused }) => refused[0]?.name === "小明");
    phone.tap("open", { id: data.refused[0].id });
    const [{ name, why }] = (await lesson((data) => data.refused.length === 1)).data.refused;
    await lesson((data) => data.offered !== ""); // what was said before, of which nothing was chosen
    phone.tap("dismiss");
    await lesson(() => !phone.storage[`open-${phone.storage.teacher}-${student}`].said); // no text is to be made
    phone.confirms = true;
    await phone.tap(what, { name });
    phone.confirms = false;
    await lesson((data) => data.refused.length === 0 && data.lessons[0]?.parts.length >= 2 && phone.outbox().length === 0);
    if (what === "resend") await lesson((data) => data.offered !== "");
    refused.push(why);
  }

  // The phone is full: the recording is sent all the same.
  phone.sounds = [recordings[2], recordings[2]];
  phone.full = true;
  phone.online = false;
  phone.tap("record");
  await lesson((data) => data.recording);
  phone.recorder.stop();
  await lesson((data) => !data.recording && data.waiting === 2);
  const unkept = [phone.outbox().length, phone.toasts.at(-1)];
  phone.full = false;
  phone.connect();
  await lesson((data) => data.waiting === 0 && data.lessons[0].parts.length === 4 && !data.lessons[0].parts[3].busy);

  // Signing out asks, because the text is not saved, and forgets it.
  phone.back();
  await phone.until("/pages/student/student");
  const { profile_id: next } = await api(token, "POST", "profiles", { name: "小红" });
  phone.sounds = [recordings[0], recordings[1]];
  phone.online = false;
  phone.recorder.slow = true; // the next lesson begins before the end of this one
  phone.tap("open", { id: student, record: "1" });
  await lesson((data) => data.recording);
  phone.back();
  phone.tap("open", { id: next, record: "1" });
  await lesson((data) => data.recording && data.student === next && phone.sounds.length === 1);
  phone.tap("stop");
  await lesson((data) => data.waiting === 1);
  const whose = phone.outbox().sort().map((name) => [student, next].indexOf(name.split("_")[2]));
  await api(token, "DELETE", "profiles/" + next);
  phone.connect();
  const { data: { refused: [deleted] } } = await lesson((data) => data.refused.length === 1 && phone.outbox().length === 1);
  phone.type("typeText", "Typed of nobody.");
  await lesson((data) => data.state.endsWith("The student was deleted."));
  refused.push(deleted.why);
  phone.online = false;
  phone.back();
  await phone.tap("signOut");
  const stays = phone.page.route;
  phone.confirms = true;
  await phone.tap("signOut");
  await phone.until("/pages/signin/signin");
  return {
    others, other, whose, refused, away, onPage, unkept, text, theirs, nextText, begun,
    lessons: lessons.map((l) => l.id), parts: lessons[0].parts.map((p) => p.text),
    uploads: phone.uploads, questions: phone.questions, stays, toasts: phone.toasts, left: phone.outbox(),
    stored: Object.entries(phone.storage).filter(([, value]) => value !== ""),
  };
}
