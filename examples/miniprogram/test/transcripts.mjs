// What a teacher does with what was said, on a phone in Chinese: hears it, corrects it, has it
// recognised again, checks a generated text, edits a record, makes a report. Meanwhile another device
// edits, the network goes away, and values are hostile.
import { readFileSync } from "node:fs";

export default async function transcripts(phone, _, recordings) {
  phone.language = "zh_CN";
  await phone.signIn("<b>小明</b> {{name}} שלום 👩‍👩‍👧");
  const { students: [{ profile_id: student }] } = phone.page.data;
  const api = phone.call.bind(phone);
  const lesson = (condition) => phone.until("/pages/lesson/lesson", condition);
  const editor = (condition) => phone.until("/pages/edit/edit", condition);
  const states = (condition) => editor((data) => data.state.startsWith(condition));
  const size = readFileSync(recordings[1]).length;

  phone.sounds = [...recordings];
  phone.tap("open", { id: student, record: "1" });
  await lesson((data) => data.recording);
  phone.recorder.stop();
  await lesson((data) => data.recording && data.seconds === 5);
  phone.tap("stop");

  // The text is made by itself. What nobody said is marked, and a sentence leads to its sound.
  const { data: { sources, toCheck, lessons: [first] } } = await lesson((data) => data.sources.length > 0);
  const { id: lessonID, parts: [, part] } = first;
  const title = phone.title;
  const evidence = sources.map((s) => `${s.supported} ${s.text}`);
  const [supported] = sources.filter((s) => s.supported);
  await phone.tap("listen", { id: supported.segments[0], said: supported.text });
  const heard = phone.played.pop();
  for (const { at } of part.sentences) await phone.tap("listen", { id: part.id, at });
  const played = [heard[1], ...phone.played.map(([bytes, from]) => bytes === size && from)];
  const said = () => part.text.slice(phone.page.data.from, phone.page.data.to);
  const marks = [said()];
  phone.player.reach(0.4);
  marks.push(said());
  phone.player.on.ended();
  await phone.tap("listen", { id: part.id });
  phone.player.on.error();
  marks.push(phone.page.data.playing, phone.toasts.pop());

  // A part is corrected, with anything that a keyboard has.
  const open = async () => {
    await phone.tap("edit", { id: part.id });
    return (await editor((data) => data.ready)).data.text;
  };
  const corrected = async () => (await api("GET", "audio-segments/" + part.id)).edited_text;
  const hostile = [
    "<script>alert(1)</script><view>{{text}}</view>", "\u202Eשלום עולם\u202C\u2066x", "👩‍👩‍👧 ".repeat(12_000),
    "一句话。".repeat(25_000), "x",
  ];
  await open();
  const same = [];
  for (const text of hostile) {
    phone.type("typeText", text);
    await states("已保存");
    same.push(await corrected() === text);
  }
  phone.type("typeText", "长".repeat(100_001));
  await states("未能保存");
  const tooLong = phone.page.data.state;

  // It is closed without a network: what was typed comes back, and is saved.
  phone.online = false;
  phone.type("typeText", "He mixed three greens. Away.");
  await states("未能保存，内容保留在手机上。无法连接服务器");
  phone.launch("compiled");
  phone.online = true;
  phone.open("/pages/lesson/lesson?student=" + student);
  await lesson((data) => data.lessons.length === 1);
  const back = await open();
  await states("已保存");
  same.push(await corrected() === back);

  // Another device has edited it: that is told, and nothing of it is lost until the teacher wants it.
  await api("PUT", `audio-segments/${part.id}/text`, { text: "Theirs." });
  phone.type("typeText", "Mine.");
  const { data: { other } } = await states("内容已在别处改成");
  phone.back();
  const left = await corrected();
  const mine = await open();
  await states("内容已在别处改成");
  phone.type("typeText", "Mine."); // replaces nothing yet, nor does saving
  await phone.tap("done");
  const unchosen = await corrected();
  phone.tap("keepMine");
  await Promise.all([phone.tap("done"), phone.tap("done")]); // goes back once
  const conflict = [other, left, mine, unchosen, await corrected()];
  await open();
  const saving = phone.tap("done");
  phone.back(); // the answer closes no other page
  await saving;
  await open();
  await phone.tap("restore");
  conflict.push(await corrected(), phone.page.data.text);

  // It is recognised again: the old text stays until the new one is there. So is the whole lesson.
  await phone.tap("again", {}, "3");
  const old = (await lesson((data) => data.lessons[0].parts[1].busy !== "")).data.lessons[0].parts[1].text;
  await lesson(async (data) => { // a text that is offered is chosen first; then saving would leave it out
    if (data.offered) await phone.tap("dismiss");
    await phone.tap("save");
    return phone.questions.length > 0;
  });
  await fetch(process.env.ANSWER, { method: "POST" });
  const texts = () => phone.page.data.lessons[0].parts.map((p) => p.text);
  const settled = (language) => lesson((data) => data.lessons[0].parts.every((p) => !p.busy)
    && data.lessons[0].parts[1].text.includes(`in ${language}.`));
  await settled("en");
  const again = [old, ...texts()];
  await phone.tap("again", { lesson: lessonID }, "1");
  await settled("zh");
  again.push(...texts());
  await fetch(process.env.DELETE_AUDIO, { method: "POST" });
  await phone.tap("again", { lesson: lessonID }, "0"); // is refused

  // A record is edited, against another device too, and taken along.
  const theirs = "Theirs </textarea> 👩‍👩‍👧";
  phone.type("typeText", "She mixed her own greens.");
  const { data: { saved: record } } = await lesson(async (data) => {
    if (data.offered) await phone.tap("dismiss");
    await phone.tap("save"); // it may first tell of what changed, or offer a text
    return data.saved;
  });
  phone.back();
  phone.tap("openRecords");
  await phone.until("/pages/records/records", (data) => data.records.length === 1);
  const { day, name } = phone.page.data.records[0];
  await phone.tap("open", { id: record });
  await phone.tap("copyAll");
  const along = phone.clipboard;
  phone.tap("edit");
  await editor((data) => data.ready);
  await api("PUT", "feedback-records/" + record, { content: theirs, feedback_date: day });
  phone.type("typeText", hostile[0]);
  await states("内容已在别处改成");
  const kept = (await api("GET", "feedback-records/" + record)).content;
  const record412 = [phone.page.data.other === theirs, kept === theirs];
  phone.tap("keepMine");
  phone.tap("pickDay", {}, "2026-02-28");
  await states("已保存");
  phone.type("typeText", "");
  await states("未能保存");
  phone.tap("restore");
  await phone.tap("done");
  const { data: { records: [edited] } } =
    await phone.until("/pages/records/records", (data) => data.records[0].day === "2026-02-28");
  phone.back();

  // A report over the term, and over days.
  phone.open("/pages/report/report?student=" + student);
  await phone.tap("ofDays");
  phone.tap("pick", { day: "from" }, "2026-03-01");
  phone.tap("pick", { day: "to" }, "2026-02-01");
  await phone.tap("ofDays");
  const empty = phone.page.data.made;
  await phone.tap("ofTerm");
  const { made, unsaid: invented, text } = phone.page.data;
  phone.type("typeText", text + hostile[1]);
  await phone.tap("copy");
  phone.back();
  phone.open("/pages/report/report?student=" + student);
  await phone.tap("ofTerm"); // asks, and is not confirmed
  const report = {
    kept: phone.page.data.text === text + hostile[1], asked: phone.questions.length,
    empty, made, invented, copied: phone.clipboard === text + hostile[1],
  };
  phone.open("/pages/lesson/lesson?student=..%2Fauth%2Fme"); // anybody's address
  await phone.tap("record");
  const foreign = phone.page.data.student + phone.recorder.running;
  return {
    title, name, evidence, toCheck, played, marks, same, tooLong, conflict, again, toasts: phone.toasts, along,
    record412, edited, report, foreign, questions: phone.questions,
    drafts: Object.keys(phone.storage).filter((key) => key.startsWith("draft-") && !key.includes("report")),
  };
}
