import type { ProfileFields } from "../../api/types.js";
import { client, idOf, keptStudents, readStudents, report } from "../../service.js";
import { texts } from "../../texts.js";

const none = {
  name: "", guardian_title: "", grade: "", subject: "", academic_year: "", term: "", start_time: "", end_time: "",
};
const names = Object.keys(none) as (keyof typeof none)[];

// The form of a student: a new one, or the one in the address.
Page({
  data: { t: texts, fields: names.slice(0, 6), times: names.slice(6), id: "", key: "", p: none, ready: false, busy: false },
  isLeft: false,

  async onLoad(query: Record<string, string | undefined>) {
    const id = idOf(query["student"]);
    void wx.setNavigationBarTitle({ title: id ? texts.student : texts.addStudent });
    try {
      const p = { ...none };
      const known = id ? await client.student(id) : none;
      for (const name of names) p[name] = String(known[name]);
      this.setData({ id, key: `${Date.now()}-${Math.random()}`, p, ready: true });
    } catch (error) {
      report(error);
    }
  },

  /** Takes what was typed or picked; a tap that has no value empties a field. */
  change(event: WechatMiniprogram.CustomEvent<{ value?: string }>) {
    const { name } = event.currentTarget.dataset;
    const p = { ...this.data.p, [name]: event.detail.value ?? "" };
    // An end that is too early now takes the usual duration.
    if (name === "start_time" && (!p.start_time || p.end_time <= p.start_time)) p.end_time = "";
    this.setData({ p });
  },

  onUnload() {
    this.isLeft = true;
  },

  async save() {
    if (this.data.busy) return; // it was tapped twice
    this.setData({ busy: true });
    try {
      const { id, p } = this.data;
      const fields: ProfileFields = { name: p.name };
      for (const name of names) { // those that are left empty take the teacher's defaults
        if (p[name].trim()) Object.assign(fields, { [name]: name === "academic_year" ? Number(p[name]) : p[name] });
      }
      await (id ? client.replaceStudent(id, fields) : client.createStudent(fields, this.data.key));
      await readStudents().catch(keptStudents); // the other pages show those of the phone
      if (!this.isLeft) await wx.navigateBack(); // else another page would be closed
    } catch (error) {
      this.setData({ busy: false });
      report(error);
    }
  },
});
