// What the pages say: Chinese, and English on phones in other languages.

const zh = {
  signIn: "登录", signOut: "退出登录", welcome: "记录课堂观察,说出的话变成反馈。",
  noStudents: "还没有学生。", studentName: "学生姓名", add: "添加", students: "今天",
  pageSignIn: "登录网页",
  codeHint: "在电脑上打开网页,扫描那里的二维码,或输入六个字母。只确认您自己打开的网页。",
  scan: "扫描二维码", code: "六个字母", next: "下一步", confirmQuestion: "让这台设备以您的身份登录吗?",
  device: "设备", address: "网络地址", sameAddress: "与本手机在同一网络", otherAddress: "与本手机不在同一网络",
  askedAt: "请求时间", confirm: "确认登录", cancel: "取消", confirmed: "网页已登录。", notACode: "这不是登录码。",
  sessions: "已登录的设备", thisPhone: "本手机", otherPhone: "小程序", endSession: "退出",
  recording: "正在录音", lessonOpen: "课程已开始。", startsLesson: "录音即开始一节课。",
  recorded: "秒已录", waiting: "段待上传", refused: "有一段录音被拒绝,已保留在手机上:", stop: "停止", record: "录音",
  finish: "结束课程", lesson: "课程", becomesText: "段录音正在转成文字", inAbout: "约", seconds: "秒", part: "录音",
  tryAgain: "重试", generate: "生成反馈", feedback: "反馈", save: "保存为记录", saved: "记录已保存。",
  copy: "复制给家长", share: "发送给家长", copyRefused: "手机不允许复制。请选中下面的文字。",
  onPhone: "手机上还有未上传的录音,保存会结束课程。",
  now: "正在上课", doneToday: "今天已完成", last: "上次", noneLately: "四周内没有记录",
  records: "反馈记录", search: "在正文中搜索", noRecords: "没有记录。", listen: "播放", cannotPlay: "录音已不存在。",
};

const en: typeof zh = {
  signIn: "Sign in", signOut: "Sign out", welcome: "Record what you observe in a lesson. The words become feedback.",
  noStudents: "There are no students yet.", studentName: "Name of a student", add: "Add", students: "Today",
  pageSignIn: "Sign in on a computer",
  codeHint: "Open the page on the computer, then scan its code or type the six letters. Confirm only a page that you " +
    "have opened yourself.",
  scan: "Scan the code", code: "Six letters", next: "Next", confirmQuestion: "Sign this device in as you?",
  device: "Device", address: "Network address", sameAddress: "In the same network as this phone",
  otherAddress: "Not in the network of this phone", askedAt: "Asked at", confirm: "Sign it in", cancel: "Cancel",
  confirmed: "The page is signed in.", notACode: "This is not a code for signing in.",
  sessions: "Where you are signed in", thisPhone: "This phone", otherPhone: "Mini program", endSession: "Sign out",
  recording: "Recording", lessonOpen: "The lesson is open.", startsLesson: "Recording starts a lesson.",
  recorded: "s recorded", waiting: "recordings wait for the server", refused: "A recording was refused and is kept:",
  stop: "Stop", record: "Record", finish: "Finish the lesson", lesson: "Lesson", becomesText: "becomes text",
  inAbout: "in about", seconds: "s", part: "Recording", tryAgain: "Try again", generate: "Generate feedback",
  feedback: "Feedback", save: "Save as record", saved: "The record is saved.", copy: "Copy for the guardian",
  share: "Send to the guardian", copyRefused: "The phone does not let it be copied. Select the text below.",
  onPhone: "Recordings are still on this phone. Saving would end their session.",
  now: "now", doneToday: "Done today", last: "Last:", noneLately: "No record in four weeks",
  records: "Records", search: "Search in the texts", noRecords: "There are no records.", listen: "Listen",
  cannotPlay: "The recording no longer exists.",
};

export const texts = wx.getAppBaseInfo().language.startsWith("zh") ? zh : en;
