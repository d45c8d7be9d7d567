import { Client } from "./api/client.js";
import { Problem } from "./api/problem.js";
import { wxTransport } from "./api/wx.js";
import { server } from "./config.js";
import { wxFiles } from "./recorder/files.js";
import { Outbox } from "./recorder/outbox.js";
import { Recorder } from "./recorder/recorder.js";
import { texts } from "./texts.js";

// What all pages use.

export const client = new Client<string>(server, wxTransport, {
  get: () => String(wx.getStorageSync("token") || ""),
  set: (token) => wx.setStorageSync("token", token),
});
export const outbox = new Outbox(client, wxFiles());
export const recorder = new Recorder();

/** Signs in by the account of the phone. */
export async function signIn(): Promise<void> {
  const login = await wx.login();
  await client.signIn(login.code);
  void outbox.flush(); // recordings of before
}

const player = wx.createInnerAudioContext();

/** Plays a recording, in place of the one before. */
export async function play(segment: string): Promise<void> {
  const { statusCode, tempFilePath } = await new Promise<WechatMiniprogram.DownloadFileSuccessCallbackResult>(
    (success, fail) => wx.downloadFile({ ...client.audio(segment), success, fail: ({ errMsg }) => fail(new Error(errMsg)) }));
  if (statusCode !== 200) throw new Error(texts.cannotPlay);
  player.src = tempFilePath;
  player.play();
}

export const silence = (): void => player.stop();

/** Tells the user what went wrong; if the session has ended, the user signs in again. */
export function report(error: unknown): void {
  if (error instanceof Problem && error.code.startsWith("token_")) {
    void wx.reLaunch({ url: "/pages/signin/signin" });
    return;
  }
  void wx.showToast({ title: error instanceof Error ? error.message : String(error), icon: "none", duration: 4000 });
}
