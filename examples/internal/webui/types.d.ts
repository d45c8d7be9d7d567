// The types of the page's scripts, beside those that they declare themselves, and what their
// functions do. Nothing of it is served.

interface Segment {
	segment_id: string;
	sequence: number;
	state: "queued" | "transcribing" | "transcribed" | "failed";
	text: string;
	/** The teacher's, or null. */
	edited_text: string | null;
	error: string | null;
	/** The error as a stable word, or null if there is none for it. */
	error_code: string | null;
	warning_code: string | null;
	duration_ms: number | null;
	ahead: number | null;
	estimated_wait_seconds: number | null;
	paused: boolean;
	audio_deleted_at: string | null;
}

interface Sentence {
	text: string;
	start_ms: number;
	end_ms: number;
}

interface Lesson {
	lesson_id: string;
	number: number;
	state: "recording" | "finished";
	applied: boolean;
	/** Whether the segments are left out. */
	truncated: boolean;
	segments: Segment[];
}

interface Session {
	session_id: string;
	state: "active" | "completed";
	feedback_date: string;
	feedback_text: string;
	generated_text: string;
	lessons: Lesson[];
}

/** A sentence of a generated text, and where it comes from. */
interface Source {
	text: string;
	segments: string[];
	supported: boolean;
	unsure?: boolean;
}

interface Generated {
	text: string;
	sentences: Source[];
	lessons: number;
	segments: { transcribed: number };
	/** A line for each of warning_codes, and after it what it names in lines that begin with "- ". */
	warning?: string;
	warning_codes: string[];
}

interface Profile {
	[field: string]: any;
	profile_id: string;
	name: string;
	grade: string;
	subject: string;
	academic_year: number;
	term: string;
	guardian_title: string;
	start_time: string;
	end_time: string;
}

interface FeedbackRecord {
	record_id: string;
	profile_id: string;
	feedback_date: string;
	content: string;
}

/** A problem document of the interface. */
interface ProblemBody {
	code?: string;
	detail?: string;
	title?: string;
	retry_after_seconds?: number;
	errors?: { location: string; message: string; code?: string; limit?: number; line?: number }[];
}

interface RequestOptions {
	/** A Blob is sent as it is; another object becomes JSON. */
	body?: any;
	headers?: Fields;
	/** The time limit. Defaults to 30. */
	seconds?: number;
	/** Sends no credentials but those in headers. */
	anonymous?: boolean;
}

interface Answer {
	etag: string;
	/** The JSON, or null. */
	body: any;
	response: Response;
}

interface Follower {
	/** There is a connection, and events may have been missed. */
	opened(): void;
	received(event: SessionEvent): void;
}

interface SessionEvent {
	lesson_id?: string;
	segment?: Segment;
}

/** A recording that waits on the device. */
interface Recording {
	/** What newLesson returns. */
	lesson: string;
	sequence: number;
	teacher: string;
	type: string;
	/** In milliseconds; 0 if unknown. */
	duration: number;
	complete: boolean;
	/** Why the server does not take it, for the function explain, or null. */
	refused: any;
	/** Of a file, or "". */
	name: string;
	/** The name, for the teacher. */
	student?: string;
	/** Its place at the server, if that is known. */
	to?: Place;
}

interface Place { lesson: string, sequence: number }

interface OutboxState {
	/** How many of the teacher's recordings the server has not confirmed. */
	unsent: number;
	refused: Recording[];
	/** How many are those of other teachers. */
	others: number;
	/** Why nothing is being sent, for the function explain, or null. */
	problem: any;
}

interface RecorderEvents {
	/** A segment of this type has started. If this throws, it is not recorded. */
	segment(type: string): Sink;
	/** How loud it is, in dBFS, after so many seconds, of which so many brought no sound. */
	level(dBFS: number, seconds: number, behind: number): void;
	/** The microphone has gone away. */
	ended(): void;
}

/** Receives the audio of one segment. */
interface Sink {
	chunk(data: Blob): void;
	/** The duration is in milliseconds. */
	end(duration: number): Promise<void>;
}

/** Sends a request of the interface. It throws a Problem. */
type SendRequest = (method: string, path: string, options?: RequestOptions) => Promise<Answer>;

/** Reads all pages of a list. */
type ReadAll = <Path extends string>(path: Path, query?: Fields, seconds?: number) => Promise<
	Path extends "profiles" ? Profile[] : Path extends "feedback-records" ? FeedbackRecord[] : any[]
>;

/**
 * Follows a session until the signal is aborted. Lost connections are resumed after the last event.
 * While the page is hidden there is no connection, because browsers allow few of them.
 */
type Follow = (session: string, on: Follower, signal: AbortSignal) => Promise<void>;

/** Keeps the screen on until the signal is aborted, where the browser can. */
type KeepAwake = (signal: AbortSignal) => void;

/** Waits for an event, or the end of the signal. */
type WaitForEvent = (target: EventTarget, name: string, signal?: AbortSignal) => Promise<any>;

type Tell = (target: EventTarget, name: string, detail?: any) => unknown;
type Listen = (target: EventTarget, name: string, listener: (event: any) => unknown) => void;

/** Records a stream until the function that it returns is called, which waits for the last audio. */
type RecordStream = (stream: MediaStream, on: RecorderEvents) => Promise<() => Promise<void>>;

/** Runs a transaction and returns the result of its request, when everything is on the disk. */
type Transact = <T>(
	mode: IDBTransactionMode, work: (recordings: IDBObjectStore, chunks: IDBObjectStore) => IDBRequest<T>,
) => Promise<T>;

/**
 * Keeps all tabs from doing the same work. Returns the function that ends this, or null if the work
 * is still being done after a time in ms.
 */
type Hold = (work: string, ms?: number) => Promise<(() => void) | null>;

type OpenSink = (type: string) => Sink;

/**
 * Adds a recording, with the first sequence from its own on that no recording here has. data is
 * that of a complete one.
 */
type Create = (recording: Recording, data?: ArrayBuffer) => Promise<Recording>;

type Append = (recording: Recording, n: number, blob: Blob) => Promise<void>;

/**
 * Stores until it succeeds. While the device has no space, recording stops; what was recorded stays
 * in memory, and sending what is stored makes space.
 */
type Keep = <T>(store: () => Promise<T>) => Promise<T>;

/** Stores a part of a lesson: a file, with its name and data, or a recording without its audio. */
type AddPart = (type: string, name?: string, data?: ArrayBuffer) => Promise<Recording>;

/**
 * The voice session of a student, as the server has it. Its events: "session" when something of it
 * may have changed, "segment" with a changed segment in detail, "opened" when there is one,
 * "recording" when a recording begins,
 * "listen" to hear a segment, at a text if it is found,
 * "heard" when all that was recorded here has become text, "silent" when it has become none,
 * "mended" when the teacher has changed what was heard,
 * "replaced" when it is another.
 */
type Work = import("./page/work.js").Work;

/** Draws a lesson or a part of one, and returns its element. kept are the lesson's recordings that are on this device. */
type Draw<T> = (data: T, kept: Recording[]) => HTMLElement;

/** Draws what has the key, which create prepares the first time. */
type Show = (key: string, create: (data: any) => Draw<any>, data: any, kept?: Recording[]) => HTMLElement;

/** Is where the feedback of a student is written. saved is called with the new record. */
type FeedbackSection = (work: Work, saved: (record: FeedbackRecord) => Promise<void>) => {
	element: HTMLElement, save: HTMLElement, leave(): Promise<void>,
};

type Parts = (text: string, sentences: Sentence[], segment: string, row: HTMLElement) => (string | HTMLElement)[];
/** Lets the teacher mend the text of a part until it is done. It is saved as it is typed. */
type MendText = (segment: string, row: HTMLElement, label: string) => Promise<void>;

type Fields = Record<string, string>;
type Props = Record<string, any>;
type Action = () => unknown;

/** Loads the texts of a language tag. English is the fallback. */
type UseLanguage = (wanted: string) => Promise<void>;

/** Returns what the device keeps under a key, or null. */
type Stored = (key: string) => any;

/** Returns a text; {name} is replaced by values.name. */
type Translate = (key: Key, values?: Props) => string;
/** Whether there is such a part that is in no record. */
type HasPart = (is: (s: Segment) => unknown) => boolean | undefined;
type Offer = (question: string, text: string, ...buttons: HTMLElement[]) => void;

/** Returns a text whose key is made of a code, or else the other. */
type OfCode = (key: string, other: string) => string;

/** Returns seconds as m:ss, or about how long they are in words. */
type OfDay = (day: string, parts?: Intl.DateTimeFormatOptions) => string;
type OfSeconds = (seconds: number) => string;

/** Returns what an error means for the reader. */
type Explain = (error: any) => string;

/**
 * Shows a message beside an element, in place of the one before. Errors interrupt screen readers.
 * If the element is gone, the message stands above the view.
 */
type Say = (text: string, near: Element, error?: boolean) => void;

/** Tells screen readers, when they have finished; with visible, all readers. */
type Announce = (text: string, visible?: boolean) => void;

/**
 * Shows the text in an element, copies it and returns what to say. If the browser refuses, the text
 * is selected there and an error thrown.
 */
type Copy = (text: Promise<string>, shown: HTMLElement) => Promise<string>;

type Ask = (question: string, yes: string, no?: string) => Promise<boolean>;

/** Changes the text of an element, unless it has it: a selection stays. */
type Write = (element: Element, text: string) => void;

/**
 * Makes these the children of an element. Those already there, in the same order, stay in place and
 * keep focus and playback.
 */
type Arrange = (parent: Element, children: Element[]) => void;

/** Runs an action unless it is running already. The text that it returns, or its error, is shown beside the element. */
type Once = (element: HTMLElement, action: Action) => Promise<void>;

/**
 * Creates an element, with classes as in "p.hint". Properties that are not false or undefined are
 * attributes.
 */
type CreateElement = <K extends keyof HTMLElementTagNameMap>(
	tag: K | `${K}.${string}`, props?: Props, ...children: Child[]
) => HTMLElementTagNameMap[K];

/**
 * Creates a button. While its action runs, further clicks do nothing; an error is shown. The
 * property "of" completes the label for those who do not see what is around the button.
 */
type CreateButton = (label: string, action: Action, props?: Props) => HTMLButtonElement;

type CreateField = (label: string, control: HTMLElement) => HTMLElement;

/** The fields of a template in index.html, with labels, and with data as their values, or in their place. */
type CreateFields = (id: string, data?: any) => HTMLElement[];

/**
 * Creates a form. Its action receives the fields by name, trimmed, and those of them that the reader
 * has changed since they were shown or saved. What a Problem says of a field is shown beside it. Under
 * the property "draft" the device keeps what is not saved.
 */
type CreateForm = (
	action: (values: Fields, changed: Fields) => Promise<unknown>, props: Props, ...children: Child[]
) => HTMLFormElement;

type Key = keyof typeof import("./page/i18n/en.json");
type Child = string | Node | null | undefined | false;

/**
 * A list of the records that a query of the interface finds, page by page. name returns the student's,
 * heading is the tag of the months. leave carries out what could still be undone.
 */
type RecordList = (query: Fields, name: (r: FeedbackRecord) => string, heading: "h2" | "h3") => {
	element: HTMLElement, draw(): Promise<void>, leave(): Promise<void>,
};
/** What stands in place of a record that was taken out, and what deletes it. */
type Removed = { undo: HTMLElement, deletes(): Promise<void> };
/** Takes a record out of the list, and deletes it when it can no longer be brought back. */
type RemoveRecord = (item: HTMLElement, path: string, title: string) => Promise<void>;
type EditRecord = (item: HTMLElement, path: string) => Promise<void>;
/** A record that was saved now. */
type SavedCard = (record: FeedbackRecord) => HTMLElement;
/** Sends what the guardian gets, or copies it. */
type SendButton = (read: () => Promise<string>, of?: string) => HTMLButtonElement;

/** Fills main. The function that it returns ends it, and may return what to tell. */
type View = (main: HTMLElement, student?: string) => Promise<Leave>;
type Leave = void | (() => Promise<string | null | void>);
