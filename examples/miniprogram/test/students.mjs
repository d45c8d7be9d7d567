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
  const saving = phone.tap("save");
  phone.back(); // the answer closes no other page
  await saving;
  await lesson();

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

  // Records are deleted: one is brought back, the others go after a while, with the next, with the page.
  phone.tap("openRecords");
  const shown = (n) => phone.until("/pages/records/records", (data) => data.records.length === n && !data.removed);
  const left = async () => (await api("GET", "feedback-records")).items.map((r) => r.content).join(" ");
  const ids = (await shown(4)).data.records.map((r) => r.id);
  const remove = async (i) => {
    await phone.tap("open", { id: ids[i] });
    await Promise.all([phone.tap("remove"), phone.tap("remove")]);
  };
  await remove(0);
  phone.tap("undo");
  await phone.page.settle();
  const states = [await left()];
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
  const { page } = phone;
  phone.back();
  await page.settled;
  states.push(await left());
  return { found, all, edited: { title, ...profile }, warnings, applied, states, toasts: phone.toasts };
}
