import type { DeviceAsking, SessionItem } from "../../api/types.js";
import { client, report, signOut } from "../../service.js";
import { texts } from "../../texts.js";

/** A session as the page shows it. */
interface Row { id: string; name: string; day: string; current: boolean }

Page({
  data: { t: texts, code: "", asking: null as DeviceAsking | null, at: "", done: false, sessions: [] as Row[] },

  onShow() {
    void wx.setNavigationBarTitle({ title: texts.pageSignIn });
    void this.list();
  },

  async list() {
    await client.sessions().then((all) => this.setData({ sessions: all.map(rowOf) }), report);
  },

  typeCode(event: WechatMiniprogram.Input) {
    this.setData({ code: event.detail.value });
  },

  async scan() {
    const scanned = await wx.scanCode({ onlyFromCamera: true }).catch(() => undefined); // the teacher has gone back
    if (!scanned) return;
    const [, code] = /^sign-in:([A-Z]{6})$/.exec(scanned.result) ?? [];
    if (!code) return report(new Error(texts.notACode));
    this.setData({ code });
    await this.find();
  },

  /** Shows the device, so that the teacher sees whether it is the one in front of them. */
  async find() {
    await client.findDevice(this.data.code).then((asking) => {
      this.setData({ asking, at: new Date(asking.created_at).toLocaleTimeString(), done: false });
    }, report);
  },

  async confirm() {
    await client.confirmDevice(this.data.code).then(() => {
      this.setData({ asking: null, code: "", done: true });
      return this.list();
    }, report);
  },

  cancel() {
    this.setData({ asking: null, code: "" });
  },

  async end(event: WechatMiniprogram.TouchEvent) {
    const { id, current } = event.currentTarget.dataset;
    if (current) return signOut().catch(report); // which also forgets what the phone keeps
    await client.endSession(id).then(() => this.list(), report);
  },
});

function rowOf(session: SessionItem): Row {
  const name = session.device || (session.current ? texts.thisPhone : texts.otherPhone);
  const day = new Date(session.created_at).toLocaleDateString();
  return { id: session.session_id, name, day, current: session.current };
}
