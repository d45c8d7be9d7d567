// What a teacher has said, typed or corrected reaches the record, though pages are left, answers are
// late or lost, and another device edits.

export default async function kept(phone, _, recordings) {
  const api = phone.call.bind(phone);
  const recognise = (text) => fetch(process.env.RECOGNISER, { method: "POST", body: text });
  const lesson = (condition) => phone.until("/pages/lesson/lesson", condition);
  const saved = () => lesson((data) => data.state === "Saved.");
  const today = (condition = () => true) => phone.until("/pages/student/student", condition);
  await phone.signIn("Amy");
  const { students: [{ profile_id: id }] } = phone.page.data;
  const session = () => api("GET", "feedback-sessions/active?optional=true&profile_id=" + id);
  const records = async () => (await api("GET", "feedback-records")).items.map((r) => r.content);
  const open = () => (phone.tap("open", { id }), lesson((data) => data.session !== ""));
  const leave = () => (phone.back(), today());
  const record = async () => {
    phone.sounds = [recordings[0]];
    phone.tap("record");
    await lesson((data) => data.recording);
    phone.tap("stop");
  };
  const note = async (text) => {
    await recognise(text);
    await record();
  };
  /** The next request that matches waits, or its answer does, is lost or is another. */
  const meets = (pattern, what) => {
    phone.passes = async (request, send) => {
      if (!pattern.test(request)) return send();
      phone.passes = (_, next) => next();
      await what.before;
      if (what.status) return { statusCode: what.status, data: what.data ?? "<html>", header: {} };
      const answer = await send();
      await what.after;
      if (what.lost) throw new Error("request:fail timeout");
      return answer;
    };
  };
  const later = () => {
    let end;
    return [new Promise((resolve) => { end = resolve; }), () => end()];
  };

  // Two taps open one page. What was written elsewhere is shown, and not saved unseen.
  await api("POST", "feedback-sessions", { profile_id: id, feedback_date: "2026-01-02" });
  phone.tap("open", { id });
  phone.pages[0].open({ currentTarget: { dataset: { id } } });
  const opened = [phone.pages.length];
  await lesson((data) => data.session !== "");
  phone.type("typeText", "Morning.");
  await saved();
  const { session_id, feedback_date } = await session(); // what is begun today is of today
  const days = [feedback_date];
  const write = (feedback_text) =>
    api("PUT", "feedback-sessions/" + session_id, { feedback_text, feedback_date: "2026-01-02" });
  await write("Evening.");
  await phone.tap("save");
  const elsewhere = [phone.page.data.text, ...phone.toasts.splice(0), ...await records()];

  // Two versions are there until one is chosen. Neither a letter nor a copy replaces the other.
  const [typed, send] = later();
  meets(/^PUT .feedback-sessions/, { before: typed });
  phone.type("typeText", "Mine.");
  await write("Theirs.");
  send();
  await lesson((data) => data.other !== "");
  phone.type("typeText", "Mine, too.");
  await phone.tap("copy");
  await phone.tap("save");
  const conflict = [...phone.toasts.splice(0), (await session()).feedback_text, ...await records()];
  phone.tap("takeOther");
  conflict.push(phone.page.data.text, phone.page.data.other);
  phone.type("typeText", "");
  await saved();

  // A recording that is left becomes a text when the student is opened again. It is of today.
  await recognise("Amy painted a bond.");
  phone.sounds = [recordings[0]];
  phone.tap("record");
  await lesson((data) => data.recording);
  await leave();
  const state = (await today((data) => data.students[0].state === "Not in a record yet")).data.students[0].state;
  await open();
  await lesson((data) => data.text === "Amy painted a bond.");
  await saved();

  // A correction that is left by the arrow reaches the text, also in a page that did not make it.
  await leave();
  await open();
  const page = await lesson((data) => data.lessons.length === 1);
  for (let i = 0; i < 2; i++) page.edit({ currentTarget: { dataset: { id: page.data.lessons[0].parts[0].id } } });
  opened.push(phone.pages.length);
  await phone.until("/pages/edit/edit", (data) => data.ready);
  phone.type("typeText", "Amy painted a pond.");
  const [slow, go] = later();
  meets(/^PUT .audio-segments/, { before: slow });
  phone.back();
  setTimeout(go, 300);
  await lesson((data) => data.text === "Amy painted a pond.");

  // What is said after the text was edited is offered.
  phone.type("typeText", "Amy painted a pond. Well done!");
  await saved();
  await note("She sang.");
  const { data: { offered } } = await lesson((data) => data.offered !== "");
  await phone.tap("save");
  phone.tap("append");
  const appended = phone.page.data.text;

  // The answer to saving it is lost, once while the program is in the background.
  meets(/^POST .feedback-records/, { lost: true });
  await phone.tap("save");
  const lost = [phone.page.data.text === appended];
  phone.page.onHide();
  phone.page.onShow();
  await lesson((data) => data.saved !== "");
  lost.push((await records()).length, (await api("GET", "feedback-records")).items[0].feedback_date);
  await phone.tap("copy");
  const copied = phone.clipboard;

  // Typed without a network, and left: it is sent when the network is back.
  await leave();
  phone.online = false;
  phone.tap("open", { id });
  phone.type("typeText", "Too much for the phone. ".repeat(1 << 16));
  await lesson((data) => data.state.startsWith("Not saved, and the phone has no space"));
  await leave();
  phone.tap("open", { id });
  const { length } = phone.page.data.text;
  phone.type("typeText", "Typed away.");
  await lesson((data) => data.state.startsWith("Not saved, but"));
  const sent = (text) => {
    phone.connect();
    return today(async () => (await session())?.feedback_text === text);
  };
  await leave();
  await sent("Typed away.");

  // The page is opened again before there is the answer to what was saved when it was left.
  await open();
  const [answered, answer] = later();
  meets(/^PUT .feedback-sessions/, { after: answered });
  phone.type("typeText", "Typed at once.");
  await leave();
  await open();
  phone.type("typeText", "Typed at once, and on.");
  answer();
  await saved();

  // If nothing is typed there, it is saved.
  const [again, answerAgain] = later();
  meets(/^PUT .feedback-sessions/, { after: again });
  phone.type("typeText", "Typed at once, and left.");
  phone.back();
  await today(async () => (await session()).feedback_text === "Typed at once, and left.");
  await open();
  phone.online = false;
  answerAgain();
  await saved();
  phone.connect();

  // If the answer is lost, what was typed on is no conflict with what it would have told of.
  const [never, lose] = later();
  meets(/^PUT .feedback-sessions/, { after: never, lost: true });
  phone.type("typeText", "Typed once more.");
  await leave();
  await open();
  phone.type("typeText", "Typed once more, and on.");
  lose();
  await saved();

  // Nor is it if the program ended before there was an answer.
  const [none] = later();
  meets(/^PUT .feedback-sessions/, { after: none });
  phone.type("typeText", "Typed twice.");
  await lesson(async () => (await session()).feedback_text === "Typed twice.");
  phone.online = false;
  phone.launch("compiled");
  phone.tap("open", { id });
  await lesson((data) => data.offline);
  phone.type("typeText", "Typed twice, and on.");
  phone.connect();
  await saved();

  // What was typed is also sent after the program ended.
  phone.online = false;
  phone.type("typeText", "Typed away. Late.");
  await lesson((data) => data.state.startsWith("Not saved, but"));
  phone.launch("compiled");
  await today((data) => data.offline);
  await sent("Typed away. Late.");
  await open();
  meets(/^POST .feedback-records/, { lost: true });
  await phone.tap("save");
  phone.type("typeText", "Typed away, and on.");
  await lesson((data) => data.saved !== "");
  lost.push(phone.page.data.text, (await records()).length, ...phone.toasts.splice(0));

  // What was typed yesterday, without a network, is of yesterday.
  phone.online = false;
  phone.ago = 86_400_000;
  phone.launch("compiled");
  phone.tap("open", { id });
  phone.type("typeText", "Yesterday.");
  phone.ago = 0;
  phone.launch("compiled");
  phone.tap("open", { id });
  await lesson((data) => data.text === "Yesterday." && data.offline);
  phone.connect();
  await saved();
  await phone.tap("save");
  await lesson((data) => data.saved !== "");
  days.push((await api("GET", "feedback-records")).items.find((r) => r.content === "Yesterday.").feedback_date);

  // It was begun without a session, which is opened when the page is left and opened again.
  await leave();
  const [opens, openSession] = later();
  meets(/^POST .feedback-sessions/, { before: opens });
  phone.tap("open", { id });
  phone.type("typeText", "Begun.");
  await leave();
  phone.online = false;
  phone.tap("open", { id });
  phone.type("typeText", "Begun, and on.");
  await lesson((data) => data.offline);
  phone.online = true;
  openSession();
  await saved();
  phone.type("typeText", "");
  await saved();

  // A text that was emptied, and a recording without speech, are nothing to save.
  const nothing = () => today(({ students: [{ state }] }) => state !== "" && state !== "Not in a record yet");
  await leave();
  await open();
  phone.type("typeText", "x");
  await saved();
  phone.type("typeText", "");
  await saved();
  await leave();
  await nothing();
  await open();
  await note(" ");
  await lesson((data) => data.lessons[0]?.parts[0]?.done && phone.outbox().length === 0);
  await lesson(() => !(`open-${phone.storage.teacher}-${id}` in phone.storage));
  await leave();
  await nothing();
  await open();

  // A bad answer while a text is awaited ends nothing, nor does a lost one to the request for it.
  meets(/^GET .feedback-sessions/, { status: 502 });
  await note("He sang of rain.");
  await lesson((data) => data.text === "He sang of rain.");
  await saved();
  phone.type("typeText", "");
  meets(/^POST .*generate/, { lost: true });
  await note("He danced.");
  await lesson((data) => data.text === "He sang of rain. He danced.");
  await saved();

  // What is said while a text is being made becomes one, though that one is refused.
  const [asked, refuses] = later();
  meets(/^POST .*generate/, { before: asked, status: 409, data: '{"code":"nothing_transcribed"}' });
  await note("He ran.");
  await lesson((data) => data.making);
  await note("He won.");
  await lesson(({ lessons: [{ parts }] }) => parts.length === 5 && !parts[4].busy && phone.outbox().length === 0);
  refuses();
  await lesson((data) => data.text === "He sang of rain. He danced. He ran. He won.");
  phone.toasts.pop();
  await saved();

  // A text that arrives after its page was left is in no other record.
  const [late, arrives] = later();
  meets(/^POST .*generate/, { after: late });
  const making = phone.tap("generateAnew");
  await leave();
  await open();
  phone.type("typeText", "My own words.");
  await phone.tap("save");
  await lesson((data) => data.saved !== "");
  await leave();
  arrives();
  await making;
  const drafts = Object.keys(phone.storage).filter((key) => /^(draft|open)-/.test(key));

  // While the recogniser is away, what was typed is saved, and what was said is left for the next record.
  phone.tap("open", { id });
  await note("");
  await lesson((data) => data.lessons[0]?.parts[0]?.busy && phone.outbox().length === 0);
  phone.type("typeText", "Typed instead.");
  await Promise.all([phone.tap("save"), phone.tap("save")]); // asks once, and waits
  const waits = (await records()).length;
  phone.confirms = true;
  meets(/^POST .feedback-records/, { lost: true });
  await phone.tap("save");
  await leave();
  await open();
  phone.type("typeText", "Typed instead, and on.");
  await saved();
  // The page is left and opened again before there is the answer: there the text is none of the next record.
  const [entered, answerRecord] = later();
  meets(/^POST .feedback-records/, { after: entered });
  const { page: early, passes } = phone;
  const entering = phone.tap("save");
  await lesson(() => phone.passes !== passes);
  await leave();
  await open();
  meets(/^PUT .feedback-sessions/, { status: 502 });
  answerRecord();
  await entering;
  lost.push(early.data.saved !== "", ...phone.toasts.splice(0));
  await lesson((data) => data.text === "");
  await leave();
  await recognise("He wrote a poem.");
  await open();
  await lesson((data) => data.text === "He wrote a poem.");
  await saved();

  // What is said after such a record had no answer is not taken for a part of it.
  const [{ id: poem }] = phone.page.data.lessons;
  await phone.tap("finish", { id: poem });
  await note("He read.");
  await lesson((data) => data.text === "He wrote a poem.\n\nHe read.");
  await saved();
  await phone.tap("again", { lesson: poem }, "3");
  meets(/^POST .feedback-records/, { lost: true });
  await phone.tap("save");
  lost.push(phone.toasts.pop());
  await note("He knitted.");
  await recognise("He knitted.");
  await lesson((data) => data.text === "He knitted.\n\nHe read. He knitted.");
  await saved();

  // Once all is text it is sent again, and what became text later begins the next.
  await phone.tap("again", { lesson: poem }, "3");
  meets(/^POST .feedback-records/, { lost: true });
  await phone.tap("save");
  lost.push(phone.toasts.pop());
  await leave();
  await recognise("He wrote.");
  await open();
  await lesson((data) => data.saved !== "");
  await leave();
  await open();
  await lesson((data) => data.text === "He wrote.");
  await saved();

  // It is saved elsewhere, as the page finds out while it records: what is said becomes a text.
  const savedElsewhere = async () => {
    const { session_id: feedback_session_id, feedback_text: content, feedback_date } = await session();
    await api("POST", "feedback-records", { profile_id: id, feedback_session_id, feedback_date, content });
  };
  await leave();
  await savedElsewhere();
  await recognise("He swam.");
  phone.sounds = [recordings[0]];
  phone.tap("open", { id, record: "1" });
  await lesson((data) => data.recording);
  await phone.page.refresh();
  phone.tap("stop");
  await lesson((data) => data.text === "He swam.");
  await saved();

  // It was said of another student, and is emptied: that the text still has it is told.
  await phone.tap("edit", { id: phone.page.data.lessons[0].parts[0].id });
  await phone.until("/pages/edit/edit", (data) => data.ready);
  phone.type("typeText", "");
  await phone.tap("done");
  await lesson((data) => data.mended);

  // What is being saved then is refused, but it begins the next record, and only that is told.
  const [refused, refuse] = later();
  meets(/^PUT .feedback-sessions/, { before: refused });
  const { passes: passing } = phone;
  phone.type("typeText", "He swam far.");
  await lesson(() => phone.passes !== passing);
  await savedElsewhere();
  await phone.page.refresh();
  await lesson((data) => data.state.startsWith("The record was saved elsewhere"));
  const told = [];
  const { setData } = phone.page;
  phone.page.setData = function (change) {
    if (change.state) told.push(change.state);
    setData.call(this, change);
  };
  refuse();
  await saved();

  // What was typed in a session does not replace the text of the next, whose versions are the same.
  await leave();
  await savedElsewhere();
  phone.tap("open", { id });
  phone.type("typeText", "First.");
  await saved();
  phone.online = false;
  phone.type("typeText", "First. More.");
  await lesson((data) => data.state.startsWith("Not saved, but"));
  await leave();
  await savedElsewhere();
  const { session_id: next } = await api("POST", "feedback-sessions", { profile_id: id });
  await api("PUT", "feedback-sessions/" + next, { feedback_text: "Next." });
  phone.connect();
  await open();
  await lesson((data) => data.other === "Next.");
  return {
    length, days, opened, elsewhere, conflict, state, offered, appended, lost, copied, drafts, waits, told, toasts: phone.toasts,
    questions: phone.questions, records: await records(), day: new Date().toLocaleDateString("sv"),
  };
}
