// A teacher with forty students, one of whom has a hostile name: finds one, edits one, reads what is
// doubtful about texts, deletes records and brings one back.

export default async function students(phone, _, recordings) {
  const api = phone.call.bind(phone);
  const lesson = (condition) => phone.until("/pages/lesson/lesson", condition);
  const names = () => phone.page.data.students.map((s) => s.name);
  const searched = (text) => (phone.type("search", text), names().join(", "));
  await phone.signIn("张三");
  for (let i = 0; i < 36; i++) await api("POST", "profiles", { name: "Student " + i });
  for (const name of ["李四", "阿宝", "<b>{{x}}</b> שלום 👩‍👩‍👧"]) await api("POST", "profiles", { name, grade: "Grade ７" });
  await phone.page.onShow();
  const found = [names().length, ...["张", "ｓＴＵＤＥＮＴ 35", "grade 7", "<B>{{X", "nobody"].map(searched)];
  searched("  ");
  phone.tap("showAll");
  const all = names().filter((name) => !name.startsWith("Student")).join(", ");
  const { profile_id: id } = phone.page.data.students.find((s) => s.name === "李四");

  // The profile is edited from the lesson, which then has the new name.
  phone.tap("open", { id });
  found.push(phone.pages[0].data.students.length);
  await lesson();
  phone.tap("openProfile");
  await phone.until("/pages/profile/profile", (data) => data.ready);
  const change = (values) => Object.entries(values).forEach(([name, value]) => phone.tap("change", { name }, value));
  change({ name: "", start_time: "18:00", end_time: "19:00", academic_year: "x" });
  await phone.tap("save"); // is refused
  change({ name: "<i>李</i> {{t}}", start_time: "20:00", guardian_title: "李妈妈", academic_year: "2027", term: "秋" });
  await phone.tap("save");
  await lesson();
  const { profile_id, created_at, updated_at, ...profile } = await api("GET", "profiles/" + id);
  const { title } = phone;
  phone.tap("openProfile");
  await phone.until("/pages/profile/profile", (data) => data.ready);
  await api("PUT", "profiles/" + id, { ...profile, grade: "Grade 8" }); // another device
  change({ subject: "Music" });
  const saving = phone.tap("save");
  phone.back(); // the answer closes no other page
  await saving;
  await lesson();
  const { grade, subject } = await api("GET", "profiles/" + id);
  const forms = [grade, subject];

  // Of a generated text and of a report it is told what is doubtful, in both languages.
  phone.sounds = [recordings[0]];
  phone.tap("record");
  await lesson((data) => data.recording);
  phone.tap("stop");
  const warnings = [...(await lesson((data) => data.warnings.length > 0)).data.warnings];
  await api("POST", `feedback-lessons/${phone.page.data.lessons[0].id}/mark-applied`);
  await phone.page.refresh();
  const applied = [phone.page.data.lessons[0].applied, phone.page.data.isHeard];
  for (const content of ["One.", "Two.", "Three.", "Four."]) {
    await api("POST", "feedback-records", { profile_id: id, feedback_date: "2026-02-01", content });
  }
  phone.language = "zh_CN";
  phone.launch("compiled");
  await phone.until("/pages/student/student", (data) => data.ready);
  phone.open("/pages/report/report?student=" + id);
  phone.tap("pick", { day: "from" }, "2026-02-01");
  await phone.tap("ofDays");
  warnings.push(...phone.page.data.warnings);
  phone.back();

  // Another student has the name of this one.
  const { profile_id: other } = await api("POST", "profiles", { name: "<i>李</i> {{t}}", grade: "Grade 9" });

  // A record is edited without a network: it is marked until it is saved, with its date.
  const records = (condition) => phone.until("/pages/records/records", condition);
  const editor = (condition) => phone.until("/pages/edit/edit", condition);
  const shown = (n) => records((data) => data.records.length === n && Object.keys(data.removed).length === 0);
  phone.tap("openRecords");
  const ids = (await shown(4)).data.records.map((r) => r.id);
  await phone.tap("open", { id: ids[3] });
  phone.tap("edit");
  await editor((data) => data.ready);
  phone.online = false;
  phone.type("typeText", "First.");
  phone.tap("pickDay", {}, "2026-01-31");
  await editor((data) => data.state.startsWith("未能保存"));
  phone.back();
  await phone.tap("copy");
  const mended = [phone.page.data.records.map((r) => r.unsaved).join(), phone.toasts.at(-1), phone.clipboard];
  phone.launch("compiled");
  phone.open("/pages/edit/edit?record=" + ids[3]);
  const { data: { text, day } } = await editor((data) => data.ready);
  phone.back();
  phone.tap("openRecords");
  await records((data) => data.failed !== "");
  phone.connect();
  await phone.tap("next");
  await shown(4);
  phone.open("/pages/edit/edit?record=" + ids[3]); // which saves it, if the page before has not
  await editor((data) => data.ready && !Object.keys(phone.storage).some((key) => key.endsWith(ids[3])));
  phone.back();
  const first = await api("GET", "feedback-records/" + ids[3]);
  mended.push(text, day, first.content, first.feedback_date, phone.page.data.records[3].unsaved,
    phone.page.data.records[3].name);
  phone.toasts.splice(1);

  // Records are deleted: two are brought back, after a search and a look into a chat; others go after a
  // while, with the page.
  const left = async () => (await api("GET", "feedback-records")).items.map((r) => r.content).join(" ");
  const remove = async (i) => {
    await phone.tap("open", { id: ids[i] });
    await Promise.all([phone.tap("remove"), phone.tap("remove")]);
  };
  phone.speed = 1;
  await remove(0);
  await remove(1);
  phone.hide();
  phone.show();
  const late = {};
  late.arrives = new Promise((arrive) => { late.arrive = arrive; });
  phone.arrives = (url) => url.includes("query=First") && late.arrives;
  phone.type("typeText", "First");
  const slow = phone.tap("read");
  phone.type("typeText", "Two");
  await Promise.all([phone.tap("read"), phone.tap("read")]);
  late.arrive();
  await slow;
  const states = [phone.page.data.records.map((r) => r.content).join(" ")];
  for (const id of ids.slice(0, 2)) phone.tap("undo", { id });
  await phone.page.settle();
  states.push(await left());
  phone.speed = 50;
  phone.type("typeText", "");
  await phone.tap("read");
  await remove(0);
  await shown(3); // after a while
  phone.online = false;
  await remove(1);
  await phone.page.settle();
  states.push(phone.page.data.records.length, await left());
  phone.online = true;
  await api("DELETE", "feedback-records/" + ids[1]); // elsewhere
  await remove(1);
  await remove(2);
  const { passes } = phone;
  phone.passes = async (request, send) => {
    if (!request.startsWith("GET /profiles")) return send();
    phone.passes = passes;
    return { statusCode: 502, data: "<html>", header: {} };
  };
  phone.back();
  await phone.until("/pages/student/student", (data) => data.offline);
  await phone.until("/pages/student/student", async (data) => !data.offline && await left() === "First.");

  // A student has records of their own.
  phone.tap("open", { id: other });
  await lesson();
  phone.tap("openRecords");
  await records((data) => !data.reading && data.records.length === 0);
  phone.back();
  phone.back();

  // The program ends before a record is deleted: it can be brought back, or is deleted at the next start.
  phone.speed = 1;
  phone.tap("openRecords");
  await shown(1);
  await remove(3);
  phone.online = false;
  phone.launch("compiled");
  await phone.until("/pages/student/student", (data) => data.offline);
  phone.connect();
  await phone.until("/pages/student/student", (data) => !data.offline);
  phone.tap("openRecords");
  await records((data) => data.records.length === 1 && data.removed[ids[3]]);
  phone.tap("undo", { id: ids[3] });
  states.push(await left());
  await remove(3);
  phone.launch("compiled");
  await phone.until("/pages/student/student", async () => await left() === "");
  phone.speed = 50;

  // A student is added, and the answer is lost: the form is kept, and corrected there is still one student.
  await phone.until("/pages/student/student");
  const form = async () => {
    phone.tap("add");
    await phone.until("/pages/profile/profile", (data) => data.ready);
  };
  await form();
  change({ name: "小莉", start_time: "18:00", end_time: "17:00" });
  await phone.tap("save"); // is refused
  forms.push(phone.toasts.at(-1));
  change({ end_time: "" });
  phone.arrives = () => { throw new Error("request:fail timeout"); };
  await phone.tap("save");
  phone.arrives = undefined;
  phone.launch("compiled");
  await phone.until("/pages/student/student", (data) => data.ready);
  await form();
  forms.push(phone.page.data.p.name);
  change({ name: "小丽" });
  await phone.tap("save");
  forms.push((await api("GET", "profiles?query=小")).items.map((s) => s.name).join());
  await form();
  change({ name: "nobody" });
  phone.back();
  await form();
  await phone.tap("discard");
  forms.push(phone.page.data.p.name);
  return { forms, found, all, edited: { title, ...profile }, mended, warnings, applied, states, toasts: phone.toasts };
}
