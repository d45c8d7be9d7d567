// A phone for tests: mini programs run in a bare VM that has nothing but JavaScript, timers, wx, App
// and Page. Its files and its storage outlive the program; requests go over the real network.
import { copyFileSync, mkdirSync, readFileSync, readdirSync, renameSync, unlinkSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import vm from "node:vm";

export class Phone {
  /** @param directory of its files; codes are what wx.login returns; config replaces config.ts */
  constructor(directory, codes, config) {
    Object.assign(this, {
      directory, codes, config, storage: {}, online: true, language: "en",
      toasts: [], questions: [], played: [], uploads: 0, temporary: 0,
      isMuted: true,
      speed: 50, // of time: minutes are seconds
      ago: 0, // ms, by which its clock is late
      passes: (_, send) => send(), // a request, by method and path
      answers: [], // to the next uploads, which do not reach the server
    });
    this.recorder = new Recorder(this);
  }

  /** Starts the program, anew if it was running: then nothing of it goes on. */
  launch(compiled) {
    for (const timer of this.timers ?? []) clearTimeout(timer);
    const timers = (this.timers = []);
    this.pages = [];
    this.definitions = {};
    this.recorder = new Recorder(this);
    const networkListeners = [];
    this.connect = () => {
      this.online = true;
      for (const listener of networkListeners) listener({ isConnected: true, networkType: "wifi" });
    };
    const wx = this.api(networkListeners);
    let app;
    let current = "";
    const { ago } = this;
    const context = vm.createContext({
      wx,
      Date: class extends Date { constructor(...of) { super(...(of.length > 0 ? of : [Date.now() - ago])); } },
      App: (options) => { app = options; },
      Page: (options) => { this.definitions[current] = options; },
      setTimeout: (f, ms) => {
        const timer = setTimeout(f, ms / this.speed);
        if (this.timers === timers) timers.push(timer);
        else clearTimeout(timer);
        return timer;
      },
      clearTimeout,
    });
    const modules = {};
    const load = (path) => {
      if (modules[path]) return modules[path].exports;
      const module = (modules[path] = { exports: {} });
      if (path === "miniprogram/config.js") return (module.exports = this.config);
      const source = `(function (exports, require, module) {${readFileSync(join(compiled, path), "utf8")}\n})`;
      const require = (name) => load(normalize(join(dirname(path), name)));
      vm.runInContext(source, context, { filename: path })(module.exports, require, module);
      return module.exports;
    };
    this.load = load;
    const { pages } = JSON.parse(readFileSync("miniprogram/app.json", "utf8"));
    load("miniprogram/app.js");
    for (const page of pages) {
      current = "/" + page;
      load("miniprogram/" + page + ".js");
      this.checkTemplate(current);
    }
    this.app = app;
    app.onLaunch();
    app.onShow();
    return this.open("/" + pages[0]);
  }

  /** The screen turns dark, or another program is opened. */
  hide() {
    this.page.onHide?.();
    this.app.onHide();
  }

  show() {
    this.app.onShow();
    this.page.onShow?.();
  }

  /** Every handler and every variable that a template names is in its page. */
  checkTemplate(route) {
    const template = readFileSync("miniprogram" + route + ".wxml", "utf8");
    const page = this.definitions[route];
    for (const [, handlers] of template.matchAll(/\b(?:bind|catch)\w+="([^"]*)"/g)) {
      for (const [, handler] of handlers.matchAll(handlers.includes("{{") ? /'(\w+)'/g : /(\w+)/g)) {
        if (typeof page[handler] !== "function") throw new Error(`${route}: there is no handler ${handler}`);
      }
    }
    const local = ["item", "index", ...[...template.matchAll(/wx:for-item="(\w+)"/g)].map((m) => m[1])];
    for (const [, expression] of template.matchAll(/\{\{(.*?)\}\}/g)) {
      for (const [name] of expression.replaceAll(/'[^']*'/g, "").matchAll(/(?<![.\w])[a-z]\w*/g)) {
        if (!local.includes(name) && !["null"].includes(name) && !(name in page.data)) {
          throw new Error(`${route}: ${name} is not in the data`);
        }
      }
    }
  }

  open(url) {
    const [route, query = ""] = url.split("?");
    const definition = this.definitions[route];
    if (!definition) throw new Error("there is no page " + route);
    const page = {
      ...definition, route, data: structuredClone(definition.data),
      setData(changes) { Object.assign(this.data, JSON.parse(JSON.stringify(changes))); },
    };
    this.pages.push(page);
    page.onLoad?.(Object.fromEntries(query.split("&").filter(Boolean).map((part) => part.split("="))));
    page.onShow?.();
    return page;
  }

  /** Starts the program, signs a teacher in and adds a student. */
  async signIn(name) {
    this.launch("compiled");
    await this.until("/pages/signin/signin");
    await this.tap("signIn");
    await this.until("/pages/student/student", (data) => data.ready && data.students.length === 0);
    this.tap("add");
    await this.until("/pages/profile/profile", (data) => data.ready);
    this.tap("change", { name: "name" }, name);
    await this.tap("save");
    return this.until("/pages/student/student", (data) => data.students.length === 1);
  }

  /** Calls the server as another device of the teacher does. */
  async call(method, path, body, token = this.storage.token) {
    const answer = await fetch(this.config.server + "/api/v1/" + path, {
      method, body: body && JSON.stringify(body),
      headers: { Authorization: "Bearer " + token, "Content-Type": "application/json" },
    });
    return answer.status === 204 ? undefined : answer.json();
  }

  outbox() { return readdirSync(join(this.directory, "outbox")); }

  get page() { return this.pages.at(-1); }

  tap(handler, dataset = {}, value = undefined) {
    return this.page[handler]({ currentTarget: { dataset }, detail: { value } });
  }

  type(handler, value) { return this.tap(handler, {}, value); }

  back() {
    this.pages.pop().onUnload?.();
    this.page.onShow?.();
  }

  /** Waits until the page on top has the route, and condition holds for its data, or a promise of it does. */
  async until(route, condition = () => true) {
    for (const start = Date.now(); Date.now() - start < 60_000;) {
      await new Promise((resolve) => setTimeout(resolve, 10)); // what was tapped opens its page
      const { page } = this;
      if (page.route === route && await condition(page.data)) return page;
    }
    throw new Error(`${route}: waited in vain for ${condition}; ${this.page.route} shows ` +
      JSON.stringify({ ...this.page.data, t: 0 }) + " " + JSON.stringify(this.toasts));
  }

  api(networkListeners) {
    const phone = this;
    const answer = (call, options) => {
      const result = call();
      if (!options.success && !options.fail && !options.complete) return result;
      result.then((r) => options.success?.(r), (e) => options.fail?.({ errMsg: String(e.message ?? e) }))
        .then(() => options.complete?.({}));
      return undefined;
    };
    const file = (call) => (options) => answer(async () => call(options), options);
    const files = {
      readdir: file(({ dirPath }) => ({ files: readdirSync(dirPath) })),
      mkdir: file(({ dirPath }) => { mkdirSync(dirPath); return {}; }),
      saveFile: file(({ tempFilePath, filePath }) => {
        if (this.full) throw new Error("saveFile:fail the maximum size of the file storage limit is exceeded");
        renameSync(tempFilePath, filePath);
        return {};
      }),
      rename: file(({ oldPath, newPath }) => { renameSync(oldPath, newPath); return {}; }),
      unlink: file(({ filePath }) => { unlinkSync(filePath); return {}; }),
    };
    const send = async (url, init) => {
      if (!this.online) throw new Error("request:fail no network");
      const response = await fetch(url, init);
      const header = Object.fromEntries(response.headers);
      return { statusCode: response.status, data: await response.text(), header };
    };
    return {
      env: { USER_DATA_PATH: this.directory },
      login: async () => {
        if (!this.online) throw { errMsg: "login:fail no network" };
        return { code: this.codes.shift() };
      },
      openSetting: async () => { this.settings = true; },
      request: (options) => answer(async () => {
        if (options.dataType === "json" || options.dataType === undefined) throw new Error("parsed JSON is not tested");
        const { url, method, header: headers, data: body } = options;
        if (/generate|report/.test(url) && options.timeout < 150_000) throw new Error("the server takes longer");
        const result = await this.passes(method + url.replace(this.config.server + "/api/v1", " "),
          () => send(url, { method, headers, body }));
        await this.arrives?.(url); // may be late
        return result;
      }, options),
      uploadFile: (options) => answer(async () => {
        if (this.answers.length > 0) return this.answers.shift();
        const form = new FormData();
        for (const [name, value] of Object.entries(options.formData)) form.append(name, value);
        form.append(options.name, new Blob([readFileSync(options.filePath)]), "recording.mp3");
        const result = await send(options.url, { method: "POST", headers: options.header, body: form });
        this.uploads++;
        this.uploaded?.(options.filePath);
        return result;
      }, options),
      downloadFile: (options) => answer(async () => {
        if (!this.online) throw new Error("downloadFile:fail no network");
        const response = await fetch(options.url, { headers: options.header });
        const tempFilePath = join(this.directory, `tmp_${this.temporary++}.mp3`);
        writeFileSync(tempFilePath, Buffer.from(await response.arrayBuffer()));
        return { statusCode: response.status, tempFilePath };
      }, options),
      setInnerAudioOption: async ({ obeyMuteSwitch }) => { this.isMuted = obeyMuteSwitch; },
      createInnerAudioContext: () => (this.player = new Player(this)),
      getAppBaseInfo: () => ({ language: this.language }),
      scanCode: async () => {
        if (!this.seen) throw { errMsg: "scanCode:fail cancel" };
        return { result: this.seen };
      },
      getStorageSync: (key) => structuredClone(this.storage[key] ?? ""),
      setStorageSync: (key, value) => {
        if (JSON.stringify(value).length > 1 << 20) throw new Error("setStorageSync:fail entry size limit reached");
        this.storage[key] = structuredClone(value);
      },
      removeStorageSync: (key) => { delete this.storage[key]; },
      getStorageInfoSync: () => ({ keys: Object.keys(this.storage) }),
      getFileSystemManager: () => files,
      getRecorderManager: () => this.recorder,
      setKeepScreenOn: async ({ keepScreenOn }) => { this.awake = keepScreenOn; },
      onNetworkStatusChange: (listener) => networkListeners.push(listener),
      setNavigationBarTitle: async ({ title }) => { this.title = title; },
      showModal: async ({ content, confirmText = "", cancelText = "", showCancel = true }) => {
        if (Math.max(confirmText.length, cancelText.length) > 4) throw new Error("a button has up to four characters");
        (showCancel ? this.questions : this.toasts).push(content);
        return { confirm: this.confirms };
      },
      navigateBack: async () => this.back(),
      navigateTo: async ({ url }) => { this.page.onHide?.(); this.open(url); },
      reLaunch: async ({ url }) => {
        for (const page of this.pages.splice(0)) page.onUnload?.();
        this.open(url);
      },
      setClipboardData: async ({ data }) => {
        if (this.clipboard === null) throw { errMsg: "setClipboardData:fail privacy permission is not authorized" };
        this.clipboard = data;
      },
      showToast: async ({ title }) => {
        if (title.length > 52) throw new Error("a toast has two lines");
        this.toasts.push(title);
      },
    };
  }
}

/** The player of a phone. It plays as far as the test lets it. */
class Player {
  constructor(phone) { Object.assign(this, { phone, on: {}, currentTime: 0 }); }
  onTimeUpdate(f) { this.on.time = f; }
  onEnded(f) { this.on.ended = f; }
  onError(f) { this.on.error = f; }

  play() {
    if (this.phone.isMuted) throw new Error("iPhones that are muted play nothing");
    this.phone.played.push([readFileSync(this.src).length, this.startTime]);
    this.reach(this.startTime);
  }

  reach(seconds) {
    this.currentTime = seconds;
    this.on.time();
  }

  destroy() { this.on.time = () => { throw new Error("a player that is destroyed goes on"); }; }
}

/** The recorder of a phone, which hears the files in sounds. */
class Recorder {
  constructor(phone) { Object.assign(this, { phone, on: {}, running: false }); }
  onStart(f) { this.on.start = f; }
  onStop(f) { this.on.stop = f; }
  onError(f) { this.on.error = f; }
  onPause(f) { this.on.pause = f; }
  onResume(f) { this.on.resume = f; }
  onInterruptionBegin(f) { this.on.interruptionBegin = f; }
  onInterruptionEnd(f) { this.on.interruptionEnd = f; }

  start(options) {
    if (this.running) throw new Error("it is recording already");
    if (!(options.duration <= 600_000)) throw new Error("longer than the platform records");
    if (this.denied) return queueMicrotask(() => this.on.error({ errMsg: "operateRecorder:fail auth deny" }));
    this.running = true;
    queueMicrotask(() => this.on.start());
  }

  /** Ends a segment, as stop does, and as the platform does when the duration has passed. */
  stop() {
    if (this.slow) setTimeout(() => this.end(), 50);
    else this.end();
  }

  end() {
    this.running = false;
    const tempFilePath = join(this.phone.directory, `tmp_${this.phone.temporary++}.mp3`);
    copyFileSync(this.phone.sounds.shift(), tempFilePath);
    this.on.stop({ tempFilePath, duration: 5000.4, fileSize: 1 });
  }
}
